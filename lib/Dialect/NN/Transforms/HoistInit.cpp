//===- HoistInit.cpp - Move parameter-only expressions to @init -*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterExpressions.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/Transforms/Passes.h"
#include "llvm/Support/Debug.h"

namespace soap::nn {
#define GEN_PASS_DEF_HOISTINITPASS
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

#define DEBUG_TYPE "nn-hoist-init"

using namespace mlir;
using namespace soap::nn;

namespace {
/// The parameter-only expressions of @main.
struct Hoisted {
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> moves;

  /// What the rest of @main reads of them, in order.
  SmallVector<Value> results() const {
    SmallVector<Value> read;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (firstReader(result))
          read.push_back(result);
    return read;
  }

  /// The first op of the rest of @main that reads `result`, or null.
  Operation *firstReader(Value result) const {
    Operation *first = nullptr;
    for (Operation *user : result.getUsers())
      if (!moves.contains(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    return first;
  }
};

class HoistInitPass : public soap::nn::impl::HoistInitPassBase<HoistInitPass> {
public:
  void runOnOperation() override;
};
} // namespace

/// Makes @init, which returns `results`.
static void createInit(func::FuncOp main, const Hoisted &hoisted,
                       ArrayRef<Value> results) {
  OpBuilder builder(main);
  auto types = llvm::map_to_vector(
      results, [](Value result) { return result.getType(); });
  auto init = builder.create<func::FuncOp>(main.getLoc(), "init",
                                           builder.getFunctionType({}, types));
  init.setPrivate();
  builder.setInsertionPointToStart(init.addEntryBlock());
  IRMapping mapping;
  for (Operation *op : hoisted.ops) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        builder.clone(*operand.getDefiningOp(), mapping);
    leaveGroup(builder.clone(*op, mapping));
  }
  auto returned = llvm::map_to_vector(
      results, [&](Value result) { return mapping.lookup(result); });
  builder.create<func::ReturnOp>(main.getLoc(), returned);
}

/// Makes a parameter of result `index` of @init, right before its first reader
/// in @main.
static void replaceByParameter(Value result, int64_t index,
                               const Hoisted &hoisted,
                               ExpressionBuilder &names) {
  Operation *op = result.getDefiningOp();
  OpBuilder builder(hoisted.firstReader(result));
  auto parameter =
      builder.create<ParameterOp>(op->getLoc(), result.getType(),
                                  InitAttr::get(builder.getContext(), index));
  // A node has a name and the results of @init have numbers, so that every
  // result gets a parameter with a name of its own.
  auto name = op->getAttrOfType<StringAttr>("nn.name");
  if (unsigned number = cast<OpResult>(result).getResultNumber())
    name = names.uniqueName((name.getValue() + "." + Twine(number)).str());
  parameter->setAttr("nn.name", name);
  result.replaceAllUsesWith(parameter.getResult());
}

void HoistInitPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal()) {
    module.emitError("expected a function @main with a body, got: none; import "
                     "a model first");
    return signalPassFailure();
  }
  ParameterExpressions expressions(main);
  Hoisted hoisted;
  for (Operation &op : main.front())
    if (op.getNumResults() != 0 && !isParameterOrConstant(&op) &&
        expressions.contains(op.getResult(0)) && !op.use_empty()) {
      LLVM_DEBUG(llvm::dbgs() << "'" << getName(&op) << "' moves to @init\n");
      hoisted.ops.push_back(&op);
      hoisted.moves.insert(&op);
    }
  if (hoisted.ops.empty())
    return;
  if (Operation *other = module.lookupSymbol("init")) {
    InFlightDiagnostic error = main.emitError(
        "expected no symbol @init in a module with parameter-only expressions "
        "in @main, got: one; run nn-hoist-init once, after the last pass that "
        "makes such expressions");
    error.attachNote(other->getLoc()) << "defined here";
    return signalPassFailure();
  }

  SmallVector<Value> results = hoisted.results();
  createInit(main, hoisted, results);
  ExpressionBuilder names(main, expressions);
  for (auto [index, result] : llvm::enumerate(results))
    replaceByParameter(result, static_cast<int64_t>(index), hoisted, names);

  numHoisted += hoisted.ops.size();
  for (Operation *op : llvm::reverse(hoisted.ops))
    op->erase();
  leaveLostGroups(main.front());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.front())))
    if (isParameterOrConstant(&op) && op.use_empty())
      op.erase();
}
