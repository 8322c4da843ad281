//===- Recompute.cpp - Values made again in a step ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingStep.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "soap/Dialect/NN/Transforms/Recomputation.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Debug.h"
#include <set>

#define DEBUG_TYPE "nn-recompute"

namespace soap::nn {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap;
using namespace soap::nn;

static bool isEnd(Operation *op) {
  return isa<InputOp, OutputOp, ParameterOp, ConstantOp, ScheduleOp>(op);
}

/// The operations that make what `op` reads.
static SmallVector<Operation *> producersOf(Operation *op) {
  SmallVector<Operation *> producers;
  for (Value operand : op->getOperands())
    producers.push_back(operand.getDefiningOp());
  return producers;
}

/// True if `op` reads what one of `producers` makes.
static bool readsAny(Operation *op,
                     const llvm::DenseSet<Operation *> &producers) {
  return llvm::any_of(producersOf(op), [&](Operation *producer) {
    return producers.contains(producer);
  });
}

/// Adds `op` and all that it depends on.
static void addSlice(Operation *op, llvm::DenseSet<Operation *> &slice) {
  SmallVector<Operation *> waiting = {op};
  while (!waiting.empty()) {
    Operation *next = waiting.pop_back_val();
    if (slice.insert(next).second)
      waiting.append(producersOf(next));
  }
}

//===----------------------------------------------------------------------===//
// The passes of a step
//===----------------------------------------------------------------------===//

Recomputation::Recomputation(func::FuncOp step) : function_(step) {
  SmallVector<OutputOp> outputs(step.getOps<OutputOp>());
  // What depends on a gradient of the loss.
  llvm::DenseSet<Operation *> ofGradients;
  for (Operation &op : step.front().without_terminator()) {
    position_[&op] = static_cast<unsigned>(ops_.size());
    ops_.push_back(&op);
    auto parameter = dyn_cast<ParameterOp>(&op);
    if (isa<InputOp, ScheduleOp>(&op) || (parameter && findWrite(parameter)) ||
        readsAny(&op, varying_))
      varying_.insert(&op);
    if (op.hasAttr(lossGradientAttrName) || readsAny(&op, ofGradients))
      ofGradients.insert(&op);
  }
  // The loss is the first output.
  if (outputs.empty() || ofGradients.empty())
    return;
  llvm::DenseSet<Operation *> ofLoss;
  addSlice(outputs.front(), ofLoss);
  llvm::DenseSet<Operation *> ofUpdates;
  for (OutputOp output : llvm::drop_begin(outputs))
    addSlice(output, ofUpdates);
  // Running statistics are written in the forward pass.
  for (auto write : step.getOps<WriteOp>())
    if (ofLoss.contains(write.getParameter().getDefiningOp()) &&
        ofGradients.contains(write))
      addSlice(write, ofUpdates);
  for (Operation *op : ops_) {
    if (isEnd(op))
      continue;
    if (ofLoss.contains(op) && varying_.contains(op))
      forward_.insert(op);
    else if (!ofLoss.contains(op) && ofUpdates.contains(op)) {
      backward_.insert(op);
      if (readsAny(op, ofGradients))
        gradients_.insert(op);
    }
  }
  findNeeds();
}

/// Fills neededBy_.
void Recomputation::findNeeds() {
  for (Operation *op : llvm::reverse(ops_)) {
    if (!backward_.contains(op))
      continue;
    Operation *&needed = neededBy_[op];
    if (gradients_.contains(op)) {
      needed = op;
      continue;
    }
    for (Operation *reader : op->getUsers())
      if (Operation *other = neededBy_.lookup(reader);
          other &&
          (!needed || position_.lookup(other) < position_.lookup(needed)))
        needed = other;
  }
}

/// The last gradient that `reader` depends on before position `before`, or else
/// the last forward operation there; null: there is neither.
Operation *Recomputation::launchedBehind(Operation *reader,
                                         unsigned before) const {
  for (Operation *next = reader; next;) {
    Operation *last = nullptr;
    for (Operation *producer : producersOf(next))
      if (gradients_.contains(producer) && varying_.contains(producer) &&
          (!last || position_.lookup(last) < position_.lookup(producer)))
        last = producer;
    if (last && position_.lookup(last) < before)
      return last;
    next = last;
  }
  for (unsigned position = before; position-- > 0;)
    if (forward_.contains(ops_[position]))
      return ops_[position];
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What is selected
//===----------------------------------------------------------------------===//

/// "softmax" for nn.softmax.
static StringRef kindOf(Operation *op) { return op->getName().stripDialect(); }

FailureOr<llvm::DenseSet<Operation *>>
Recomputation::select(ArrayRef<std::string> entries) const {
  llvm::DenseSet<Operation *> selected;
  std::set<StringRef> kinds;
  for (Operation *op : ops_)
    if (isForward(op) && llvm::any_of(op->getUsers(), [&](Operation *reader) {
          return isBackward(reader);
        }))
      kinds.insert(kindOf(op));
  for (StringRef entry : entries) {
    size_t before = selected.size();
    for (Operation *op : ops_)
      if (isForward(op) &&
          (kindOf(op) == entry ||
           (entry == "elementwise" && op->hasTrait<PerElement>())))
        selected.insert(op);
    if (selected.size() != before || kinds.count(entry))
      continue;
    llvm::Regex names(("^(" + entry + ")$").str());
    std::string error;
    bool isValid = names.isValid(error), matches = false;
    for (Operation *op : ops_)
      if (isValid && isForward(op) && names.match(nn::getName(op))) {
        selected.insert(op);
        matches = true;
      }
    if (!matches && entry != "elementwise")
      return emitError(func::FuncOp(function_).getLoc(),
                       "expected operations to recompute: elementwise, kinds "
                       "of operations that the backward pass reads (" +
                           llvm::join(kinds, ", ") +
                           "), or regular expressions that match names of "
                           "operations of the forward pass, got: '" +
                           entry + "'");
  }
  return selected;
}

llvm::DenseSet<Operation *>
Recomputation::select(const llvm::StringSet<> &names) const {
  llvm::DenseSet<Operation *> selected;
  for (Operation *op : ops_)
    if (isForward(op) && names.contains(nn::getName(op)))
      selected.insert(op);
  return selected;
}

/// The operations that are made again, in their order: what the backward pass
/// reads of the selected ones, or another copy does.
std::vector<Operation *>
Recomputation::findCopied(const llvm::DenseSet<Operation *> &selected) const {
  llvm::DenseSet<Operation *> mayBeCopied;
  for (Operation *op : ops_)
    if (selected.contains(op) ||
        (isa<ReshapeOp>(op) && isForward(op) &&
         mayBeCopied.contains(op->getOperand(0).getDefiningOp())))
      mayBeCopied.insert(op);
  llvm::DenseSet<Operation *> copied;
  std::vector<Operation *> result;
  for (Operation *op : llvm::reverse(ops_))
    if (mayBeCopied.contains(op) &&
        llvm::any_of(op->getUsers(), [&](Operation *reader) {
          return isBackward(reader) || copied.contains(reader);
        })) {
      copied.insert(op);
      result.push_back(op);
    }
  std::reverse(result.begin(), result.end());
  return result;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A planted fault: a batch norm that is made again updates its running
/// statistics once more.
void Recomputation::updateStatisticsAgain(const IRMapping &made,
                                          NodeNames &names) {
  IRMapping copies = made;
  for (auto write : function_.getOps<WriteOp>()) {
    llvm::DenseSet<Operation *> slice;
    addSlice(write.getValue().getDefiningOp(), slice);
    SmallVector<Operation *> update;
    bool readsCopied = false;
    for (Operation *op : ops_) {
      if (!slice.contains(op) || isEnd(op) || isForward(op) || isBackward(op))
        continue;
      update.push_back(op);
      readsCopied |= llvm::any_of(op->getOperands(), [&](Value operand) {
        return copies.contains(operand);
      });
    }
    if (!readsCopied)
      continue;
    OpBuilder builder(write);
    copies.map(write.getParameter(), write.getValue());
    for (Operation *op : update)
      setName(builder.clone(*op, copies),
              names.unique((nn::getName(op) + copySuffix).str()));
    write.getValueMutable().assign(copies.lookup(write.getValue()));
  }
}

unsigned Recomputation::recompute(const llvm::DenseSet<Operation *> &selected) {
  std::vector<Operation *> copied = findCopied(selected);
  if (copied.empty())
    return 0;
  // The first backward operation that reads of a copy, and the first one that
  // has a gradient to go on with.
  llvm::DenseMap<Operation *, Operation *> firsts, needs;
  auto takeEarlier = [&](Operation *&known, Operation *op) {
    if (op && (!known || position_.lookup(op) < position_.lookup(known)))
      known = op;
  };
  for (Operation *op : llvm::reverse(copied)) {
    Operation *first = nullptr, *need = nullptr;
    for (Operation *reader : op->getUsers()) {
      bool isBackward = backward_.contains(reader);
      takeEarlier(first, isBackward ? reader : firsts.lookup(reader));
      takeEarlier(need,
                  isBackward ? neededBy_.lookup(reader) : needs.lookup(reader));
    }
    firsts[op] = first;
    needs[op] = need;
  }
  auto launchLate = [&](Operation *op, Operation *need, unsigned position) {
    Operation *behind = launchedBehind(need, position);
    if (behind)
      op->setAttr(afterAttrName,
                  StringAttr::get(op->getContext(), nn::getName(behind)));
  };
  for (Operation *op : ops_)
    if (Operation *need = neededBy_.lookup(op);
        need && !gradients_.contains(op) && varying_.contains(op))
      launchLate(op, need, position_.lookup(op));

  NodeNames names(function_);
  IRMapping copies;
  for (Operation *op : copied) {
    Operation *first = firsts.lookup(op), *need = needs.lookup(op);
    OpBuilder builder(first);
    Operation *copy = builder.clone(*op, copies);
    if (auto dropout = dyn_cast<DropoutOp>(copy);
        dropout && SOAP_FAULT("mask-drawn-anew"))
      dropout.setSeed(dropout.getSeed() + 1);
    setName(copy, names.unique((nn::getName(op) + copySuffix).str()));
    if (getGroupLeader(op).empty())
      joinGroup(cast<PartitionOpInterface>(copy), nn::getName(op));
    launchLate(copy, need ? need : first, position_.lookup(first));
    LLVM_DEBUG(llvm::dbgs() << "'" << nn::getName(op) << "' is made again for '"
                            << nn::getName(first) << "', behind '"
                            << getAfter(copy) << "'\n");
  }
  for (Operation *op : copied)
    for (Value result : op->getResults())
      result.replaceUsesWithIf(copies.lookup(result), [&](OpOperand &use) {
        return backward_.contains(use.getOwner());
      });
  if (SOAP_FAULT("statistics-updated-again"))
    updateStatisticsAgain(copies, names);
  return static_cast<unsigned>(copied.size());
}

namespace {
struct RecomputePass : soap::nn::impl::RecomputePassBase<RecomputePass> {
  using Base = soap::nn::impl::RecomputePassBase<RecomputePass>;
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Recomputation recomputation(function);
    if (!recomputation.isTrainingStep()) {
      emitError(function.getLoc(),
                "expected a step with gradients to recompute for, got none; "
                "run nn-build-training-step before");
      return signalPassFailure();
    }
    auto selected =
        recomputation.select(SmallVector<std::string>(ops.begin(), ops.end()));
    if (failed(selected))
      return signalPassFailure();
    numCopies += recomputation.recompute(*selected);
  }
};
} // namespace
