//===- Precision.cpp - What products multiply -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/NNRecurrentGradients.h"
#include <array>

using namespace mlir;
using namespace soap;

bool nn::isProduct(Operation *op) {
  return isa<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp, MatMulOp>(op);
}

bool nn::isRecurrentLayer(Operation *op) {
  return isa<LSTMOp, GRUOp, RNNOp, LSTMBackwardOp, GRUBackwardOp,
             RNNBackwardOp>(op);
}

bool nn::isFloatOf16Bits(Type element) {
  return element.isF16() || element.isBF16();
}

bool nn::isByteTensor(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  return type && type.getWidth() == 8;
}

bool nn::multipliesBytes(Operation *op) {
  return isa<ConvOp, MatMulOp>(op) && isByteTensor(op->getOperand(0)) &&
         isByteTensor(op->getOperand(1)) &&
         getElementTypeOrSelf(op->getResult(0)).isSignlessInteger(32);
}

std::optional<Precision> nn::precisionOf(Operation *op) {
  bool tf32 = op->getInherentAttr("tf32").value_or(Attribute()) != nullptr;
  if (isRecurrentLayer(op))
    return tf32 ? std::optional(Precision::TF32) : std::nullopt;
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.getBf16() ? std::optional(Precision::BF16) : std::nullopt;
  if (!isProduct(op))
    return std::nullopt;
  if (multipliesBytes(op))
    return Precision::I8;
  Type factor = getElementTypeOrSelf(op->getOperand(0));
  if (factor.isBF16())
    return Precision::BF16;
  if (factor.isF16())
    return Precision::F16;
  if (!factor.isF32())
    return std::nullopt;
  return tf32 ? Precision::TF32 : Precision::F32;
}

llvm::SmallVector<std::pair<Precision, int64_t>, 5>
nn::countPrecisions(Operation *op) {
  std::array<int64_t, 5> counts{};
  op->walk([&](Operation *inner) {
    if (std::optional<Precision> precision = precisionOf(inner))
      ++counts[static_cast<size_t>(*precision)];
  });
  llvm::SmallVector<std::pair<Precision, int64_t>, 5> result;
  for (auto [index, count] : llvm::enumerate(counts))
    if (count != 0)
      result.emplace_back(static_cast<Precision>(index), count);
  return result;
}
