//===- RowLoops.cpp - Parts of a kernel that keep to their rows -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Iteration.h"
#include "KernelBuffers.h"
#include "RowGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "soap/Target/CUDA/Passes.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

//===----------------------------------------------------------------------===//
// Rows in shared memory
//===----------------------------------------------------------------------===//

/// The strides of `loops` in a dense row, in which the digits of `layout`
/// follow one another.
static SmallVector<int64_t> denseStrides(const RowLayout &layout,
                                         const RowPart &part,
                                         const BufferAccess &access) {
  SmallVector<int64_t> strides(access.strides.size(), 0);
  int64_t dense = 1;
  for (Digit digit : llvm::reverse(layout.within)) {
    for (unsigned loop : part.elementLoops) {
      int64_t stride = access.strides[loop];
      if (stride >= digit.stride && stride < digit.stride * digit.extent)
        strides[loop] = stride / digit.stride * dense;
    }
    dense *= digit.extent;
  }
  return strides;
}

/// Makes the tiles of a group, and says for every operand of its steps what of
/// it is in a tile, and when it is read from memory and written there: once.
void Distribution::placeOperands(const RowGroup &group,
                                 ArrayRef<RowStep> steps) {
  for (const auto &[buffer, layout] : group.tiles) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    int64_t elements = layout.elementsPerRow();
    Value tile = sharedBuffer(elements * group.rowsPerBlock(), element);
    bool isHeld = false; // By the tile, after the steps so far.
    RowPlace *lastWritten = nullptr;
    SmallVector<OpOperand *> touching, copies;
    SmallVector<unsigned> parts;
    for (auto [number, part] : llvm::enumerate(group.parts))
      for (OpOperand &operand : part.op->getOpOperands())
        if (isa<MemRefType>(operand.get().getType()) &&
            bufferOf(operand.get()) == buffer) {
          touching.push_back(&operand);
          copies.push_back(
              &steps[number].op->getOpOperand(operand.getOperandNumber()));
          parts.push_back(number);
        }
    for (size_t i = 0, end = touching.size(); i != end; ++i) {
      const RowPart &part = group.parts[parts[i]];
      RowPlace place{tile,
                     elements,
                     denseStrides(layout, part, *accessOf(*touching[i])),
                     /*fromMemory=*/!isHeld,
                     /*toMemory=*/false,
                     /*toTile=*/true};
      places_[copies[i]] = place;
      // All operands of a part read before it writes.
      if (i + 1 == end || parts[i + 1] != parts[i])
        isHeld = true;
    }
    for (size_t i = 0, end = touching.size(); i != end; ++i)
      if (group.parts[parts[i]].op.isDpsInit(touching[i]))
        lastWritten = &places_[copies[i]];
    if (lastWritten && !group.unstored.contains(buffer))
      lastWritten->toMemory = true;
    // The last part writes for nobody within the group.
    if (lastWritten && lastWritten == &places_[copies.back()] &&
        lastWritten->toMemory)
      lastWritten->toTile = false;
  }
}

/// Where the element at `ivs` is in a tile: rows that follow one another are
/// neighbours if threads are.
Value Distribution::tileIndex(const RowPlace &place, ValueRange ivs) {
  Value element = constant(0);
  for (auto [iv, stride] : llvm::zip_equal(ivs, place.strides))
    if (stride != 0)
      element = builder_.createOrFold<arith::AddIOp>(
          loc_, multiply(iv, constant(stride)), element);
  const RowWorkers &workers = *rowWorkers_;
  Value major = workers.alongRows ? element : workers.slot;
  Value minor = workers.alongRows ? workers.slot : element;
  int64_t extent = workers.alongRows ? workers.rowsPerBlock : place.elements;
  return builder_.createOrFold<arith::AddIOp>(
      loc_, multiply(major, constant(extent)), minor);
}

//===----------------------------------------------------------------------===//
// A part, for one row
//===----------------------------------------------------------------------===//

