//===- Partition.cpp - From a strategy to tasks -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InitExpression.h"
#include "LaunchPlaces.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "soap/Dialect/SOAP/Transforms/Coverage.h"
#include "soap/Dialect/SOAP/Transforms/LaunchOrder.h"
#include "soap/Testing/PlantedFault.h"
#include "soap/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

namespace soap {
#define GEN_PASS_DEF_PARTITIONPASS
#include "soap/Transforms/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;
using namespace soap::soapir;

static bool isHostEnd(Operation *op) {
  return isa<nn::InputOp, nn::OutputOp>(op);
}

/// @main is one block of nn operations with configurations; inputs and outputs
/// without one are on the host.
static LogicalResult checkMain(func::FuncOp main,
                               SmallVectorImpl<Operation *> &nodes) {
  if (main.getBody().getBlocks().size() != 1 || main.getNumArguments() ||
      main.getNumResults())
    return emitError(main.getLoc())
           << "expected one block without arguments and results, got: "
           << main.getFunctionType();
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (!isa<nn::PartitionOpInterface>(op))
      return op.emitOpError()
             << "expected only nn operations in @main, got: " << op.getName()
             << "; partition a function once";
    if (!getConfig(&op) && isHostEnd(&op))
      setConfig(&op, ConfigAttr::get(op.getContext(), ArrayRef<StringAttr>(),
                                     ArrayRef<int64_t>(), 1,
                                     ArrayRef<int32_t>(kHostDevice),
                                     ArrayRef<int64_t>()));
    if (!getConfig(&op))
      return op.emitOpError()
             << "expected a soap.config, got none; run soap-init-strategy, "
                "soap-import-strategy or soap-search first";
    nodes.push_back(&op);
  }
  return success();
}

namespace {
struct PartitionPass : soap::impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      emitError(module.getLoc())
          << "expected a function @main, got none; import a "
             "model first";
      return signalPassFailure();
    }
    init_ = module.lookupSymbol<func::FuncOp>("init");
    SmallVector<Operation *> nodes;
    if (failed(checkMain(main, nodes)) || failed(partition(main, nodes)) ||
        failed(writeLaunchOrder(main, {})))
      return signalPassFailure();
    if (init_)
      init_.erase();
    CoverageStatistics coverage;
    if (failed(verifyCoverage(main, coverage)))
      return signalPassFailure();
    numReads = coverage.reads;
    numElements = coverage.elements;
    countOperations(main);
    if (!devices.empty() && failed(project(main)))
      return signalPassFailure();
  }

private:
  LogicalResult partition(func::FuncOp main, ArrayRef<Operation *> nodes) {
    std::unique_ptr<Topology> topology;
    if (TopologyOp op = getTopology(getOperation())) {
      llvm::Expected<Topology> parsed = op.getTopology();
      if (!parsed)
        return op.emitOpError() << llvm::toString(parsed.takeError());
      topology = std::make_unique<Topology>(std::move(*parsed));
    }
    int32_t numDevices = 0;
    llvm::DenseMap<Value, SmallVector<OpOperand *>> uses;
    for (Operation *op : nodes) {
      for (int32_t device : getConfig(op).getDevices())
        numDevices = std::max(numDevices, device + 1);
      for (OpOperand &operand : op->getOpOperands())
        uses[operand.get()].push_back(&operand);
    }
    OpBuilder atEnd = OpBuilder::atBlockTerminator(&main.getBody().front());
    PartitionBuilder builder(atEnd, topology.get(), numDevices);
    LaunchPlaces places(main, nodes);
    places.findBuckets(uses, builder);
    places.findPrefetches(builder);
    for (Operation *op : nodes) {
      for (OpResult result : op->getResults())
        builder.plan(result, uses[result]);
      if (failed(writeTasks(builder, op, uses)))
        return failure();
      for (OpResult result : op->getResults())
        if (failed(builder.writePlan(result)))
          return failure();
    }
    builder.joinBuckets();
    for (Operation *op : llvm::reverse(nodes))
      op->erase();
    keepUnread(atEnd, main);
    return success();
  }

  LogicalResult
  writeTasks(PartitionBuilder &builder, Operation *op,
             llvm::DenseMap<Value, SmallVector<OpOperand *>> &uses);
  LogicalResult writeBody(TaskOp task, Operation *op, const nn::LocalTile &tile,
                          ArrayRef<Value> operands);

  /// Keeps what the strategy makes and nobody reads.
  void keepUnread(OpBuilder &builder, func::FuncOp main) {
    for (Operation &op : llvm::make_early_inc_range(
             main.getBody().front().without_terminator()))
      if (isa<ShardOpInterface>(op) && op.getNumResults() && op.use_empty())
        builder.create<DiscardOp>(op.getLoc(), op.getResults());
  }

  void countOperations(func::FuncOp main) {
    for (Operation &op : main.getBody().front()) {
      if (auto task = dyn_cast<TaskOp>(op)) {
        if (task.getReduce())
          ++numReductions;
        else if (task.getPhase() == Phase::Init)
          ++numInitTasks;
        else
          ++numTasks;
      }
      numCopies += isa<SliceOp, AssembleOp>(op);
      numActions += isa<CommunicationOpInterface>(op);
    }
  }

  LogicalResult project(func::FuncOp main);

  func::FuncOp init_;
};
} // namespace

