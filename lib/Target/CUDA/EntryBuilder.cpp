//===- EntryBuilder.cpp - A function of the device ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryBuilder.h"
#include "KernelBuffers.h"
#include "RowGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/RegionUtils.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CUDA/Passes.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

/// Entries of `sizes` that a kernel reads.
static unsigned sizeCountOf(func::FuncOp kernel) {
  int64_t count = 0;
  for (unsigned i = 0, end = kernel.getNumArguments(); i != end; ++i)
    if (auto dims =
            kernel.getArgAttrOfType<DenseI64ArrayAttr>(i, native::sizesAttr))
      for (int64_t dim : dims.asArrayRef())
        count = std::max(count, dim + 1);
  return count;
}

EntryBuilder::EntryBuilder(ModuleOp module, func::FuncOp kernel,
                           const ScratchPlan &scratch, StringRef name,
                           ArrayRef<scf::ForOp> loops)
    : module_(module), kernel_(kernel), scratch_(scratch),
      builder_(module.getContext()), sizeCount_(sizeCountOf(kernel)) {
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder_.getContext());
  unsigned buffers = kernel.getNumArguments();
  SmallVector<Type> types(buffers + (scratch.bytes != 0), pointer);
  firstSize_ = types.size();
  types.append(sizeCount_ + loops.size(), builder_.getI64Type());
  builder_.setInsertionPoint(kernel);
  entry_ = builder_.create<func::FuncOp>(loc, name,
                                         builder_.getFunctionType(types, {}));
  entry_->setAttr(threadsAttr, builder_.getI64IntegerAttr(threadsPerBlock));
  for (unsigned i = 0; i != firstSize_; ++i)
    if (i >= buffers || kernel.getArgAttr(i, native::noaliasAttr))
      entry_.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder_.getUnitAttr());
  builder_.setInsertionPointToStart(entry_.addEntryBlock());
  auto ends = builder_.create<func::ReturnOp>(loc);
  builder_.setInsertionPoint(ends);

  auto x = gpu::Dimension::x;
  workers_.thread = builder_.create<gpu::ThreadIdOp>(loc, x);
  workers_.block = builder_.create<gpu::BlockIdOp>(loc, x);
  workers_.blocks = builder_.create<gpu::GridDimOp>(loc, x);
  Value threads = builder_.create<arith::ConstantIndexOp>(loc, threadsPerBlock);
  workers_.index = builder_.create<arith::AddIOp>(
      loc, builder_.create<arith::MulIOp>(loc, workers_.block, threads),
      workers_.thread);
  workers_.count =
      builder_.create<arith::MulIOp>(loc, workers_.blocks, threads);
  distribution_ = std::make_unique<Distribution>(
      builder_, module_.getOperation(), entry_.getName(), workers_);
  if (scratch.bytes != 0)
    scratchPointer_ = parameter(buffers);
  mapArguments(loops);
}

/// A memref of the bytes at `pointer`. Sizes that are not static come from the
/// parameters `dims` of the sizes.
Value EntryBuilder::memrefAt(MemRefType type, Value pointer,
                             ArrayRef<int64_t> dims) {
  return buildMemRefAt(
      builder_, kernel_.getLoc(), type, pointer,
      [&](int64_t dim) { return parameter(firstSize_ + dims[dim]); });
}

void EntryBuilder::mapArguments(ArrayRef<scf::ForOp> loops) {
  for (auto [index, argument] : llvm::enumerate(kernel_.getArguments())) {
    auto dims =
        kernel_.getArgAttrOfType<DenseI64ArrayAttr>(index, native::sizesAttr);
    Value memref =
        memrefAt(cast<MemRefType>(argument.getType()), parameter(index),
                 dims ? dims.asArrayRef() : ArrayRef<int64_t>());
    mapping_.map(argument, memref);
    distribution_->addPointer(memref, parameter(index));
  }
  for (auto [index, loop] : llvm::enumerate(loops)) {
    auto around = loop; // A structured binding cannot be captured or changed.
    mapping_.map(around.getInductionVar(),
                 builder_
                     .create<arith::IndexCastOp>(
                         around.getLoc(), builder_.getIndexType(),
                         parameter(firstSize_ + sizeCount_ + index))
                     .getResult());
  }
}

/// A buffer of the kernel, in its scratch memory. One that has no place there
/// is accessed nowhere, but views of it are made.
void EntryBuilder::mapBuffer(memref::AllocOp op) {
  if (!scratch_.offsets.contains(op)) {
    mapping_.map(op.getResult(), memrefAt(op.getType(), parameter(0), {}));
    return;
  }
  Value offset = builder_.create<LLVM::ConstantOp>(
      op.getLoc(), builder_.getI64IntegerAttr(scratch_.offsets.lookup(op)));
  Value pointer = builder_.create<LLVM::GEPOp>(
      op.getLoc(), scratchPointer_.getType(), builder_.getI8Type(),
      scratchPointer_, ArrayRef<LLVM::GEPArg>{offset});
  Value memref = memrefAt(op.getType(), pointer, {});
  mapping_.map(op.getResult(), memref);
  distribution_->addPointer(memref, pointer);
}

/// Computes a value of the kernel here, with all that it is made of.
void EntryBuilder::require(Value value) {
  if (mapping_.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (auto buffer = dyn_cast<memref::AllocOp>(op))
    return mapBuffer(buffer);
  requireOperands(op);
  builder_.clone(*op, mapping_);
}

void EntryBuilder::requireOperands(Operation *op) {
  for (Value operand : op->getOperands())
    require(operand);
  SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  for (Value value : above)
    require(value);
}

/// Says of buffers that several threads write and read, between barriers, that
/// they are shared: of a pointer without aliases LLVM takes a barrier to leave
/// alone what it points to.
void EntryBuilder::shareWritten(function_ref<bool(Value)> isShared) {
  auto share = [&](unsigned index) {
    entry_.removeArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName());
  };
  for (Value buffer : writtenBuffers(kernel_)) {
    if (!isShared(buffer))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(buffer))
      share(argument.getArgNumber());
    else if (scratchPointer_)
      share(cast<BlockArgument>(scratchPointer_).getArgNumber());
  }
}

