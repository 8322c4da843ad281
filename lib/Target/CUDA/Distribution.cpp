//===- Distribution.cpp - linalg operations for many threads --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Iteration.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Target/CUDA/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value Distribution::constant(int64_t value) {
  return builder_.create<arith::ConstantIndexOp>(loc_, value);
}

Value Distribution::multiply(Value a, Value b) {
  return builder_.createOrFold<arith::MulIOp>(loc_, a, b);
}

Value Distribution::valueOf(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return value;
  return constant(*getConstantIntValue(size));
}

Value Distribution::product(ArrayRef<OpFoldResult> sizes) {
  if (std::optional<int64_t> known = staticProduct(sizes))
    return constant(*known);
  Value result = valueOf(sizes[0]);
  for (OpFoldResult size : sizes.drop_front())
    result = multiply(result, valueOf(size));
  return result;
}

/// Divisions are of 32 bits where the extents are known to allow it: those of
/// 64 bits are many instructions on a GPU.
Distribution::Values Distribution::delinearize(Value index,
                                               ArrayRef<OpFoldResult> sizes) {
  Values result(sizes.size());
  std::optional<int64_t> total = staticProduct(sizes);
  bool isNarrow = total ? *total <= INT32_MAX : isNarrow_;
  Type narrow = builder_.getI32Type(), wide = builder_.getIndexType();
  auto as = [&](Type type, Value value) -> Value {
    if (value.getType() == type)
      return value;
    return builder_.createOrFold<arith::IndexCastOp>(loc_, type, value);
  };
  std::optional<size_t> outermost;
  for (size_t d = 0; d != sizes.size() && !outermost; ++d)
    if (getConstantIntValue(sizes[d]) != 1)
      outermost = d;
  Value rest = index;
  if (isNarrow && outermost && *outermost + 1 != sizes.size())
    rest = as(narrow, index);
  for (size_t d = sizes.size(); d-- != 0;) {
    if (getConstantIntValue(sizes[d]) == 1) {
      result[d] = constant(0);
      continue;
    }
    if (d == *outermost) {
      result[d] = as(wide, rest);
      continue;
    }
    Value size = as(rest.getType(), valueOf(sizes[d]));
    result[d] =
        as(wide, builder_.createOrFold<arith::RemUIOp>(loc_, rest, size));
    rest = builder_.createOrFold<arith::DivUIOp>(loc_, rest, size);
  }
  return result;
}

Value Distribution::load(OpOperand &operand, ValueRange ivs) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto place = places_.find(&operand);
  if (place != places_.end() && !place->second.fromMemory)
    return builder_.create<memref::LoadOp>(loc_, place->second.tile,
                                           tileIndex(place->second, ivs));
  auto indices = affine::expandAffineMap(
      builder_, loc_, op.getMatchingIndexingMap(&operand), ivs);
  Value element =
      builder_.create<memref::LoadOp>(loc_, operand.get(), *indices);
  if (place != places_.end())
    builder_.create<memref::StoreOp>(loc_, element, place->second.tile,
                                     tileIndex(place->second, ivs));
  return element;
}

void Distribution::store(OpOperand &operand, ValueRange ivs, Value element) {
  auto place = places_.find(&operand);
  if (place != places_.end() && place->second.toTile)
    builder_.create<memref::StoreOp>(loc_, element, place->second.tile,
                                     tileIndex(place->second, ivs));
  if (place != places_.end() && !place->second.toMemory)
    return;
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto indices = affine::expandAffineMap(
      builder_, loc_, op.getMatchingIndexingMap(&operand), ivs);
  builder_.create<memref::StoreOp>(loc_, element, operand.get(), *indices);
}

Distribution::Values Distribution::inputs(linalg::LinalgOp op, ValueRange ivs) {
  Values elements;
  for (OpOperand *operand : op.getDpsInputOperands())
    elements.push_back(load(*operand, ivs));
  return elements;
}

Distribution::Values Distribution::outputs(linalg::LinalgOp op, ValueRange ivs,
                                           Value initial) {
  if (initial)
    return {initial};
  Values elements;
  for (OpOperand &operand : op.getDpsInitsMutable())
    elements.push_back(load(operand, ivs));
  return elements;
}

Distribution::Values Distribution::body(linalg::LinalgOp op, ValueRange ivs,
                                        ValueRange elements) {
  Block *block = op.getBlock();
  IRMapping mapping;
  mapping.map(block->getArguments(), elements);
  for (Operation &inner : block->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), ivs[index.getDim()]);
    else
      builder_.clone(inner, mapping);
  }
  Values results;
  for (Value yielded : block->getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(yielded));
  return results;
}