/// The variables of the loops of a part; those within the row are not set.
Distribution::Values Distribution::rowIndices(const RowPart &part, Value row) {
  Values ivs(part.extents.size());
  for (unsigned loop : part.elementLoops)
    ivs[loop] = constant(0);
  SmallVector<OpFoldResult> sizes;
  for (unsigned loop : part.rowLoops)
    sizes.push_back(builder_.getIndexAttr(part.extents[loop]));
  for (auto [loop, iv] :
       llvm::zip_equal(part.rowLoops, delinearize(row, sizes)))
    ivs[loop] = iv;
  return ivs;
}

void Distribution::setElement(const RowPart &part, Value element, Values &ivs) {
  SmallVector<OpFoldResult> sizes;
  for (unsigned loop : part.elementLoops)
    sizes.push_back(builder_.getIndexAttr(part.extents[loop]));
  for (auto [loop, iv] :
       llvm::zip_equal(part.elementLoops, delinearize(element, sizes)))
    ivs[loop] = iv;
}

/// Joins what the threads of each row have: halves of them, until one is left.
/// The result is right in the first one.
Value Distribution::joinLanes(Operation *combiner, Value partial,
                              const RowWorkers &workers) {
  if (workers.lanes == 1)
    return partial;
  Value shared = joints_.lookup(partial.getType());
  builder_.create<memref::StoreOp>(loc_, partial, shared, workers_.thread);
  builder_.create<gpu::BarrierOp>(loc_);
  int64_t distance = workers.alongRows ? workers.rowsPerBlock : 1;
  for (int64_t half = workers.lanes / 2; half != 0; half /= 2) {
    Value works = builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::ult, workers.lane, constant(half));
    auto branch = builder_.create<scf::IfOp>(loc_, works, false);
    {
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(branch.thenBlock());
      Value other = builder_.create<arith::AddIOp>(loc_, workers_.thread,
                                                   constant(half * distance));
      Value sum = combine(
          combiner,
          builder_.create<memref::LoadOp>(loc_, shared, workers_.thread),
          builder_.create<memref::LoadOp>(loc_, shared, other));
      builder_.create<memref::StoreOp>(loc_, sum, shared, workers_.thread);
    }
    builder_.create<gpu::BarrierOp>(loc_);
  }
  // The next results are joined here: each thread first writes its own place,
  // which no other one reads before a barrier.
  return builder_.create<memref::LoadOp>(loc_, shared, workers_.thread);
}

void Distribution::reduceRow(const RowPart &part, const RowStep &step,
                             const RowWorkers &workers) {
  linalg::LinalgOp op = step.op;
  Values partial;
  SmallVector<Operation *> combiners;
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i) {
    combiners.push_back(combinerOf(op, i));
    partial.push_back(builder_.create<arith::ConstantOp>(
        loc_, *arith::getNeutralElement(combiners.back())));
  }
  Values ivs = rowIndices(part, workers.row);
  auto joinElement = [&](Value element, ValueRange before) {
    Values at(ivs);
    setElement(part, element, at);
    Values elements = inputs(op, at);
    llvm::append_range(elements, before);
    return body(op, at, elements);
  };
  constexpr int64_t mostUnrolled = 32;
  if (workers.lanes == 1 && !workers.exists &&
      part.elementsPerRow() <= mostUnrolled) {
    // A window, whose places are constants then.
    for (int64_t i = 0; i != part.elementsPerRow(); ++i)
      partial = joinElement(constant(i), partial);
  } else {
    Value end = constant(part.elementsPerRow());
    if (workers.exists)
      end = builder_.create<arith::SelectOp>(loc_, workers.exists, end,
                                             constant(0));
    auto made = builder_.create<scf::ForOp>(loc_, workers.lane, end,
                                            constant(workers.lanes), partial);
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(made.getBody());
    builder_.create<scf::YieldOp>(
        loc_, joinElement(made.getInductionVar(), made.getRegionIterArgs()));
    partial = made.getResults();
  }
  Values sums;
  for (auto [combiner, value] : llvm::zip_equal(combiners, partial))
    sums.push_back(joinLanes(combiner, value, workers));
  Value writes = builder_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq,
                                                workers.lane, constant(0));
  if (workers.exists)
    writes = builder_.create<arith::AndIOp>(loc_, writes, workers.exists);
  auto branch = builder_.create<scf::IfOp>(loc_, writes, false);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(branch.thenBlock());
  Values before = outputs(op, ivs, step.initial);
  for (auto [output, combiner, old, sum] :
       llvm::zip_equal(op.getDpsInitsMutable(), combiners, before, sums))
    store(output, ivs, combine(combiner, old, sum));
}

