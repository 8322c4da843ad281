//===- LowerState.cpp - What lasts from step to step ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters that a step writes. A new value is made right where the old one is
// if nothing reads the old one afterwards; else it is copied there.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "soap/Dialect/NN/IR/Views.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "convert-soap-to-soaprt"

using namespace mlir;
using namespace soap;

//===----------------------------------------------------------------------===//
// Which values are made in place
//===----------------------------------------------------------------------===//

/// The write in the body of a task, or null.
static nn::WriteOp writeOf(soapir::TaskOp task) {
  auto writes = task.getBlock().getOps<nn::WriteOp>();
  return writes.empty() ? nn::WriteOp() : *writes.begin();
}

/// The shard that a task reads as `argument` of its body.
static Value shardOf(soapir::TaskOp task, Value argument) {
  auto number = cast<BlockArgument>(argument).getArgNumber();
  return task.getInputs()[number];
}

/// Whether results of a task may be views of what it reads.
static bool makesViews(soapir::TaskOp task) {
  Block &block = task.getBlock();
  return llvm::any_of(block,
                      [](Operation &op) { return nn::mayBeView(&op); }) ||
         llvm::any_of(block.getTerminator()->getOperands(),
                      [](Value value) { return isa<BlockArgument>(value); });
}

/// The last operation of the block that may read the buffer of `shard`; the
/// terminator, where a drain does, which is launched behind everything else.
/// Writes of the shard do not count, nor does what `maker` reads of the shard
/// itself, but what it reads of views does. Null: none.
static Operation *lastReader(Value shard, Operation *maker) {
  Operation *last = nullptr;
  auto see = [&](Operation *reader) {
    if (reader && (!last || last->isBeforeInBlock(reader)))
      last = reader;
  };
  for (OpOperand &use : shard.getUses()) {
    Operation *user = use.getOwner();
    auto task = dyn_cast<soapir::TaskOp>(user);
    if (nn::WriteOp write = task ? writeOf(task) : nn::WriteOp();
        write && shardOf(task, write.getParameter()) == shard &&
        shardOf(task, write.getValue()) != shard)
      continue;
    if (user != maker)
      see(user);
    if (isa<soapir::SliceOp, soapir::AssembleOp>(user) ||
        (task && makesViews(task)))
      for (Value result : user->getResults())
        see(lastReader(result, nullptr));
    if (auto moved = dyn_cast<soapir::CommunicationOpInterface>(user))
      for (Type type : user->getResultTypes())
        if (cast<soapir::ShardType>(type).isOnHost())
          see(user->getBlock()->getTerminator());
  }
  return last;
}

/// The operation of a task of one that makes `value`, a shard, in the step;
/// null if there is none.
static Operation *makerOf(Value value) {
  auto task = value.getDefiningOp<soapir::TaskOp>();
  if (!task || task.getReduce() || task.getPhase() != Phase::Step ||
      !llvm::hasSingleElement(task.getBlock().without_terminator()))
    return nullptr;
  return task.getBlock()
      .getTerminator()
      ->getOperand(cast<OpResult>(value).getResultNumber())
      .getDefiningOp();
}

/// Whether `op`, the one of a task, reads `shard` as it is, and each element of
/// it for the same element of its result alone.
static bool readsInPlace(Operation *op, Value shard) {
  auto task = cast<soapir::TaskOp>(op->getParentOp());
  bool overwrites = op->hasTrait<nn::OverwritesFirst>();
  for (OpOperand &operand : op->getOpOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand.get());
        argument && shardOf(task, argument) == shard &&
        (overwrites ? operand.getOperandNumber() != 0
                    : argument.getType() != op->getResult(0).getType()))
      return false;
  return true;
}

/// `value` and what it is made of, from the last to the first, as far as each
/// is made by writing over the one behind it, the last one over `parameter`.
/// Empty if they must not.
SmallVector<Value> Lowering::findValuesInPlace(Value value,
                                               Value parameter) const {
  SmallVector<Value> values;
  for (Value before = value; before != parameter;) {
    value = before;
    Operation *op = makerOf(value);
    if (!op || value.getType() != parameter.getType() ||
        target_.isLibraryKernel(op) || !readsInPlace(op, parameter))
      return {};
    values.push_back(value);
    if (op->hasTrait<nn::PerElement>())
      break;
    if (!op->hasTrait<nn::OverwritesFirst>())
      return {};
    before = shardOf(value.getDefiningOp<soapir::TaskOp>(), op->getOperand(0));
    if (before != parameter &&
        (!before.hasOneUse() || !readsInPlace(op, before)))
      return {};
  }
  Operation *first = values.empty() ? nullptr : values.back().getDefiningOp();
  Operation *last = lastReader(parameter, first);
  if (first && last && !last->isBeforeInBlock(first) &&
      !SOAP_FAULT("update-early")) {
    LLVM_DEBUG(llvm::dbgs() << "'" << cast<soapir::TaskOp>(first).getNode()
                            << "' does not write in place: '" << last->getName()
                            << "' at " << last->getLoc() << " reads later\n");
    return {};
  }
  return values;
}

