//===- MarkFollowers.cpp - What the library does behind its kernels -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What soaprt-fuse-followers will make one launch of, as far as it is known
// before there is a strategy.
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/MarkFollowers.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Target/ChosenTarget.h"
#include "soap/Transforms/OperatorGraphExtraction.h"
#include "soap/Transforms/Passes.h"

using namespace mlir;

namespace soap {

#define GEN_PASS_DEF_MARKFOLLOWERSPASS
#include "soap/Transforms/Passes.h.inc"

namespace {

/// Finds the operation of the library that every operation follows.
class Anchors {
public:
  Anchors(const Target &target, bool keepNaN)
      : target_(target), keepNaN_(keepNaN) {}

  /// The operand of `op` behind whose producer the library applies it. Asked
  /// for in the order of the block.
  std::optional<unsigned> findOperand(Operation *op);

private:
  /// The library's operation behind which `value` is made; null: none.
  Operation *findAnchor(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse())
      return nullptr;
    if (Operation *anchor = anchors_.lookup(op))
      return anchor;
    return op->getNumResults() == 1 && isa<nn::PartitionOpInterface>(op) &&
                   target_.isLibraryKernel(op)
               ? op
               : nullptr;
  }
  /// Whether `value` is there when `anchor` is launched.
  static bool isThereBefore(Value value, Operation *anchor) {
    Operation *op = value.getDefiningOp();
    return !op || op->isBeforeInBlock(anchor) ||
           isa<nn::ParameterOp, nn::ConstantOp>(op);
  }

  const Target &target_;
  bool keepNaN_;
  llvm::DenseMap<Operation *, Operation *> anchors_; ///< Of followers.
};

std::optional<unsigned> Anchors::findOperand(Operation *op) {
  if (op->getNumResults() != 1 || !isa<nn::PartitionOpInterface>(op) ||
      target_.isLibraryKernel(op))
    return std::nullopt;
  std::optional<unsigned> best;
  Operation *bestAnchor = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *anchor = findAnchor(operand.get());
    if (!anchor || (bestAnchor && anchor->isBeforeInBlock(bestAnchor)))
      continue;
    unsigned number = operand.getOperandNumber();
    bool areThere = llvm::all_of(op->getOpOperands(), [&](OpOperand &other) {
      return other.getOperandNumber() == number ||
             isThereBefore(other.get(), anchor);
    });
    if (!areThere || !target_.getFollower(anchor, op, number, keepNaN_))
      continue;
    best = number;
    bestAnchor = anchor;
  }
  if (bestAnchor)
    anchors_[op] = bestAnchor;
  return best;
}

struct MarkFollowersPass : impl::MarkFollowersPassBase<MarkFollowersPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    return chosen_.initialize(context, target);
  }

  void runOnOperation() override {
    FailureOr<int64_t> count = markFollowers(getOperation(), *chosen_, keepNaN);
    if (failed(count))
      return signalPassFailure();
    numMarked += *count;
  }

private:
  ChosenTarget chosen_;
};

} // namespace

FailureOr<int64_t> markFollowers(ModuleOp module, const Target &target,
                                 bool keepNaN) {
  FailureOr<func::FuncOp> main = getMainFunction(module);
  if (failed(main))
    return failure();
  StringRef name = soapir::SOAPDialect::getFollowsAttrName();
  Anchors anchors(target, keepNaN);
  Builder builder(module.getContext());
  int64_t count = 0;
  for (Operation &op : main->getBody().front().without_terminator()) {
    op.removeAttr(name);
    if (std::optional<unsigned> operand = anchors.findOperand(&op)) {
      op.setAttr(name, builder.getI64IntegerAttr(*operand));
      ++count;
    }
  }
  return count;
}

} // namespace soap