void Distribution::loop(Value from, Value to, Value step,
                        llvm::function_ref<void(Value)> make) {
  OpBuilder::InsertionGuard guard(builder_);
  auto made = builder_.create<scf::ForOp>(loc_, from, to, step);
  builder_.setInsertionPointToStart(made.getBody());
  make(made.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Operations without reductions
//===----------------------------------------------------------------------===//

Distribution::Iteration Distribution::iterationOf(linalg::LinalgOp op) {
  Iteration iteration;
  iteration.op = op;
  for (Range range : op.createLoopRanges(builder_, loc_))
    iteration.sizes.push_back(range.size);
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? iteration.parallel
                                           : iteration.reduced)
        .push_back(dim);
  return iteration;
}

WorkSize Distribution::emit(linalg::LinalgOp op, Value initial) {
  loc_ = op.getLoc();
  Iteration iteration = iterationOf(op);
  if (iteration.reduced.empty())
    return emitParallel(iteration);
  if (canReduceInBlock(iteration))
    return emitBlockPerResult(iteration, initial);
  return emitThreadPerResult(iteration, initial);
}

/// Whether the body does not read an output, which need not be loaded then.
bool cuda::isUnread(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  return op.isDpsInit(&operand) &&
         op.getMatchingBlockArgument(&operand).use_empty();
}

/// What the body gets for it.
Value Distribution::unreadElement(OpOperand &operand) {
  return builder_.create<arith::ConstantOp>(
      loc_, builder_.getZeroAttr(getElementTypeOrSelf(operand.get())));
}

void Distribution::emitElement(const Iteration &iteration, ValueRange ivs) {
  linalg::LinalgOp op = iteration.op;
  Values elements = inputs(op, ivs);
  for (OpOperand &output : op.getDpsInitsMutable())
    elements.push_back(isUnread(output) ? unreadElement(output)
                                        : load(output, ivs));
  Values results = body(op, ivs, elements);
  for (auto [output, result] :
       llvm::zip_equal(op.getDpsInitsMutable(), results))
    store(output, ivs, result);
}

void Distribution::emitElements(const Iteration &iteration, Value from,
                                Value total) {
  loop(from, total, workers_.count, [&](Value index) {
    emitElement(iteration, delinearize(index, iteration.sizes));
  });
}

WorkSize Distribution::emitParallel(const Iteration &iteration) {
  int64_t lanes = lanesOf(iteration), flat = flatLanesOf(iteration);
  Value total = product(iteration.sizes);
  if (!staticProduct(iteration.sizes) && iteration.sizes.size() > 1)
    emitDynamic(iteration, lanes, flat, total);
  else if (lanes > 1)
    emitVectors(iteration, lanes, total);
  else if (flat > 1)
    emitFlat(iteration, flat, total);
  else
    emitElements(iteration, workers_.index, total);
  return workOf(iteration.sizes, lanes > 1 ? lanes : flat);
}

//===----------------------------------------------------------------------===//
// Groups of 16 bytes
//===----------------------------------------------------------------------===//

bool cuda::isVectorElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         type.isInteger(8) || type.isInteger(16) || type.isInteger(32) ||
         type.isInteger(64);
}

/// Elements that a thread takes at once; 1 if some operand does not lie as a
/// vector needs it. Bases are multiples of 16 bytes, so groups are if the
/// extent of the innermost dim is a multiple of the number of lanes, or the
/// only one.
int64_t Distribution::lanesOf(const Iteration &iteration) {
  linalg::LinalgOp op = iteration.op;
  unsigned inner = op.getNumLoops();
  if (inner-- == 0)
    return 1;
  unsigned widest = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation())
      return 1;
    bool varies = map.isFunctionOfDim(inner);
    if (!varies && op.isDpsInit(&operand))
      return 1;
    if (!varies)
      continue;
    if (!pointers_.contains(operand.get()) ||
        !isVectorElement(type.getElementType()) ||
        map.getResults().back() != builder_.getAffineDimExpr(inner))
      return 1;
    widest = std::max(widest, type.getElementTypeBitWidth());
  }
  if (widest == 0)
    return 1;
  constexpr int64_t vectorBits = 128, mostLanes = 8;
  int64_t lanes = std::min(vectorBits / widest, mostLanes);
  std::optional<int64_t> extent = getConstantIntValue(iteration.sizes[inner]);
  if (extent && *extent % lanes != 0 && iteration.sizes.size() > 1)
    return 1;
  return lanes;
}