/// One task: its operands as the plans say, its region from the operation.
LogicalResult PartitionPass::writeTasks(
    PartitionBuilder &builder, Operation *op,
    llvm::DenseMap<Value, SmallVector<OpOperand *>> &uses) {
  auto node = cast<nn::PartitionOpInterface>(op);
  ConfigAttr config = getConfig(op);
  Degrees degrees = config.toDegrees(node.getPartitionSpec());
  // What devices make for themselves takes no time.
  Phase phase = isa<nn::ParameterOp, nn::ConstantOp, nn::ScheduleOp>(op)
                    ? Phase::Init
                    : Phase::Step;
  // Copies of one value for all operands that read it and all tasks, then of
  // the next value, then the tasks: one unpack per value and one launch group,
  // as in the task graph.
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  for (Value value : values)
    for (auto [use, operand] : llvm::enumerate(uses[value]))
      for (int64_t number = 0;
           operand->getOwner() == op && number < degrees.numTasks(); ++number)
        (void)builder.read(value, static_cast<int32_t>(use), number);
  for (int64_t number = 0; number < degrees.numTasks(); ++number) {
    nn::LocalTile tile = nn::makeLocalTile(node, degrees, number);
    // A shard that two operands read is an input once.
    SmallVector<Value> inputs;
    SmallVector<int64_t> argumentOf;
    for (OpOperand &operand : op->getOpOperands()) {
      argumentOf.push_back(-1);
      if (isEmpty(tile.operandBoxes[operand.getOperandNumber()]))
        continue;
      auto &all = uses[operand.get()];
      int32_t use = llvm::find(all, &operand) - all.begin();
      Value shard = builder.read(operand.get(), use, number);
      if (SOAP_FAULT("part-skipped") && number + 1 == degrees.numTasks() &&
          tile.spec.operands[operand.getOperandNumber()].unreduced)
        continue;
      // What another task takes is zero here.
      if (!shard && tile.spec.operands[operand.getOperandNumber()].unreduced)
        continue;
      if (!shard)
        return op->emitOpError() << "expected the plan to serve operand "
                                 << operand.getOperandNumber() << " of task "
                                 << number << ", got none";
      auto *known = llvm::find(inputs, shard);
      argumentOf.back() = known - inputs.begin();
      if (known == inputs.end())
        inputs.push_back(shard);
    }
    SmallVector<Type> types;
    SmallVector<BoxAttr> boxes;
    for (OpResult result : op->getResults()) {
      PlannedValue &value = builder.planned(result);
      boxes.push_back(value.boxes[number]);
      int64_t placed = SOAP_FAULT("devices-swapped")
                           ? degrees.numTasks() - 1 - number
                           : number;
      types.push_back(builder.shardType(
          value, boxes.back(),
          deviceToPlan(config.getDevices()[placed], builder.host())));
    }
    auto task = builder.builder().create<TaskOp>(
        op->getLoc(), types, boxes, inputs,
        TaskOrigin{nn::getName(op), number, phase});
    if (StringRef after = nn::getAfter(op); !after.empty())
      task->setAttr(nn::afterAttrName,
                    StringAttr::get(op->getContext(), after));
    SmallVector<Value> operands;
    for (int64_t argument : argumentOf)
      operands.push_back(argument < 0 ? Value()
                                      : task.getBlock().getArgument(argument));
    if (failed(writeBody(task, op, tile, operands)))
      return failure();
    for (OpResult result : op->getResults())
      builder.planned(result).shards[number] =
          task.getResult(result.getResultNumber());
  }
  return success();
}

