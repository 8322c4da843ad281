//===- ByteFactors.cpp - Factors of 8-bit integers ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteFactors.h"
#include "ParameterExpressions.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Whether `op` keeps the number that all elements of its operand are: it moves
/// them, or casts fewer bits to i32.
static bool keepsNumber(Operation *op) {
  if (isa_and_nonnull<ReshapeOp, ExpandOp>(op))
    return true;
  auto cast = dyn_cast_or_null<CastOp>(op);
  if (!cast)
    return false;
  auto from = dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getX()));
  return from && from.getWidth() < 32 &&
         getElementTypeOrSelf(op->getResult(0)).isSignlessInteger(32);
}

/// The one number that all elements of `value` are, where it is known.
static std::optional<int64_t> knownNumber(Value value) {
  Operation *op = value.getDefiningOp();
  while (keepsNumber(op))
    op = op->getOperand(0).getDefiningOp();
  auto integer =
      op ? dyn_cast_or_null<IntegerAttr>(splatOf(op->getResult(0))) : nullptr;
  if (!integer)
    return std::nullopt;
  return isUnsigned(integer.getType()) ? integer.getValue().getZExtValue()
                                       : integer.getValue().getSExtValue();
}

std::optional<ByteFactor> soap::nn::matchByteFactor(Value value) {
  ByteFactor factor;
  if (auto difference = value.getDefiningOp<SubOp>()) {
    factor.zero = difference->getOperand(1);
    factor.known = knownNumber(factor.zero);
    value = difference->getOperand(0);
    if (shapeOf(value) != shapeOf(difference->getResult(0)))
      return std::nullopt;
  }
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !isByteTensor(cast.getX()))
    return std::nullopt;
  factor.bytes = cast.getX();
  return factor.bytes.getDefiningOp() ? std::optional(factor) : std::nullopt;
}

bool soap::nn::variesOnlyAlong(Value value, size_t behind) {
  ArrayRef<int64_t> shape = shapeOf(value);
  for (size_t i = 1; i <= shape.size(); ++i)
    if (i != behind && shape[shape.size() - i] != 1)
      return false;
  return true;
}

static bool zeroVariesOnlyAlong(const ByteFactor &factor, size_t behind) {
  return factor.known || variesOnlyAlong(factor.zero, behind);
}

/// Whether the zero point of a factor with a sign is 0.
static bool isZeroWithSign(const ByteFactor &factor) {
  bool moves = isUnsigned(getElementTypeOrSelf(factor.bytes));
  return factor.known == (moves ? 128 : 0);
}

bool soap::nn::canMultiplyBytes(Operation *product, const ByteFactor &a,
                                const ByteFactor &b) {
  if (auto conv = dyn_cast<ConvOp>(product))
    return zeroVariesOnlyAlong(a, 0) &&
           zeroVariesOnlyAlong(b, shapeOf(conv.getWeight()).size()) &&
           (isZeroWithSign(b) || conv.getGroups() == 1);
  auto matmul = cast<MatMulOp>(product);
  return zeroVariesOnlyAlong(a, matmul.getTransposeA() ? 0 : 2) &&
         zeroVariesOnlyAlong(b, matmul.getTransposeB() ? 0 : 1);
}
