//===- ArrangeFactors.cpp - How factors of products lie -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inference.h"
#include "NodeNames.h"
#include "ParameterExpressions.h"
#include "Shapes.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"

namespace soap::nn {
#define GEN_PASS_DEF_ARRANGEFACTORSPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// The same permutation with its last two dimensions exchanged.
static SmallVector<int64_t> exchanged(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation);
  std::swap(result[result.size() - 2], result.back());
  return result;
}

namespace {
struct ArrangeFactorsPass
    : soap::nn::impl::ArrangeFactorsPassBase<ArrangeFactorsPass> {
  using Base = soap::nn::impl::ArrangeFactorsPassBase<ArrangeFactorsPass>;
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (alignment < 1) {
      emitError(function.getLoc(), "expected an alignment of 1 or more, got: ")
          << alignment.getValue();
      return signalPassFailure();
    }
    if (!isInference(function))
      return;
    NodeNames names(function);
    // nn-hoist-init computes these at load time.
    ParameterExpressions weights(function);
    for (auto product :
         llvm::make_early_inc_range(function.front().getOps<MatMulOp>())) {
      padColumns(product, weights, names);
      if (arrange(product.getAMutable(), weights, names))
        product.setTransposeA(!product.getTransposeA());
      if (arrange(product.getBMutable(), weights, names))
        product.setTransposeB(!product.getTransposeB());
    }
  }

private:
  /// True if the operand is now what exchanging its last two dimensions makes.
  bool arrange(OpOperand &operand, const ParameterExpressions &weights,
               NodeNames &names) {
    return align(operand, weights, names) || transposeAlongMemory(operand);
  }

  bool isAligned(int64_t elements, Type element) const {
    return elements * element.getIntOrFloatBitWidth() / 8 % alignment == 0;
  }

  /// Zeros behind dimension `dim` of a weight, which nn-hoist-init adds.
  Value padded(Value weight, int64_t dim, int64_t count, NodeNames &names) {
    Operation *producer = weight.getDefiningOp();
    RankedTensorType type = rankedTypeOf(weight);
    SmallVector<int64_t> shape(type.getShape()), none(shape.size(), 0),
        behind(shape.size(), 0);
    shape[dim] += behind[dim] = count;
    OpBuilder builder(producer->getContext());
    builder.setInsertionPointAfter(producer);
    auto pad = builder.create<PadOp>(
        producer->getLoc(), type.clone(shape), weight, none, behind,
        cast<TypedAttr>(builder.getZeroAttr(type.getElementType())));
    setName(pad, names.unique((nn::getName(producer) + ".padded").str()));
    return pad.getResult();
  }

  /// Gives a large product columns of zeros, which a slice behind it and a cast
  /// of it leaves out, so that the rows of its result are aligned.
  void padColumns(MatMulOp product, const ParameterExpressions &weights,
                  NodeNames &names) {
    RankedTensorType type = rankedTypeOf(product.getResult());
    RankedTensorType weight = rankedTypeOf(product.getB());
    Type factor = weight.getElementType();
    int64_t columns = type.getShape().back();
    int64_t depth = weight.getDimSize(product.getTransposeB() ? 1 : 0);
    int64_t together =
        std::max<int64_t>(alignment * 8 / factor.getIntOrFloatBitWidth(), 1);
    if (weight.getRank() != 2 || !weights.contains(product.getB()) ||
        columns % together == 0 || isAligned(columns, type.getElementType()) ||
        type.getNumElements() < leastPadded / std::max<int64_t>(depth, 1) ||
        (product.getBias() && !weights.contains(product.getBias())))
      return;
    int64_t count = together - columns % together;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() += count;
    product.getBMutable().assign(
        padded(product.getB(), product.getTransposeB() ? 0 : 1, count, names));
    if (Value bias = product.getBias())
      product.getBiasMutable().assign(padded(bias, 0, count, names));
    // The library makes a cast behind its product.
    Operation *last = product;
    if (product.getResult().hasOneUse())
      if (auto cast = dyn_cast<CastOp>(*product.getResult().user_begin()))
        last = cast;
    Value result = last->getResult(0);
    RankedTensorType sliced = rankedTypeOf(result);
    product.getResult().setType(type.clone(shape));
    result.setType(sliced.clone(shape));
    OpBuilder builder(product->getContext());
    builder.setInsertionPointAfter(last);
    auto slice = builder.create<SliceOp>(product.getLoc(), sliced, result,
                                         SmallVector<int64_t>(shape.size(), 0),
                                         SmallVector<int64_t>(shape.size(), 1));
    setName(slice, names.unique((nn::getName(product) + ".columns").str()));
    result.replaceAllUsesExcept(slice.getResult(), slice);
    ++numPadded;
  }

  bool align(OpOperand &operand, const ParameterExpressions &weights,
             NodeNames &names) {
    Value weight = operand.get();
    RankedTensorType type = rankedTypeOf(weight);
    if (type.getRank() != 2 || !weights.contains(weight) ||
        isAligned(type.getDimSize(1), type.getElementType()) ||
        !isAligned(type.getDimSize(0), type.getElementType()))
      return false;
    Operation *producer = weight.getDefiningOp();
    for (Operation *user : weight.getUsers())
      if (auto made = dyn_cast<TransposeOp>(user);
          made && made.getPermutation() == ArrayRef<int64_t>{1, 0} &&
          made->isBeforeInBlock(operand.getOwner())) {
        operand.set(made.getResult());
        return true;
      }
    OpBuilder builder(producer->getContext());
    builder.setInsertionPointAfter(producer);
    auto transpose = builder.create<TransposeOp>(
        producer->getLoc(),
        type.clone({type.getDimSize(1), type.getDimSize(0)}), weight,
        ArrayRef<int64_t>{1, 0});
    setName(transpose,
            names.unique((nn::getName(producer) + ".transposed").str()));
    operand.set(transpose.getResult());
    ++numAligned;
    return true;
  }

  bool transposeAlongMemory(OpOperand &operand) {
    auto transpose = operand.get().getDefiningOp<TransposeOp>();
    if (!transpose || !transpose.getResult().hasOneUse())
      return false;
    ArrayRef<int64_t> old = transpose.getPermutation();
    auto rank = static_cast<int64_t>(old.size());
    // Exchanges of the last two alone are left to the library.
    if (rank < 3 || old[rank - 2] != rank - 1)
      return false;
    SmallVector<int64_t> permutation = exchanged(old);
    RankedTensorType type = rankedTypeOf(transpose.getResult());
    SmallVector<int64_t> shape(type.getShape());
    std::swap(shape[rank - 2], shape[rank - 1]);
    transpose.setPermutation(permutation);
    transpose.getResult().setType(type.clone(shape));
    ++numTransposed;
    return true;
  }
};
} // namespace