LogicalResult PartitionPass::writeBody(TaskOp task, Operation *op,
                                       const nn::LocalTile &tile,
                                       ArrayRef<Value> operands) {
  OpBuilder builder(task.getContext());
  builder.setInsertionPointToStart(&task.getBlock());
  auto parameter = dyn_cast<nn::ParameterOp>(op);
  auto source = parameter ? dyn_cast<nn::InitAttr>(parameter.getSource())
                          : nn::InitAttr();
  SmallVector<Value> results;
  if (source) {
    if (!init_ || source.getIndex() >= init_.getNumResults())
      return op->emitOpError()
             << "expected a function @init with a result " << source.getIndex()
             << ", got none; run nn-hoist-init";
    if (!init_.getBody().hasOneBlock() ||
        !isa<func::ReturnOp>(init_.front().back()))
      return init_.emitError("expected @init to have one block that ends in "
                             "func.return");
    Type made = init_.getResultTypes()[source.getIndex()];
    if (made != op->getResult(0).getType())
      return op->emitOpError()
             << "expected result " << source.getIndex() << " of @init to be "
             << op->getResult(0).getType() << ", got: " << made;
    results.push_back(buildInitExpression(builder, init_, source.getIndex(),
                                          tile.resultBoxes[0]));
    if (!results[0])
      return failure();
  } else {
    FailureOr<SmallVector<Value>> local =
        cast<nn::PartitionOpInterface>(op).buildLocal(builder, operands, tile);
    if (failed(local))
      return op->emitOpError()
             << "expected every task to read the operands it cannot do "
                "without, got none for task "
             << task.getTask() << "; lower the degrees";
    results = *local;
  }
  for (Operation &inner : task.getBlock()) {
    inner.removeAttr(SOAPDialect::getConfigAttrName());
    if (Attribute group = inner.removeAttr(nn::groupAttrName))
      inner.setAttr(SOAPDialect::getGroupAttrName(), group);
    inner.removeAttr(nn::updateAttrName);
    inner.removeAttr(nn::afterAttrName);
  }
  builder.create<ReturnOp>(op->getLoc(), results);
  return success();
}

/// Keeps operations with an operand or a result on one of the devices. What
/// they read of others becomes soap.remote. Fails if a device has nothing.
LogicalResult PartitionPass::project(func::FuncOp main) {
  llvm::SmallSet<int32_t, 8> used;
  auto touches = [&](Operation *op) {
    bool result = false;
    for (ValueRange values :
         {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        if (auto shard = dyn_cast<ShardType>(value.getType());
            shard && llvm::is_contained(devices, shard.getDevice())) {
          used.insert(shard.getDevice());
          result = true;
        }
    return result;
  };
  Block &block = main.getBody().front();
  llvm::SetVector<Operation *> dropped;
  for (Operation &op : block.without_terminator())
    if (!touches(&op))
      dropped.insert(&op);
  for (int32_t device : devices)
    if (!used.contains(device))
      return main.emitError("expected devices that the strategy uses, got: ")
             << device << "; change the option 'devices'";
  for (Operation *op : llvm::reverse(dropped)) {
    OpBuilder builder(op);
    for (OpResult result : op->getResults()) {
      if (result.use_empty())
        continue;
      auto box = builder.getArrayAttr({getBox(result)});
      result.replaceAllUsesWith(
          builder.create<RemoteOp>(op->getLoc(), result.getType(), box));
    }
    op->erase();
  }
  return success();
}
