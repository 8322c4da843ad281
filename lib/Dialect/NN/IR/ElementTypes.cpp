//===- ElementTypes.cpp - Facts about element types -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::nn;

int64_t soap::nn::elementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

Type soap::nn::accumulatorType(Type element) {
  return isFloatOf16Bits(element) ? Float32Type::get(element.getContext())
                                  : element;
}

bool soap::nn::isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

bool soap::nn::isStorageOnly(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return isa<FloatType>(element) ? width < 16 : width > 1 && width < 8;
}

TypedAttr soap::nn::neutralElement(std::optional<ReduceKind> kind, Type type) {
  bool lowest = kind == ReduceKind::Max, highest = kind == ReduceKind::Min;
  int64_t small = kind == ReduceKind::Prod ? 1 : 0;
  Builder builder(type.getContext());
  if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    return builder.getFloatAttr(type, lowest    ? -infinity
                                      : highest ? infinity
                                                : static_cast<double>(small));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool hasSign = !isUnsigned(type);
  APInt value(width, small);
  if (lowest)
    value = hasSign ? APInt::getSignedMinValue(width) : APInt::getZero(width);
  else if (highest)
    value =
        hasSign ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  return builder.getIntegerAttr(type, value);
}

/// Of a product of integers of 8 bits with a result of i32.
static LogicalResult verifyByteProduct(Operation *op) {
  if (op->getNumOperands() > 2 &&
      elementType(op->getOperand(2)) != elementType(op->getResult(0)))
    return op->emitOpError() << "expected a bias of element type i32, got: "
                             << elementType(op->getOperand(2));
  if (op->getInherentAttr("tf32").value_or(Attribute()))
    return op->emitOpError() << "expected operands of f32 with 'tf32', got: "
                             << elementType(op->getOperand(0));
  return success();
}

LogicalResult soap::nn::verifyRoundedTypes(Operation *op) {
  Type x = elementType(op->getOperand(0)), y = elementType(op->getResult(0));
  // Both are f32 to the units that compute.
  bool isComputedInF32 =
      accumulatorType(x).isF32() && accumulatorType(y).isF32();
  if (x != y && !(isComputedInF32 && (x.isF32() || y.isF32())))
    return op->emitOpError()
           << "expected a result of element type " << x << ", as operand 0, or "
           << "f32 and a float of 16 bits, got: " << y;
  for (auto [i, operand] :
       llvm::enumerate(llvm::drop_begin(op->getOperands()))) {
    Type other = elementType(operand);
    if (other != x && !(isComputedInF32 && other.isF32()))
      return op->emitOpError()
             << "expected the element type " << x << " of operand 0 in operand "
             << i + 1 << ", got: " << other;
  }
  return success();
}

LogicalResult soap::nn::verifySummedTypes(Operation *op) {
  if (multipliesBytes(op))
    return verifyByteProduct(op);
  Type element = elementType(op->getOperand(0));
  Type expected = accumulatorType(element);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    // A third operand is added to the sum.
    bool isAdded = i == 2 && elementType(operand) == expected;
    if (elementType(operand) != element && !isAdded)
      return op->emitOpError()
             << "expected operands of one element type, got: " << element
             << " and, in operand " << i << ", " << elementType(operand);
  }
  if (elementType(op->getResult(0)) != expected)
    return op->emitOpError()
           << "expected a result of element type " << expected
           << ", in which sums of " << element
           << " are made, got: " << elementType(op->getResult(0));
  if (op->getInherentAttr("tf32").value_or(Attribute()) && !element.isF32())
    return op->emitOpError()
           << "expected operands of f32 with 'tf32', got: " << element;
  return success();
}
