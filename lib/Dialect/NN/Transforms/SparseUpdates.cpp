//===- SparseUpdates.cpp - Updates of the slices that were looked up ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeNames.h"
#include "Unread.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "nn-sparse-updates"

namespace soap::nn {
#define GEN_PASS_DEF_SPARSEUPDATESPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static int64_t sizeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// The store that makes `gradient`, if an update may take its slices in place
/// of it: it adds them to zeros, they are no more than the table has, and
/// nothing else reads what it makes.
static ScatterNDOp findSlices(Value gradient) {
  auto store = gradient.getDefiningOp<ScatterNDOp>();
  if (!store || store.getReduction() != ReduceKind::Sum || store.getData() ||
      !gradient.hasOneUse() || sizeOf(store.getUpdates()) > sizeOf(gradient))
    return {};
  return store;
}

namespace {
/// A gradient as a sum: what is of the size of the table, and slices of it.
struct Sum {
  explicit Sum(Value gradient);

  Value dense; ///< Null: none.
  SmallVector<ScatterNDOp> slices;
};

struct SparseUpdatesPass
    : public soap::nn::impl::SparseUpdatesPassBase<SparseUpdatesPass> {
  void runOnOperation() override;
};
} // namespace

Sum::Sum(Value gradient) : dense(gradient) {
  while (dense) {
    if (ScatterNDOp store = findSlices(dense)) {
      slices.push_back(store);
      dense = {};
      return;
    }
    auto add = dense.getDefiningOp<AddOp>();
    if (!add || !dense.hasOneUse() || add.getA().getType() != dense.getType() ||
        add.getB().getType() != dense.getType())
      return;
    ScatterNDOp first = findSlices(add.getA()), second = findSlices(add.getB());
    if (!first && !second)
      return;
    slices.push_back(second ? second : first);
    dense = second ? add.getA() : add.getB();
  }
}

/// Updates the slices by operations of their own, behind the update by the rest
/// of the gradient if there is one.
static void split(SGDOp sgd, const Sum &sum, NodeNames &names) {
  OpBuilder builder(sgd);
  builder.setInsertionPointAfter(sgd);
  Operation *leader = sum.dense ? sgd.getOperation() : nullptr;
  Value gradient = sgd.getGradient();
  Value w = sum.dense ? sgd.getResult() : sgd.getW();
  // The first slices were added first.
  for (ScatterNDOp store : llvm::reverse(sum.slices)) {
    auto update = builder.create<SparseSGDOp>(
        sgd.getLoc(), sgd.getResult().getType(), w, store.getIndices(),
        store.getUpdates(), sgd.getRate(), store.getBasesAttr(),
        store.getTableSizesAttr());
    update->setDiscardableAttrs(sgd->getDiscardableAttrDictionary());
    if (leader) {
      setName(update, names.unique((getName(sgd) + ".slices").str()));
      joinUpdate(update, leader);
    } else {
      leader = update;
    }
    w = update.getResult();
  }
  sgd.getResult().replaceUsesWithIf(
      w, [&](OpOperand &use) { return !isa<SparseSGDOp>(use.getOwner()); });
  if (sum.dense)
    sgd.getGradientMutable().assign(sum.dense);
  else
    sgd.erase();
  eraseUnread(gradient.getDefiningOp());
}

void SparseUpdatesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  NodeNames names(function);
  for (auto sgd : llvm::make_early_inc_range(function.getOps<SGDOp>())) {
    if (sgd.getScale() || !sgd.getWeightDecay().isZero())
      continue;
    Sum sum(sgd.getGradient());
    if (sum.slices.empty())
      continue;
    LLVM_DEBUG(llvm::dbgs() << "'" << getName(sgd) << "' takes slices of "
                            << sum.slices.size() << " look-ups\n");
    numSlices += sum.slices.size();
    split(sgd, sum, names);
  }
  leaveLostGroups(function.front());
}
