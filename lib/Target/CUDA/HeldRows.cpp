//===- HeldRows.cpp - Rows that threads hold in registers -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where all parts of a group go through a row alike, the thread that has an
// element in one of them has it in the others. It holds its elements, and what
// there is one of per row, in registers: memory is read and written in groups
// of 16 bytes, and threads meet only to join partial results: by shuffles
// within a warp, and in shared memory where a row has several.
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Iteration.h"
#include "KernelBuffers.h"
#include "RowGroups.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "soap/Target/CUDA/Passes.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

static constexpr int64_t warpThreads = 32;

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// Whether threads of a warp exchange values of `type`: those of 32 and 64
/// bits, and smaller integers in 32.
static bool isShuffled(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(1) ||
         type.isInteger(8) || type.isInteger(16) || type.isInteger(32) ||
         type.isInteger(64);
}

/// Joins what so many neighbours of a warp have; each of them has the result.
Value Distribution::joinWarp(Operation *combiner, Value partial,
                             int64_t threads) {
  if (threads == 1)
    return partial;
  Type type = partial.getType(), i32 = builder_.getI32Type();
  bool isSmall = type.getIntOrFloatBitWidth() < 32;
  auto number = [&](int64_t value) -> Value {
    return builder_.create<arith::ConstantOp>(
        loc_, builder_.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  for (int64_t half = threads / 2; half != 0; half /= 2) {
    Value given = partial;
    if (isSmall)
      given = builder_.create<arith::ExtUIOp>(loc_, i32, given);
    auto shuffle = builder_.create<gpu::ShuffleOp>(
        loc_, given, number(half), number(warpThreads), gpu::ShuffleMode::XOR);
    Value other = shuffle.getShuffleResult();
    if (isSmall)
      other = builder_.create<arith::TruncIOp>(loc_, type, other);
    partial = combine(combiner, partial, other);
  }
  return partial;
}

/// Joins what the threads of a row have; each of them has the result.
Value Distribution::joinHeld(Operation *combiner, Value partial,
                             const RowWorkers &workers) {
  Type type = partial.getType();
  int64_t shuffled =
      isShuffled(type) ? std::min(workers.lanes, warpThreads) : 1;
  partial = joinWarp(combiner, partial, shuffled);
  int64_t others = workers.lanes / shuffled;
  if (others == 1)
    return partial;
  // Those that have the same write the same, and all read what is joined in the
  // same order.
  Value shared = joints_.lookup(type), divisor = constant(shuffled);
  Value place =
      builder_.createOrFold<arith::DivUIOp>(loc_, workers_.thread, divisor);
  builder_.create<memref::StoreOp>(loc_, partial, shared, place);
  builder_.create<gpu::BarrierOp>(loc_);
  Value first = multiply(workers.slot, constant(others));
  for (int64_t i = 0; i != others; ++i) {
    Value at = builder_.createOrFold<arith::AddIOp>(loc_, first, constant(i));
    Value other = builder_.create<memref::LoadOp>(loc_, shared, at);
    partial = i == 0 ? other : combine(combiner, partial, other);
  }
  // Before the next results are joined in the same place.
  builder_.create<gpu::BarrierOp>(loc_);
  return partial;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The address of the element of an operand at `ivs`.
Value Distribution::heldAddress(OpOperand &copy, ValueRange ivs) {
  // Strides are static: accessOf() has found them.
  BufferAccess access = *accessOf(copy);
  Value offset = constant(access.offset);
  for (auto [iv, stride] : llvm::zip_equal(ivs, access.strides))
    if (stride != 0)
      offset = builder_.createOrFold<arith::AddIOp>(
          loc_, multiply(iv, constant(stride)), offset);
  return elementAddress(access.buffer, offset);
}

Distribution::HeldElements Distribution::heldElements(const HeldRow &row,
                                                      int64_t number) {
  int64_t threads = row.group.threadsPerRow, groups = row.group.heldGroups();
  Value group = builder_.createOrFold<arith::AddIOp>(
      loc_, row.workers.lane, constant(number * threads));
  HeldElements elements{number, {}, {}};
  if ((number + 1) * threads > groups) {
    elements.exist = builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::ult, group, constant(groups));
    group = builder_.create<arith::SelectOp>(loc_, elements.exist, group,
                                             constant(0));
  }
  elements.first = multiply(group, constant(row.group.heldTogether));
  return elements;
}

/// What a part reads of its operand `number` at a group of elements, of which
/// `ivs` is the first.
Distribution::Values Distribution::loadHeld(HeldRow &row, const RowPart &part,
                                            const RowStep &step,
                                            unsigned number,
                                            const HeldElements &elements,
                                            ValueRange ivs) {
  OpOperand &operand = part.op->getOpOperand(number);
  OpOperand &copy = step.op->getOpOperand(number);
  int64_t together = row.group.heldTogether;
  if (!isa<MemRefType>(operand.get().getType()))
    return Values(together, copy.get());
  if (isUnread(operand))
    return Values(together, unreadElement(operand));
  Value buffer = bufferOf(operand.get());
  std::optional<BufferAccess> access = accessOf(operand);
  bool isScalar = access && isRowScalar(part, *access);
  auto groupOf = [&](const Values &all) {
    return Values(
        llvm::ArrayRef(all).slice(elements.number * together, together));
  };
  if (auto held = row.values.find(buffer); held != row.values.end())
    return isScalar ? Values(together, held->second[0]) : groupOf(held->second);
  if (isScalar)
    return Values(together, load(copy, ivs));
  bool isRow = access && isDense(part, *access);
  if (!isRow || !row.group.alike.contains(buffer))
    return loadGroup(row, part, copy, elements, ivs, isRow);
  Values &read = row.read[buffer];
  if (static_cast<int64_t>(read.size()) == elements.number * together)
    llvm::append_range(read, loadGroup(row, part, copy, elements, ivs, isRow));
  return groupOf(read);
}

/// The variables of a part's loops at element i of a group.
Distribution::Values Distribution::elementIndices(const RowPart &part,
                                                  const HeldElements &elements,
                                                  ValueRange ivs, int64_t i) {
  Values at(ivs);
  setElement(
      part,
      builder_.createOrFold<arith::AddIOp>(loc_, elements.first, constant(i)),
      at);
  return at;
}

/// What is in memory at a group of elements. `isRow`: side by side.
Distribution::Values Distribution::loadGroup(const HeldRow &row,
                                             const RowPart &part,
                                             OpOperand &copy,
                                             const HeldElements &elements,
                                             ValueRange ivs, bool isRow) {
  int64_t together = row.group.heldTogether;
  if (isRow && together > 1 && pointers_.contains(bufferOf(copy.get())))
    return loadVector(cast<MemRefType>(copy.get().getType()).getElementType(),
                      together, heldAddress(copy, ivs));
  Values values;
  for (int64_t i = 0; i != together; ++i)
    values.push_back(load(copy, elementIndices(part, elements, ivs, i)));
  return values;
}

/// Writes what a part makes of its output `output`, one value of the row or a
/// group, to memory where `isWritten`, if no later part writes it.
void Distribution::storeHeld(HeldRow &row, const RowPart &part,
                             const RowStep &step, unsigned output,
                             ArrayRef<Value> values, ValueRange ivs,
                             Value isWritten) {
  Value buffer = bufferOf(part.op.getDpsInits()[output]);
  if (row.storedBy.lookup(buffer) != part.op)
    return;
  linalg::LinalgOp op = step.op;
  OpOperand &copy = *op.getDpsInitOperand(output);
  OpBuilder::InsertionGuard guard(builder_);
  if (isWritten) {
    auto branch = builder_.create<scf::IfOp>(loc_, isWritten, false);
    builder_.setInsertionPointToStart(branch.thenBlock());
  }
  if (values.size() > 1)
    return storeVector(values, heldAddress(copy, ivs));
  auto indices = affine::expandAffineMap(builder_, loc_,
                                         op.getMatchingIndexingMap(&copy), ivs);
  builder_.create<memref::StoreOp>(loc_, values[0], copy.get(), *indices);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static Value both(OpBuilder &builder, Location loc, Value a, Value b) {
  return a && b ? Value(builder.create<arith::AndIOp>(loc, a, b)) : a ? a : b;
}

/// A part that makes an element per element of the row.
void Distribution::emitHeldElements(HeldRow &row, const RowPart &part,
                                    const RowStep &step) {
  linalg::LinalgOp op = step.op;
  int64_t together = row.group.heldTogether;
  SmallVector<Values> made(op.getNumDpsInits());
  for (int64_t number = 0; number != row.group.heldPerThread(); ++number) {
    HeldElements elements = heldElements(row, number);
    Values ivs = rowIndices(part, row.safeRow);
    setElement(part, elements.first, ivs);
    SmallVector<Values> operands;
    for (unsigned i = 0, count = op->getNumOperands(); i != count; ++i)
      operands.push_back(loadHeld(row, part, step, i, elements, ivs));
    for (int64_t i = 0; i != together; ++i) {
      Values values;
      for (const Values &operand : operands)
        values.push_back(operand[i]);
      for (auto [list, result] : llvm::zip_equal(
               made, body(op, elementIndices(part, elements, ivs, i), values)))
        list.push_back(result);
    }
    Value isWritten = both(builder_, loc_, row.workers.exists, elements.exist);
    for (auto [i, list] : llvm::enumerate(made))
      storeHeld(row, part, step, i, llvm::ArrayRef(list).take_back(together),
                ivs, isWritten);
  }
  for (auto [output, values] : llvm::zip_equal(part.op.getDpsInits(), made))
    row.values[bufferOf(output)] = values;
}

/// A part that makes one element per row: every thread of the row does it, and
/// one writes it.
void Distribution::emitHeldScalar(HeldRow &row, const RowPart &part,
                                  const RowStep &step) {
  linalg::LinalgOp op = step.op;
  Values ivs = rowIndices(part, row.safeRow), values;
  HeldElements first{0, constant(0), {}};
  for (unsigned i = 0, count = op->getNumOperands(); i != count; ++i)
    values.push_back(loadHeld(row, part, step, i, first, ivs).front());
  for (auto [i, result] : llvm::enumerate(body(op, ivs, values))) {
    storeHeld(row, part, step, i, result, ivs, row.writesScalars);
    row.values[bufferOf(part.op.getDpsInits()[i])] = {result};
  }
}

void Distribution::reduceHeld(HeldRow &row, const RowPart &part,
                              const RowStep &step) {
  linalg::LinalgOp op = step.op;
  SmallVector<Operation *> combiners;
  Values partial;
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i) {
    combiners.push_back(combinerOf(op, i));
    partial.push_back(builder_.create<arith::ConstantOp>(
        loc_, *arith::getNeutralElement(combiners.back())));
  }
  for (int64_t number = 0; number != row.group.heldPerThread(); ++number) {
    HeldElements elements = heldElements(row, number);
    Values ivs = rowIndices(part, row.safeRow);
    setElement(part, elements.first, ivs);
    SmallVector<Values> operands;
    for (unsigned i = 0, count = op.getNumDpsInputs(); i != count; ++i)
      operands.push_back(loadHeld(row, part, step, i, elements, ivs));
    Values before = partial;
    for (int64_t i = 0; i != row.group.heldTogether; ++i) {
      Values values;
      for (const Values &operand : operands)
        values.push_back(operand[i]);
      llvm::append_range(values, partial);
      partial = body(op, elementIndices(part, elements, ivs, i), values);
    }
    if (elements.exist)
      for (auto [value, old] : llvm::zip_equal(partial, before))
        value =
            builder_.create<arith::SelectOp>(loc_, elements.exist, value, old);
  }
  Values ivs = rowIndices(part, row.safeRow);
  HeldElements first{0, constant(0), {}};
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i) {
    Value sum = joinHeld(combiners[i], partial[i], row.workers);
    Value old = step.initial ? step.initial
                             : loadHeld(row, part, step,
                                        op.getNumDpsInputs() + i, first, ivs)
                                   .front();
    Value result = combine(combiners[i], old, sum);
    storeHeld(row, part, step, i, result, ivs, row.writesScalars);
    row.values[bufferOf(part.op.getDpsInits()[i])] = {result};
  }
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

WorkSize Distribution::emitHeldRows(const RowGroup &group,
                                    ArrayRef<RowStep> steps) {
  RowWorkers workers = makeRowWorkers(group);
  makeJoints(workers, steps);
  return forEachRow(group, workers, [&](Value first) {
    HeldRow row{group, workers, workers.row, {}};
    if (workers.exists)
      row.safeRow = builder_.create<arith::SelectOp>(loc_, workers.exists,
                                                     workers.row, first);
    Value isFirst = builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::eq, workers.lane, constant(0));
    row.writesScalars = both(builder_, loc_, isFirst, workers.exists);
    for (const RowPart &part : group.parts)
      for (Value output : part.op.getDpsInits())
        if (!group.unstored.contains(bufferOf(output)))
          row.storedBy[bufferOf(output)] = part.op;
    for (auto [part, step] : llvm::zip_equal(group.parts, steps)) {
      loc_ = linalg::LinalgOp(step.op).getLoc();
      if (part.isReduction())
        reduceHeld(row, part, step);
      else if (part.elementsPerRow() == 1)
        emitHeldScalar(row, part, step);
      else
        emitHeldElements(row, part, step);
    }
  });
}
