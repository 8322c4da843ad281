//===- Fuse.cpp - One operation of several per element --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Dialect/NN/IR/NNFused.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "nn-fuse"

namespace soap::nn {
#define GEN_PASS_DEF_FUSEPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

/// Whether all that is read of a block argument or value by `set` is read along
/// the same dimensions: an nn.fused has one access per operand.
static bool isReadAlike(Value operand,
                        const llvm::SetVector<Operation *> &set) {
  std::optional<bool> ofVector;
  for (OpOperand &use : operand.getUses()) {
    if (!set.contains(use.getOwner()))
      continue;
    bool vector =
        isa<BatchNormOp>(use.getOwner()) && use.getOperandNumber() > 0;
    if (ofVector.value_or(vector) != vector)
      return false;
    ofVector = vector;
  }
  return true;
}

/// Whether `op` rounds the sum of a product to the type of its factors: that is
/// left to the library that sums.
static bool roundsProduct(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  Operation *product = cast ? cast.getX().getDefiningOp() : nullptr;
  return product && isProduct(product) && cast.getX().hasOneUse() &&
         getElementTypeOrSelf(cast.getResult()) ==
             getElementTypeOrSelf(product->getOperand(0));
}

namespace {
struct FusePass : soap::nn::impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isPrivate() || !function.getBody().hasOneBlock())
      return;
    Block &block = function.getBody().front();
    for (Operation &op : block)
      if (StringRef leader = getGroupLeader(&op); !leader.empty())
        leaders_.insert(leader);
    SmallVector<Operation *> roots;
    for (Operation &op : llvm::reverse(block))
      roots.push_back(&op);
    llvm::DenseSet<Operation *> taken;
    for (Operation *root : roots) {
      if (taken.contains(root) || !canFuse(root))
        continue;
      llvm::SetVector<Operation *> set = findParts(root);
      taken.insert(set.begin(), set.end());
      if (set.size() > 1)
        fuse(set);
    }
  }

private:
  bool canFuse(Operation *op) const {
    return op->hasTrait<PerElement>() && isa<PartitionOpInterface>(op) &&
           !isa<FusedOp>(op) && op->getNumOperands() > 0 &&
           op->getNumResults() == 1 && isMemoryEffectFree(op) &&
           !op->hasAttr(partsAttrName) && getGroupLeader(op).empty() &&
           getUpdateLeader(op).empty() && !leaders_.contains(nn::getName(op)) &&
           !(leaveRounding && roundsProduct(op));
  }

  /// The operations that become one with `root`, the last of them, which comes
  /// first. Later operations are looked at first, so that all readers of a
  /// value are known when its producer is.
  llvm::SetVector<Operation *> findParts(Operation *root) const {
    llvm::SetVector<Operation *> set;
    set.insert(root);
    llvm::SetVector<Operation *> candidates;
    auto addProducers = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          candidates.insert(producer);
    };
    addProducers(root);
    while (!candidates.empty() && static_cast<int64_t>(set.size()) < maxParts) {
      Operation *latest =
          *llvm::max_element(candidates, [](Operation *a, Operation *b) {
            return a->isBeforeInBlock(b);
          });
      candidates.remove(latest);
      if (!canFuse(latest) ||
          shapeOf(latest->getResult(0)) != shapeOf(root->getResult(0)) ||
          !llvm::all_of(latest->getUsers(),
                        [&](Operation *user) { return set.contains(user); }))
        continue;
      set.insert(latest);
      if (!fits(set)) {
        set.pop_back();
        continue;
      }
      addProducers(latest);
    }
    return set;
  }

  static llvm::SetVector<Value>
  operandsOf(const llvm::SetVector<Operation *> &set) {
    llvm::SetVector<Value> operands;
    for (Operation *op : llvm::reverse(set))
      for (Value operand : op->getOperands())
        if (!set.contains(operand.getDefiningOp()))
          operands.insert(operand);
    return operands;
  }

  bool fits(const llvm::SetVector<Operation *> &set) const {
    llvm::SetVector<Value> operands = operandsOf(set);
    return static_cast<int64_t>(operands.size()) <= maxOperands &&
           llvm::all_of(operands, [&](Value operand) {
             return isReadAlike(operand, set);
           });
  }

  void fuse(const llvm::SetVector<Operation *> &set) {
    Operation *root = set.front();
    LLVM_DEBUG({
      llvm::dbgs() << "'" << nn::getName(root) << "' takes";
      for (Operation *op : llvm::drop_begin(set))
        llvm::dbgs() << " '" << nn::getName(op) << "'";
      llvm::dbgs() << "\n";
    });
    llvm::SetVector<Value> operands = operandsOf(set);
    OperationState state(root->getLoc(), FusedOp::getOperationName(),
                         operands.getArrayRef(), root->getResultTypes(),
                         llvm::to_vector(root->getDiscardableAttrs()));
    Block &body = state.addRegion()->emplaceBlock();
    IRMapping inside;
    for (Value operand : operands)
      inside.map(operand,
                 body.addArgument(operand.getType(), operand.getLoc()));
    OpBuilder builder(root->getContext());
    builder.setInsertionPointToStart(&body);
    SmallVector<Operation *> parts(set.begin(), set.end());
    llvm::sort(parts, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *part : parts)
      builder.clone(*part, inside);
    builder.create<YieldOp>(root->getLoc(), inside.lookup(root->getResult(0)));
    Operation *fused = OpBuilder(root).create(state);
    root->replaceAllUsesWith(fused);
    for (Operation *part : llvm::reverse(parts))
      part->erase();
    ++numMade;
    numFused += parts.size();
  }

  llvm::StringSet<> leaders_;
};
} // namespace
