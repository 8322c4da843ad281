//===- Reductions.cpp - linalg operations that reduce ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "Iteration.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Target/CUDA/Passes.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

//===----------------------------------------------------------------------===//
// A thread per result
//===----------------------------------------------------------------------===//

/// The loops that reduce, from number `depth` on, in order; returns what they
/// make of `partial`. If there is none, partial results go through memory.
Distribution::Values Distribution::reduceSerially(const Iteration &iteration,
                                                  Values ivs, size_t depth,
                                                  ValueRange partial) {
  linalg::LinalgOp op = iteration.op;
  if (depth == iteration.reduced.size()) {
    Values elements = inputs(op, ivs);
    Values before =
        partial.empty() ? outputs(op, ivs, /*initial=*/{}) : Values(partial);
    llvm::append_range(elements, before);
    Values results = body(op, ivs, elements);
    if (!partial.empty())
      return results;
    for (auto [output, result] :
         llvm::zip_equal(op.getDpsInitsMutable(), results))
      store(output, ivs, result);
    return {};
  }
  unsigned dim = iteration.reduced[depth];
  auto made = builder_.create<scf::ForOp>(
      loc_, constant(0), valueOf(iteration.sizes[dim]), constant(1), partial);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(made.getBody());
  ivs[dim] = made.getInductionVar();
  Values results = reduceSerially(iteration, std::move(ivs), depth + 1,
                                  made.getRegionIterArgs());
  if (!partial.empty())
    builder_.create<scf::YieldOp>(loc_, results);
  return Values(made.getResults());
}

WorkSize Distribution::emitThreadPerResult(const Iteration &iteration,
                                           Value initial) {
  linalg::LinalgOp op = iteration.op;
  bool inMemory = llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &output) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    return llvm::any_of(iteration.reduced,
                        [&](unsigned dim) { return map.isFunctionOfDim(dim); });
  });
  SmallVector<OpFoldResult> sizes = iteration.sizesOf(iteration.parallel);
  loop(workers_.index, product(sizes), workers_.count, [&](Value index) {
    Values ivs(iteration.sizes.size());
    for (auto [dim, iv] :
         llvm::zip_equal(iteration.parallel, delinearize(index, sizes)))
      ivs[dim] = iv;
    for (unsigned dim : iteration.reduced)
      ivs[dim] = constant(0);
    Values before = inMemory ? Values() : outputs(op, ivs, initial);
    Values results = reduceSerially(iteration, ivs, 0, before);
    if (inMemory)
      return;
    for (auto [output, result] :
         llvm::zip_equal(op.getDpsInitsMutable(), results))
      store(output, ivs, result);
  });
  WorkSize work;
  if (std::optional<int64_t> total = staticProduct(sizes))
    work.blocks = std::max<int64_t>(
        1, llvm::divideCeil(static_cast<uint64_t>(*total), threadsPerBlock));
  else
    work.itemsPerBlock = threadsPerBlock;
  return work;
}

//===----------------------------------------------------------------------===//
// A block per result
//===----------------------------------------------------------------------===//

Operation *cuda::combinerOf(linalg::LinalgOp op, unsigned index) {
  SmallVector<Operation *, 4> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), index, combiners) ||
      combiners.size() != 1 || !arith::getNeutralElement(combiners[0]))
    return nullptr;
  return combiners[0];
}

/// A block pays where a thread alone would take long, and where the threads of
/// a block read neighbouring elements: those of the innermost loop of the first
/// operand that varies with it.
bool Distribution::canReduceInBlock(const Iteration &iteration) {
  constexpr int64_t leastPerBlock = 64, leastResults = 16384;
  linalg::LinalgOp op = iteration.op;
  std::optional<int64_t> reduced =
      staticProduct(iteration.sizesOf(iteration.reduced));
  std::optional<int64_t> results =
      staticProduct(iteration.sizesOf(iteration.parallel));
  if (!reduced || !results || *reduced < leastPerBlock)
    return false;
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
    if (!combinerOf(op, i) ||
        llvm::any_of(iteration.reduced,
                     [&](unsigned dim) { return map.isFunctionOfDim(dim); }))
      return false;
  }
  if (*results < leastResults)
    return true;
  unsigned inner = iteration.reduced.back();
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return map.getNumResults() != 0 &&
           map.getResults().back().isFunctionOfDim(inner);
  });
}

Value Distribution::combine(Operation *combiner, Value a, Value b) {
  Operation *copy = builder_.clone(*combiner);
  copy->setOperands({a, b});
  return copy->getResult(0);
}

