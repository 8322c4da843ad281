//===- ElementwiseOps.cpp - Operations per element ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSupport.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

PartitionSpec soap::nn::detail::elementwiseSpec(Operation *op) {
  PartitionSpec spec;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  addDimLoops(spec, shape);
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> operandShape = shapeOf(operand);
    size_t missing = shape.size() - operandShape.size();
    ValueAccess access;
    for (auto [i, size] : llvm::enumerate(operandShape))
      access.dims.push_back(size == shape[missing + i]
                                ? DimAccess::identity(missing + i)
                                : DimAccess::whole(1));
    spec.operands.push_back(std::move(access));
  }
  spec.results.assign(op->getNumResults(), identityAccess(shape.size()));
  addPartLoops(op, spec);
  return spec;
}

LogicalResult soap::nn::detail::verifyBroadcast(Operation *op) {
  if (failed(verifyElementTypes(op)))
    return failure();
  return verifyBroadcastShape(op);
}

LogicalResult soap::nn::detail::verifyBroadcastShape(Operation *op) {
  Shape shape;
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> other = shapeOf(operand);
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    size_t missing = shape.size() - other.size();
    for (auto [i, size] : llvm::enumerate(other)) {
      int64_t &joined = shape[missing + i];
      if (joined != size && joined != 1 && size != 1) {
        std::string shapes;
        for (Value value : op->getOperands())
          shapes += (shapes.empty() ? "" : ", ") + toString(shapeOf(value));
        return op->emitOpError()
               << "expected operands that broadcast to one shape, got: "
               << shapes << "; sizes must be equal or 1, aligned on the right";
      }
      joined = std::max(joined, size);
    }
  }
  return verifyResultShape(op, shape);
}

//===----------------------------------------------------------------------===//
// nn.compare, nn.where
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  if (elementType(getA()) != elementType(getB()))
    return emitOpError() << "expected operands of one element type, got: "
                         << elementType(getA()) << ", " << elementType(getB())
                         << "; cast one of them";
  if (!elementType(getResult()).isInteger(1))
    return emitOpError() << "expected a result of booleans (i1), got: "
                         << elementType(getResult());
  return detail::verifyBroadcastShape(*this);
}

PartitionSpec CompareOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}

LogicalResult WhereOp::verify() {
  Type expected = elementType(getResult());
  for (Value value : {getA(), getB()})
    if (elementType(value) != expected)
      return emitOpError() << "expected the result's element type " << expected
                           << " in both values, got: " << elementType(value);
  return detail::verifyBroadcastShape(*this);
}

PartitionSpec WhereOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}

//===----------------------------------------------------------------------===//
// nn.mod
//===----------------------------------------------------------------------===//

LogicalResult ModOp::verify() {
  if (isa<FloatType>(elementType(getResult())) && !getTruncate())
    return emitOpError() << "expected 'truncate' for floats, got none; ONNX "
                            "has no other remainder of them";
  return detail::verifyBroadcast(*this);
}

//===----------------------------------------------------------------------===//
// nn.cast, nn.expand
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  return verifyResultShape(*this, shapeOf(getX()));
}

PartitionSpec CastOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}

LogicalResult ExpandOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), shape = shapeOf(getResult());
  bool broadcasts = x.size() <= shape.size();
  for (size_t i = 1; broadcasts && i <= x.size(); ++i)
    broadcasts =
        x[x.size() - i] == 1 || x[x.size() - i] == shape[shape.size() - i];
  if (!broadcasts)
    return emitOpError() << "expected an operand that broadcasts to "
                         << toString(shape) << ", got: " << toString(x);
  return success();
}

PartitionSpec ExpandOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
double ExpandOp::getFlops(const LocalTile &tile) { return 0; }

OpFoldResult ExpandOp::fold(FoldAdaptor adaptor) {
  return getX().getType() == getResult().getType() ? getX() : Value();
}

//===----------------------------------------------------------------------===//
// nn.bit_cast
//===----------------------------------------------------------------------===//

/// Bits of an element in memory of its own.
static unsigned storedBits(Type element) {
  return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
}

LogicalResult BitCastOp::verify() {
  Type from = elementType(getX()), to = elementType(getResult());
  if (storedBits(from) != storedBits(to))
    return emitOpError() << "expected element types of as many bits, got: "
                         << from << " and " << to << "; nn.cast converts";
  return verifyResultShape(*this, shapeOf(getX()));
}

PartitionSpec BitCastOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
double BitCastOp::getFlops(const LocalTile &tile) { return 0; }

//===----------------------------------------------------------------------===//
// nn.clip
//===----------------------------------------------------------------------===//

LogicalResult ClipOp::verify() {
  if (getMin().isNaN() || getMax().isNaN())
    return emitOpError() << "expected bounds that are numbers, got NaN; use an "
                            "infinite bound where there is none";
  return success();
}

PartitionSpec ClipOp::getPartitionSpec() {
  return detail::elementwiseSpec(*this);
}
