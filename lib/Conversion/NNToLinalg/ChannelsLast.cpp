//===- ChannelsLast.cpp - Operations on tensors with channels last --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace soap;

SmallVector<int64_t> soap::channelsLastOrder(int64_t rank) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

static ArrayRef<int64_t> dimsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether elements that vary so along a tensor of `shape` lie alike in either
/// order.
static bool isInAnyOrder(ArrayRef<int64_t> shape,
                         const llvm::SmallBitVector &varies) {
  auto isAlong = [&](int64_t dim) { return shape[dim] > 1 && varies[dim]; };
  return !isAlong(1) ||
         llvm::none_of(llvm::seq<int64_t>(2, shape.size()), isAlong);
}

/// The operands of the shape of a tensor, if the others lie alike in either
/// order. `accessOf(i)`: the dims along which operand i varies.
static std::optional<llvm::SmallBitVector>
operandsOfShape(Operation *op, ArrayRef<int64_t> shape,
                llvm::function_ref<llvm::SmallBitVector(unsigned)> accessOf) {
  llvm::SmallBitVector result(op->getNumOperands());
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (dimsOf(operand) == shape)
      result.set(number);
    else if (!isInAnyOrder(shape, accessOf(number)))
      return std::nullopt;
  return result;
}

/// Of a reduction over all spatial dims.
static std::optional<llvm::SmallBitVector> summedValues(Operation *op,
                                                        nn::ReduceOp reduce) {
  ArrayRef<int64_t> shape = dimsOf(reduce.getInput());
  auto isKept = [&](int64_t dim) {
    return shape[dim] > 1 && !llvm::is_contained(reduce.getAxes(), dim);
  };
  if (shape.size() < 3 ||
      llvm::any_of(llvm::seq<int64_t>(2, shape.size()), isKept))
    return std::nullopt;
  return operandsOfShape(op, shape, [&](unsigned operand) {
    OpOperand &use = *nn::getFusedBody(op)->getArgument(operand).use_begin();
    return elementwiseAccess(use.getOwner(), use.getOperandNumber());
  });
}

std::optional<llvm::SmallBitVector> soap::channelsLastValues(Operation *op) {
  unsigned operands = op->getNumOperands(),
           all = operands + op->getNumResults();
  std::optional<llvm::SmallBitVector> values;
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    values = summedValues(op, reduce);
  } else if (auto fused = dyn_cast<nn::FusedReduceOp>(op)) {
    values = summedValues(op, fused.getReduce());
  } else if (isa<nn::MaxPoolBackwardOp>(op)) {
    return llvm::SmallBitVector(all, true);
  } else if (isElementwise(op)) {
    ArrayRef<int64_t> shape = dimsOf(op->getResult(0));
    if (shape.size() < 3 || llvm::any_of(op->getResults(), [&](Value result) {
          return dimsOf(result) != shape;
        }))
      return std::nullopt;
    values = operandsOfShape(op, shape, [&](unsigned operand) {
      return elementwiseAccess(op, operand);
    });
    if (values) {
      values->resize(all, true);
      return values;
    }
  }
  if (values)
    values->resize(all);
  return values;
}