/// A buffer in the shared memory of the block.
Value Distribution::sharedBuffer(int64_t elements, Type element) {
  auto type = MemRefType::get({elements}, element, MemRefLayoutAttrInterface(),
                              builder_.getI64IntegerAttr(sharedMemorySpace));
  std::string name = (name_ + "_shared_" + Twine(shared_++)).str();
  {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(&module_->getRegion(0).front());
    builder_.create<memref::GlobalOp>(
        loc_, name, builder_.getStringAttr("private"), type,
        builder_.getUnitAttr(), /*constant=*/false, IntegerAttr());
  }
  return builder_.create<memref::GetGlobalOp>(loc_, type, name);
}

/// Joins what the threads of the block have; the result is right in the first
/// thread. Halves of the block are joined until one is left.
Value Distribution::reduceInBlock(Operation *combiner, Value partial) {
  Value shared = sharedBuffer(threadsPerBlock, partial.getType());
  builder_.create<memref::StoreOp>(loc_, partial, shared, workers_.thread);
  builder_.create<gpu::BarrierOp>(loc_);
  for (int64_t half = threadsPerBlock / 2; half != 0; half /= 2) {
    Value works = builder_.create<arith::CmpIOp>(
        loc_, arith::CmpIPredicate::ult, workers_.thread, constant(half));
    auto branch = builder_.create<scf::IfOp>(loc_, works, false);
    {
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(branch.thenBlock());
      Value other =
          builder_.create<arith::AddIOp>(loc_, workers_.thread, constant(half));
      Value joined = combine(
          combiner,
          builder_.create<memref::LoadOp>(loc_, shared, workers_.thread),
          builder_.create<memref::LoadOp>(loc_, shared, other));
      builder_.create<memref::StoreOp>(loc_, joined, shared, workers_.thread);
    }
    builder_.create<gpu::BarrierOp>(loc_);
  }
  Value result = builder_.create<memref::LoadOp>(loc_, shared, constant(0));
  // Before the next result is joined in the same place.
  builder_.create<gpu::BarrierOp>(loc_);
  return result;
}

WorkSize Distribution::emitBlockPerResult(const Iteration &iteration,
                                          Value initial) {
  linalg::LinalgOp op = iteration.op;
  SmallVector<Operation *> combiners;
  for (unsigned i = 0, count = op.getNumDpsInits(); i != count; ++i)
    combiners.push_back(combinerOf(op, i));
  SmallVector<OpFoldResult> results = iteration.sizesOf(iteration.parallel);
  SmallVector<OpFoldResult> reduced = iteration.sizesOf(iteration.reduced);
  Value first = builder_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq,
                                               workers_.thread, constant(0));
  loop(workers_.block, product(results), workers_.blocks, [&](Value index) {
    Values ivs(iteration.sizes.size());
    for (auto [dim, iv] :
         llvm::zip_equal(iteration.parallel, delinearize(index, results)))
      ivs[dim] = iv;
    Values partial;
    for (Operation *combiner : combiners)
      partial.push_back(builder_.create<arith::ConstantOp>(
          loc_, *arith::getNeutralElement(combiner)));
    auto made =
        builder_.create<scf::ForOp>(loc_, workers_.thread, product(reduced),
                                    constant(threadsPerBlock), partial);
    {
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(made.getBody());
      for (auto [dim, iv] : llvm::zip_equal(
               iteration.reduced, delinearize(made.getInductionVar(), reduced)))
        ivs[dim] = iv;
      Values elements = inputs(op, ivs);
      llvm::append_range(elements, made.getRegionIterArgs());
      builder_.create<scf::YieldOp>(loc_, body(op, ivs, elements));
    }
    for (unsigned dim : iteration.reduced)
      ivs[dim] = constant(0);
    Values sums;
    for (auto [combiner, value] : llvm::zip_equal(combiners, made.getResults()))
      sums.push_back(reduceInBlock(combiner, value));
    auto branch = builder_.create<scf::IfOp>(loc_, first, false);
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(branch.thenBlock());
    Values before = outputs(op, ivs, initial);
    for (auto [output, combiner, old, sum] :
         llvm::zip_equal(op.getDpsInitsMutable(), combiners, before, sums))
      store(output, ivs, combine(combiner, old, sum));
  });
  WorkSize work;
  work.blocks = std::max<int64_t>(1, *staticProduct(results));
  return work;
}
