//===- FoldTransposes.cpp - Transposes that products do themselves --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"

namespace soap::nn {
#define GEN_PASS_DEF_FOLDTRANSPOSESPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap::nn;

namespace {
class FoldTransposesPass
    : public soap::nn::impl::FoldTransposesPassBase<FoldTransposesPass> {
public:
  void runOnOperation() override;

private:
  /// Reads what lies before an exchange of the last two dimensions; true if
  /// there was one.
  bool readThrough(OpOperand &operand);
};
} // namespace

/// True if `transpose` exchanges the last two dimensions and no others.
static bool exchangesLastTwo(TransposeOp transpose) {
  SmallVector<int64_t> expected =
      llvm::to_vector(llvm::seq<int64_t>(0, transpose.getPermutation().size()));
  if (expected.size() < 2)
    return false;
  std::swap(expected[expected.size() - 2], expected.back());
  return llvm::equal(transpose.getPermutation(), expected);
}

bool FoldTransposesPass::readThrough(OpOperand &operand) {
  auto transpose = operand.get().getDefiningOp<TransposeOp>();
  if (!transpose || !exchangesLastTwo(transpose))
    return false;
  operand.set(transpose.getX());
  ++numFolded;
  return true;
}

void FoldTransposesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  for (auto product : function.front().getOps<MatMulOp>()) {
    if (readThrough(product.getAMutable()))
      product.setTransposeA(!product.getTransposeA());
    if (readThrough(product.getBMutable()))
      product.setTransposeB(!product.getTransposeB());
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isa<TransposeOp>(op) && op.use_empty())
      op.erase();
  soap::nn::leaveLostGroups(function.front());
}
