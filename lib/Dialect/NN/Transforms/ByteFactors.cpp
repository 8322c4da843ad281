//===- ByteFactors.cpp - Factors of 8-bit integers ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteFactors.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static bool isByte(Value value) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  return integer && integer.getWidth() == 8;
}

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
  Attribute number;
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements && elements.isSplat())
      number = elements.getSplatValue<Attribute>();
  } else if (auto parameter = dyn_cast_or_null<ParameterOp>(op)) {
    auto splat = dyn_cast<SplatAttr>(parameter.getSource());
    if (splat && !findWrite(parameter))
      number = splat.getValue();
  }
  auto integer = dyn_cast_or_null<IntegerAttr>(number);
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
  if (!cast || !isByte(cast.getX()))
    return std::nullopt;
  factor.bytes = cast.getX();
  return factor.bytes.getDefiningOp() ? std::optional(factor) : std::nullopt;
}

/// Whether a zero point differs along no dim but `behind`, counted from the
/// end, 1 being the last one.
static bool variesOnlyAlong(const ByteFactor &factor, size_t behind) {
  if (factor.known)
    return true;
  ArrayRef<int64_t> shape = shapeOf(factor.zero);
  for (size_t i = 1; i <= shape.size(); ++i)
    if (i != behind && shape[shape.size() - i] != 1)
      return false;
  return true;
}

/// Whether the zero point of a factor with a sign is 0.
static bool isZeroWithSign(const ByteFactor &factor) {
  bool moves = isUnsigned(getElementTypeOrSelf(factor.bytes));
  return factor.known == (moves ? 128 : 0);
}

bool soap::nn::canMultiplyBytes(Operation *product, const ByteFactor &a,
                                const ByteFactor &b) {
  if (auto conv = dyn_cast<ConvOp>(product))
    return variesOnlyAlong(a, 0) &&
           variesOnlyAlong(b, shapeOf(conv.getWeight()).size()) &&
           (isZeroWithSign(b) || conv.getGroups() == 1);
  auto matmul = cast<MatMulOp>(product);
  return variesOnlyAlong(a, matmul.getTransposeA() ? 0 : 2) &&
         variesOnlyAlong(b, matmul.getTransposeB() ? 0 : 1);
}
