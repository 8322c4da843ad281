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

namespace soap::nn {
#define GEN_PASS_DEF_NNHOISTINIT
#include "soap/Dialect/NN/Transforms/Passes.h.inc"
} // namespace soap::nn

using namespace mlir;
using namespace soap::nn;

namespace {
class NNHoistInit : public soap::nn::impl::NNHoistInitBase<NNHoistInit> {
public:
  void runOnOperation() override;
};
} // namespace

void NNHoistInit::runOnOperation() {
  ModuleOp module = getOperation();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal()) {
    module.emitError("expected a function @main with a body, got: none; import "
                     "a model first");
    return signalPassFailure();
  }
  ParameterExpressions expressions(main);
  SmallVector<Operation *> hoisted;
  llvm::DenseSet<Operation *> moves;
  for (Operation &op : main.front())
    if (op.getNumResults() != 0 && !isParameterOrConstant(&op) &&
        expressions.contains(op.getResult(0)) && !op.use_empty()) {
      hoisted.push_back(&op);
      moves.insert(&op);
    }
  if (hoisted.empty())
    return;
  if (Operation *other = module.lookupSymbol("init")) {
    InFlightDiagnostic error = main.emitError(
        "expected no symbol @init in a module with parameter-only expressions "
        "in @main, got: one; run nn-hoist-init once, after the last pass that "
        "makes such expressions");
    error.attachNote(other->getLoc()) << "defined here";
    return signalPassFailure();
  }

  // What the rest of @main reads, in order.
  SmallVector<Value> results;
  for (Operation *op : hoisted)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !moves.contains(user); }))
        results.push_back(result);

  OpBuilder builder(main);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  auto init = builder.create<func::FuncOp>(main.getLoc(), "init",
                                           builder.getFunctionType({}, types));
  init.setPrivate();
  builder.setInsertionPointToStart(init.addEntryBlock());
  IRMapping mapping;
  for (Operation *op : hoisted) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        builder.clone(*operand.getDefiningOp(), mapping);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(mapping.lookup(result));
  builder.create<func::ReturnOp>(main.getLoc(), returned);

  ExpressionBuilder names(main, expressions);
  for (auto [index, result] : llvm::enumerate(results)) {
    Operation *op = result.getDefiningOp();
    // Right before the first reader.
    Operation *first = nullptr;
    for (Operation *user : result.getUsers())
      if (!moves.contains(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    builder.setInsertionPoint(first);
    auto parameter = builder.create<ParameterOp>(
        op->getLoc(), result.getType(),
        InitAttr::get(&getContext(), static_cast<int64_t>(index)));
    // Nodes have names, results numbers: parameters are nodes of their own.
    auto name = op->getAttrOfType<StringAttr>("nn.name");
    if (unsigned number = cast<OpResult>(result).getResultNumber())
      name = names.uniqueName((name.getValue() + "." + Twine(number)).str());
    parameter->setAttr("nn.name", name);
    result.replaceAllUsesWith(parameter.getResult());
  }
  numHoisted += hoisted.size();
  for (Operation *op : llvm::reverse(hoisted))
    op->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.front())))
    if (isParameterOrConstant(&op) && op.use_empty())
      op.erase();
}