void Distribution::emitRow(const RowPart &part, const RowStep &step,
                           const RowWorkers &workers) {
  loc_ = linalg::LinalgOp(step.op).getLoc();
  if (part.isReduction())
    return reduceRow(part, step, workers);
  Iteration iteration;
  iteration.op = step.op;
  Values ivs = rowIndices(part, workers.row);
  Value end = constant(part.elementsPerRow());
  if (workers.exists)
    end = builder_.create<arith::SelectOp>(loc_, workers.exists, end,
                                           constant(0));
  loop(workers.lane, end, constant(workers.lanes), [&](Value element) {
    Values at(ivs);
    setElement(part, element, at);
    emitElement(iteration, at);
  });
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

/// Those of a group, of which none has a row yet.
Distribution::RowWorkers Distribution::makeRowWorkers(const RowGroup &group) {
  RowWorkers workers;
  workers.lanes = group.threadsPerRow;
  workers.rowsPerBlock = group.rowsPerBlock();
  workers.alongRows = group.alongRows;
  Value divisor =
      constant(workers.alongRows ? workers.rowsPerBlock : workers.lanes);
  workers.slot =
      builder_.createOrFold<arith::DivUIOp>(loc_, workers_.thread, divisor);
  workers.lane =
      builder_.createOrFold<arith::RemUIOp>(loc_, workers_.thread, divisor);
  if (workers.alongRows)
    std::swap(workers.slot, workers.lane);
  return workers;
}

/// Where partial results of the steps are joined, by type.
void Distribution::makeJoints(const RowWorkers &workers,
                              ArrayRef<RowStep> steps) {
  for (RowStep step : steps)
    if (workers.lanes != 1 && step.op.getNumReductionLoops() != 0)
      for (Value output : step.op.getDpsInits()) {
        Value &joint = joints_[getElementTypeOrSelf(output)];
        if (!joint)
          joint = sharedBuffer(threadsPerBlock, getElementTypeOrSelf(output));
      }
}

/// Writes the loop over the rows of a group, whose body `make` writes:
/// `workers` have a row then, of which `first` is that of the block's first
/// thread.
WorkSize Distribution::forEachRow(const RowGroup &group, RowWorkers &workers,
                                  llvm::function_ref<void(Value)> make) {
  Value atOnce = constant(workers.rowsPerBlock), rows = constant(group.rows);
  loop(multiply(workers_.block, atOnce), rows,
       multiply(workers_.blocks, atOnce), [&](Value first) {
         workers.row =
             builder_.createOrFold<arith::AddIOp>(loc_, first, workers.slot);
         if (group.rows % workers.rowsPerBlock != 0)
           workers.exists = builder_.create<arith::CmpIOp>(
               loc_, arith::CmpIPredicate::ult, workers.row, rows);
         make(first);
       });
  joints_.clear();
  WorkSize work;
  work.blocks = llvm::divideCeil(static_cast<uint64_t>(group.rows),
                                 static_cast<uint64_t>(workers.rowsPerBlock));
  return work;
}

WorkSize Distribution::emitRows(const RowGroup &group,
                                ArrayRef<RowStep> steps) {
  if (group.isHeld()) {
    WorkSize work = emitHeldRows(group, steps);
    work.holdsRows = true;
    return work;
  }
  RowWorkers workers = makeRowWorkers(group);
  rowWorkers_ = &workers;
  placeOperands(group, steps);
  makeJoints(workers, steps);
  WorkSize work = forEachRow(group, workers, [&](Value) {
    for (auto [part, step] : llvm::zip_equal(group.parts, steps)) {
      emitRow(part, step, workers);
      // Before the next part, or row, sees what others have written.
      if (workers.lanes != 1)
        builder_.create<gpu::BarrierOp>(loc_);
    }
  });
  rowWorkers_ = nullptr;
  places_.clear();
  return work;
}