/// A copy of an operation that threads share.
RowStep EntryBuilder::cloneShared(linalg::LinalgOp op, Value initial) {
  requireOperands(op);
  if (initial)
    require(initial);
  return {cast<linalg::LinalgOp>(builder_.clone(*op, mapping_)),
          initial ? mapping_.lookup(initial) : Value()};
}

WorkSize EntryBuilder::emitShared(linalg::LinalgOp op, Value initial) {
  RowStep step = cloneShared(op, initial);
  WorkSize work = distribution_->emit(step.op, step.initial);
  step.op->erase();
  return work;
}

WorkSize EntryBuilder::emitOnGrid(linalg::LinalgOp op, Value initial) {
  return emitShared(op, initial);
}

WorkSize EntryBuilder::emitNest(const native::LoopNest &nest) {
  requireOperands(nest.getOperation());
  return distribution_->emitNest(nest, mapping_);
}

WorkSize EntryBuilder::emitRows(const RowGroup &group) {
  // What threads hold, no other one sees in memory.
  shareWritten([&](Value buffer) {
    return !group.isHeld() && !group.tiles.contains(buffer) &&
           llvm::count_if(group.parts, [&](const RowPart &part) {
             return llvm::any_of(part.op->getOperands(), [&](Value operand) {
               return bufferOf(operand) == buffer;
             });
           }) > 1;
  });
  SmallVector<RowStep> steps;
  for (const RowPart &part : group.parts) {
    linalg::FillOp fill = fillBefore(part.op);
    steps.push_back(cloneShared(part.op, fill ? fill.value() : Value()));
  }
  WorkSize work = distribution_->emitRows(group, steps);
  for (RowStep &step : steps)
    step.op->erase();
  return work;
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

void EntryBuilder::barrier(Location loc) {
  builder_.create<gpu::BarrierOp>(loc);
}

/// Only the first thread does it, between barriers.
void EntryBuilder::emitAlone(Operation &op) {
  Location loc = op.getLoc();
  barrier(loc);
  Value first = builder_.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::eq, workers_.thread,
      builder_.create<arith::ConstantIndexOp>(loc, 0));
  auto branch = builder_.create<scf::IfOp>(loc, first, false);
  {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(branch.thenBlock());
    builder_.clone(op, mapping_);
  }
  barrier(loc);
}

/// A loop or branch that all threads of the block go through alike.
LogicalResult EntryBuilder::emitUniformRegions(Operation &op) {
  Operation *copy = op.cloneWithoutRegions(mapping_);
  builder_.insert(copy);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions())) {
    if (from.empty())
      continue;
    if (!from.hasOneBlock())
      return op.emitOpError("expected a region of one block in a kernel");
    Block &body = to.emplaceBlock();
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(&body);
    for (BlockArgument argument : from.front().getArguments())
      mapping_.map(argument,
                   body.addArgument(argument.getType(), argument.getLoc()));
    for (Operation &inner : from.front())
      if (failed(emitUniform(inner)))
        return failure();
  }
  mapping_.map(op.getResults(), copy->getResults());
  return success();
}

LogicalResult EntryBuilder::emitUniform(Operation &op) {
  if (isa<memref::AllocOp>(op)) // Its place is known from the start.
    return success();
  if (auto shared = dyn_cast<linalg::LinalgOp>(op)) {
    barrier(op.getLoc());
    emitShared(shared, {});
    barrier(op.getLoc());
    return success();
  }
  bool hasShared = false;
  op.walk([&](linalg::LinalgOp) { hasShared = true; });
  if (op.getNumRegions() == 0) {
    if (isMemoryEffectFree(&op) || isa<memref::LoadOp>(op))
      builder_.clone(op, mapping_);
    else if (op.getNumResults() == 0)
      emitAlone(op);
    else
      return op.emitOpError("expected no operation that writes and has results "
                            "in a kernel of a GPU");
    return success();
  }
  if (!hasShared && op.getNumResults() == 0) {
    emitAlone(op);
    return success();
  }
  if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return op.emitOpError("expected loops and branches of scf in a kernel of a "
                          "GPU");
  return emitUniformRegions(op);
}

LogicalResult EntryBuilder::emitOnBlock(Operation *op) {
  // All workers are the threads of one block, whatever the grid is.
  Location loc = op->getLoc();
  Value zero = builder_.create<arith::ConstantIndexOp>(loc, 0);
  workers_.index = workers_.thread;
  workers_.count =
      builder_.create<arith::ConstantIndexOp>(loc, threadsPerBlock);
  Value isFirst = builder_.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                 workers_.block, zero);
  workers_.block = zero;
  workers_.blocks = builder_.create<arith::ConstantIndexOp>(loc, 1);
  distribution_->setWorkers(workers_);
  shareWritten([](Value) { return true; });
  for (Operation &made : kernel_.getBody().front())
    if (auto buffer = dyn_cast<memref::AllocOp>(made))
      mapBuffer(buffer);
  auto branch = builder_.create<scf::IfOp>(loc, isFirst, false);
  builder_.setInsertionPointToStart(branch.thenBlock());
  if (op != kernel_) {
    requireOperands(op);
    return emitUniform(*op);
  }
  for (Operation &inner : kernel_.getBody().front().without_terminator())
    if (failed(emitUniform(inner)))
      return failure();
  return success();
}