/// The address of the element of `operand` at `ivs`.
Value Distribution::addressOf(const Iteration &iteration, OpOperand &operand,
                              ValueRange ivs) {
  linalg::LinalgOp op = iteration.op;
  Value offset;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (offset)
      offset = builder_.createOrFold<arith::AddIOp>(
          loc_, multiply(offset, valueOf(iteration.sizes[dim])), ivs[dim]);
    else
      offset = ivs[dim];
  }
  return elementAddress(operand.get(), offset);
}

/// The address of the element of `buffer`, dense, at number `offset`.
Value Distribution::elementAddress(Value buffer, Value offset) {
  Value pointer = pointers_.lookup(buffer);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value wide = builder_.createOrFold<arith::IndexCastOp>(
      loc_, builder_.getI64Type(), offset);
  return builder_.create<LLVM::GEPOp>(loc_, pointer.getType(), element, pointer,
                                      ArrayRef<LLVM::GEPArg>{wide});
}

/// `count` elements of `type` from `address` on, which is a multiple of their
/// bytes.
Distribution::Values Distribution::loadVector(Type type, int64_t count,
                                              Value address) {
  Value whole = builder_.create<LLVM::LoadOp>(
      loc_, VectorType::get(count, type), address,
      static_cast<unsigned>(count * type.getIntOrFloatBitWidth() / 8));
  Values elements;
  for (int64_t i = 0; i != count; ++i)
    elements.push_back(builder_.create<LLVM::ExtractElementOp>(
        loc_, whole,
        builder_.create<LLVM::ConstantOp>(loc_,
                                          builder_.getI64IntegerAttr(i))));
  return elements;
}

void Distribution::storeVector(ArrayRef<Value> elements, Value address) {
  Type type = elements[0].getType();
  auto count = static_cast<int64_t>(elements.size());
  Value whole =
      builder_.create<LLVM::UndefOp>(loc_, VectorType::get(count, type));
  for (int64_t i = 0; i != count; ++i)
    whole = builder_.create<LLVM::InsertElementOp>(
        loc_, whole, elements[i],
        builder_.create<LLVM::ConstantOp>(loc_, builder_.getI64IntegerAttr(i)));
  builder_.create<LLVM::StoreOp>(
      loc_, whole, address,
      static_cast<unsigned>(count * type.getIntOrFloatBitWidth() / 8));
}

/// One group: all loads, then what is computed, then all stores, so that a
/// result may be the buffer of an operand. `addressOf`: where the group begins
/// in an operand in which it lies side by side, as in all results; null for
/// others, which are read at every element. `indicesOf`: of element i.
void Distribution::emitGroup(linalg::LinalgOp op, int64_t lanes,
                             llvm::function_ref<Value(OpOperand &)> addressOf,
                             llvm::function_ref<Values(int64_t)> indicesOf) {
  SmallVector<Values> ivs, operands;
  for (int64_t lane = 0; lane != lanes; ++lane)
    ivs.push_back(indicesOf(lane));
  for (OpOperand &operand : op->getOpOperands()) {
    Values &elements = operands.emplace_back();
    if (isUnread(operand)) {
      elements.assign(lanes, unreadElement(operand));
    } else if (Value address = addressOf(operand)) {
      auto type = cast<MemRefType>(operand.get().getType());
      elements = loadVector(type.getElementType(), lanes, address);
    } else {
      for (const Values &at : ivs)
        elements.push_back(load(operand, at));
    }
  }
  SmallVector<Values> results(op.getNumDpsInits());
  for (auto [lane, at] : llvm::enumerate(ivs)) {
    Values elements;
    for (const Values &operand : operands)
      elements.push_back(operand[lane]);
    for (auto [list, result] : llvm::zip_equal(results, body(op, at, elements)))
      list.push_back(result);
  }
  for (auto [output, list] : llvm::zip_equal(op.getDpsInitsMutable(), results))
    storeVector(list, addressOf(output));
}

/// Elements that a thread takes at once where only some operands lie as the
/// result does, and are taken as vectors: the others are read one by one, so
/// that the innermost extent may be any. 1: a result lies otherwise.
int64_t Distribution::flatLanesOf(const Iteration &iteration) {
  linalg::LinalgOp op = iteration.op;
  unsigned widest = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (isFlat(operand))
      widest = std::max(
          widest,
          cast<MemRefType>(operand.get().getType()).getElementTypeBitWidth());
    else if (op.isDpsInit(&operand))
      return 1;
  }
  constexpr int64_t vectorBits = 128, mostLanes = 8;
  return widest == 0 ? 1 : std::min(vectorBits / widest, mostLanes);
}

/// Whether the elements of an operand lie as those of the iteration.
bool Distribution::isFlat(OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  return type && op.getMatchingIndexingMap(&operand).isIdentity() &&
         pointers_.contains(operand.get()) &&
         isVectorElement(type.getElementType());
}

