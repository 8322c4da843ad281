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
                      [](Operation &op) {
                        return isa<nn::ReshapeOp, nn::SliceOp>(op);
                      }) ||
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

/// The operation in the body of the task that makes `value`, which may write
/// its result over `parameter`; null if it must not.
Operation *Lowering::findMakerInPlace(soapir::TaskOp write, Value value,
                                      Value parameter) const {
  auto maker = value.getDefiningOp<soapir::TaskOp>();
  if (!maker || maker.getReduce() || maker.getPhase() != Phase::Step ||
      value.getType() != parameter.getType())
    return nullptr;
  Value made = maker.getBlock()
                   .getTerminator()
                   ->getOperands()[cast<OpResult>(value).getResultNumber()];
  Operation *op = made.getDefiningOp();
  if (!op || !llvm::hasSingleElement(maker.getBlock().without_terminator()) ||
      !op->hasTrait<nn::PerElement>() || target_.isLibraryKernel(op))
    return nullptr;
  // An operand that is broadcast is read by several elements of the result.
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand))
      if (shardOf(maker, argument) == parameter &&
          operand.getType() != made.getType())
        return nullptr;
  Operation *last = lastReader(parameter, maker);
  if (last && !last->isBeforeInBlock(maker) && !SOAP_FAULT("update-early")) {
    LLVM_DEBUG(llvm::dbgs() << "'" << maker.getNode()
                            << "' does not write in place: '" << last->getName()
                            << "' at " << last->getLoc() << " reads later\n");
    return nullptr;
  }
  return op;
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
    if (value == parameter || taken.contains(parameter) ||
        !findMakerInPlace(task, value, parameter))
      continue;
    taken.insert(parameter);
    madeInPlace_[value] = parameter;
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
  ArrayRef<int64_t> sizes =
      cast<ShapedType>(op.getResult().getType()).getShape();
  SmallVector<int64_t> zeros(sizes.size(), 0);
  createCopy(place, value, parameter,
             soaprt::BoxCopyAttr::get(context_, zeros, zeros, sizes), {},
             op.getLoc());
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