LogicalResult Lowering::findWrites(func::FuncOp main) {
  // Each parameter of a task is written in place once: a second task on the
  // device still reads the old value, and copies its own.
  llvm::DenseSet<Value> taken;
  for (auto task : main.getBody().front().getOps<soapir::TaskOp>()) {
    nn::WriteOp write = writeOf(task);
    if (!write)
      continue;
    Value value = shardOf(task, write.getValue());
    Value parameter = shardOf(task, write.getParameter());
    auto source = parameter.getDefiningOp<soapir::TaskOp>();
    if (!source || source.getPhase() != Phase::Init ||
        source.getBlock().getOps<nn::ParameterOp>().empty())
      return task.emitOpError()
             << "expected to write a parameter where it lives, got: a copy of "
                "it; let the parameter's configuration follow from the write's";
    Operation *last = lastReader(parameter, nullptr);
    if (last && last->hasTrait<OpTrait::IsTerminator>())
      return task.emitOpError()
             << "expected no output that is the parameter '" << source.getNode()
             << "', which has its next value when outputs leave; give out the "
                "result of the write";
    if (last && task->isBeforeInBlock(last))
      return task.emitOpError()
             << "expected to stand behind all that reads the parameter, got "
                "later: "
             << last->getName();
    if (!writer_.empty() && writer_ != program_)
      return task.emitOpError("expected one program that writes parameters, "
                              "got: '")
             << writer_ << "' and '" << program_ << "'";
    writer_ = program_;
    written_.insert(source.getNode());
    ++counts_.writes;
    if (taken.contains(parameter))
      continue;
    SmallVector<Value> values = findValuesInPlace(value, parameter);
    if (values.empty())
      continue;
    taken.insert(parameter);
    for (Value made : values)
      madeInPlace_[made] = parameter;
    ++counts_.writesInPlace;
  }
  return success();
}

bool Lowering::isOverwritten(Value shard) const {
  Operation *buffer = soaprt::getStorage(shards_.lookup(shard)).buffer;
  if (!writtenBuffers_.contains(buffer->getResult(0)))
    return false;
  while (shard && !madeInPlace_.contains(shard)) {
    Operation *maker = shard.getDefiningOp();
    if (auto task = dyn_cast<soapir::TaskOp>(maker)) {
      if (task.getPhase() == Phase::Init)
        return !task.getBlock().getOps<nn::ParameterOp>().empty();
      if (writeOf(task))
        return false;
    }
    // A view: of what, says the buffer.
    shard = {};
    for (Value operand : maker->getOperands())
      if (Value of = shards_.lookupOrNull(operand);
          of && soaprt::getStorage(of).buffer == buffer)
        shard = operand;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Lowering::lowerWrite(nn::WriteOp op, const Place &place,
                          IRMapping &buffers) {
  Value value = buffers.lookup(op.getValue());
  Value parameter = buffers.lookup(op.getParameter());
  buffers.map(op.getResult(), parameter);
  if (value == parameter)
    return;
  createWholeCopy(place, value, parameter, op.getLoc());
}

LogicalResult Lowering::lowerSchedule(nn::ScheduleOp op, Place place,
                                      IRMapping &buffers) {
  // The number of the step before lies in the memory of the device, from where
  // the first row takes it, and leaves its own there.
  auto type = cast<RankedTensorType>(op.getNumber().getType());
  Value count =
      createBuffer(place.device, type.getShape(), type.getElementType(),
                   Space::Parameters, op.getLoc());
  OpBuilder builder(op);
  TypedAttr zero = builder.getI64IntegerAttr(0);
  bufferBuilder(place.device)
      .create<soaprt::LoadOp>(op.getLoc(), nn::getName(op),
                              nn::SplatAttr::get(context_, zero), type,
                              ArrayRef<int64_t>(), count);
  writtenBuffers_.insert(count);
  if (!op.getBefore()) {
    auto before = builder.create<nn::ConstantOp>(
        op.getLoc(), DenseElementsAttr::get(type, zero));
    nn::setName(before, nn::getName(op) + ".before");
    op.getBeforeMutable().assign(before.getResult());
  }
  buffers.map(op.getBefore(), count);
  placed_[op.getNumber()] = count;
  place.init = false;
  return lowerKernel(op, place, buffers);
}