/// The next element's variables: a carry goes from the innermost loop outwards.
void Distribution::advance(const Iteration &iteration, Values &ivs) {
  Value one = constant(1), zero = constant(0), carry;
  for (size_t d = ivs.size(); d-- != 0;) {
    if (getConstantIntValue(iteration.sizes[d]) == 1)
      continue;
    Value next = builder_.create<arith::AddIOp>(loc_, ivs[d], one);
    if (carry)
      next = builder_.create<arith::SelectOp>(loc_, carry, next, ivs[d]);
    Value isPast = builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::eq, next, valueOf(iteration.sizes[d]));
    ivs[d] = builder_.create<arith::SelectOp>(loc_, isPast, zero, next);
    carry = isPast;
  }
}

/// All groups, and the few elements behind them.
void Distribution::emitFlat(const Iteration &iteration, int64_t lanes,
                            Value total) {
  Value width = constant(lanes);
  Value count = builder_.createOrFold<arith::DivUIOp>(loc_, total, width);
  loop(workers_.index, count, workers_.count, [&](Value index) {
    Value base = multiply(index, width);
    Values ivs = delinearize(base, iteration.sizes);
    emitGroup(
        iteration.op, lanes,
        [&](OpOperand &operand) {
          return isFlat(operand) ? elementAddress(operand.get(), base)
                                 : Value();
        },
        [&](int64_t lane) {
          if (lane != 0)
            advance(iteration, ivs);
          return ivs;
        });
  });
  emitElements(iteration,
               builder_.createOrFold<arith::AddIOp>(
                   loc_, multiply(count, width), workers_.index),
               total);
}

/// Groups whose elements lie side by side in all operands that vary along the
/// innermost dim: its extent is a multiple of their number, or the only one.
void Distribution::emitVectors(const Iteration &iteration, int64_t lanes,
                               Value total) {
  size_t inner = iteration.sizes.size() - 1;
  Value width = constant(lanes);
  SmallVector<OpFoldResult> sizes(iteration.sizes);
  if (std::optional<int64_t> extent = getConstantIntValue(sizes[inner]))
    sizes[inner] = builder_.getIndexAttr(*extent / lanes);
  else
    sizes[inner] = builder_.createOrFold<arith::DivUIOp>(
        loc_, valueOf(sizes[inner]), width);
  Value count = builder_.createOrFold<arith::DivUIOp>(loc_, total, width);
  loop(workers_.index, count, workers_.count, [&](Value index) {
    Values ivs = delinearize(index, sizes);
    ivs[inner] = multiply(ivs[inner], width);
    linalg::LinalgOp op = iteration.op;
    emitGroup(
        op, lanes,
        [&](OpOperand &operand) {
          bool isVector =
              isa<MemRefType>(operand.get().getType()) &&
              op.getMatchingIndexingMap(&operand).isFunctionOfDim(inner);
          return isVector ? addressOf(iteration, operand, ivs) : Value();
        },
        [&](int64_t lane) {
          Values at(ivs);
          at[inner] = builder_.createOrFold<arith::AddIOp>(loc_, ivs[inner],
                                                           constant(lane));
          return at;
        });
  });
  if (inner == 0)
    emitElements(iteration,
                 builder_.createOrFold<arith::AddIOp>(
                     loc_, multiply(count, width), workers_.index),
                 total);
}

/// Several dims, whose extents only the launch knows: what is divided is of 32
/// bits where it fits, as divisions of 64 bits would take longer than all else.
void Distribution::emitDynamic(const Iteration &iteration, int64_t lanes,
                               int64_t flat, Value total) {
  OpBuilder::InsertionGuard guard(builder_);
  auto choose = [&](Value condition) {
    auto branch = builder_.create<scf::IfOp>(loc_, condition,
                                             /*withElseRegion=*/true);
    builder_.setInsertionPointToStart(branch.thenBlock());
    return branch;
  };
  auto fits = choose(builder_.create<arith::CmpIOp>(
      loc_, arith::CmpIPredicate::ule, total, constant(INT32_MAX)));
  isNarrow_ = true;
  if (lanes > 1) {
    Value rest = builder_.create<arith::RemUIOp>(
        loc_, valueOf(iteration.sizes.back()), constant(lanes));
    auto isWhole = choose(builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::eq, rest, constant(0)));
    emitVectors(iteration, lanes, total);
    builder_.setInsertionPointToStart(isWhole.elseBlock());
  }
  if (flat > 1)
    emitFlat(iteration, flat, total);
  else
    emitElements(iteration, workers_.index, total);
  isNarrow_ = false;
  builder_.setInsertionPointToStart(fits.elseBlock());
  emitElements(iteration, workers_.index, total);
}
