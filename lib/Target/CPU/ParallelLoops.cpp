//===- ParallelLoops.cpp - Loops that threads may share -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace soap;
using native::LoopAccess;
using native::LoopNest;
using native::LoopPlan;
using native::ParallelLoop;
using native::ParallelNest;

int64_t native::workOfCopy(MemRefType type) {
  return 2 * type.getNumElements();
}

static int64_t workOf(Operation &op);

static int64_t workOf(Block &block) {
  int64_t work = 0;
  for (Operation &op : block)
    work += workOf(op);
  return work;
}

/// What an operation of a loop's body takes, beside a simple one. What branches
/// do counts as done, and a loop of an unknown extent as run a few times.
static int64_t workOf(Operation &op) {
  if (auto computation = dyn_cast<linalg::LinalgOp>(op))
    return (computation->getNumOperands() + workOf(*computation.getBlock())) *
           ShapedType::getNumElements(computation.getStaticLoopRanges());
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    constexpr int64_t fewTrips = 16;
    std::optional<int64_t> trips = constantTripCount(
        loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    return workOf(*loop.getBody()) * trips.value_or(fewTrips);
  }
  if (op.getNumRegions() != 0) {
    int64_t work = 0;
    for (Region &region : op.getRegions())
      for (Block &block : region)
        work += workOf(block);
    return work;
  }
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp, math::SqrtOp, math::RsqrtOp, memref::LoadOp>(op))
    return 4;
  if (isa_and_nonnull<math::MathDialect>(op.getDialect()) &&
      !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
           math::CeilOp>(op))
    return 16;
  return 1;
}

/// Whether iterations of a loop that follow one another write elements that do.
static bool isInnermost(const LoopNest &nest, unsigned loop,
                        ArrayRef<LoopAccess> accesses) {
  if (loop < nest.forLoops().size())
    return llvm::any_of(accesses, [](const LoopAccess &access) {
      return access.writes && access.inner == 1;
    });
  // Loops of one iteration are none.
  return llvm::all_of(nest.sizes().drop_front(loop + 1),
                      [](int64_t size) { return size == 1; });
}

std::optional<ParallelNest> ParallelNest::find(Operation *op) {
  std::optional<LoopNest> nest = LoopNest::find(op);
  if (!nest)
    return std::nullopt;
  ParallelNest result{*nest, workOf(*op), {}};
  for (unsigned number = 0; number != nest->numLoops(); ++number) {
    int64_t size = nest->sizes()[number];
    if (size == 1 || !nest->isIndependent(number))
      continue;
    ParallelLoop &loop = result.loops.emplace_back();
    loop.number = number;
    loop.size = size;
    loop.accesses = nest->accessesOf(number);
    loop.isInnermost = isInnermost(*nest, number, loop.accesses);
  }
  if (result.loops.empty())
    return std::nullopt;
  llvm::stable_sort(result.loops,
                    [](const ParallelLoop &a, const ParallelLoop &b) {
                      return std::min(a.pieces(), enoughPieces) >
                             std::min(b.pieces(), enoughPieces);
                    });
  return result;
}

/// How a nest touches buffers in pieces of `grain` iterations.
static SmallVector<LoopAccess> accessesOf(const ParallelLoop &loop,
                                          int64_t grain) {
  SmallVector<LoopAccess> accesses = loop.accesses;
  for (LoopAccess &access : accesses)
    access.inner *= grain;
  return accesses;
}

/// The plan with `base` as the loop of one of the nests.
static std::optional<LoopPlan> planWith(const ParallelLoop &base,
                                        ArrayRef<ParallelNest> nests) {
  LoopPlan plan;
  plan.pieces = base.pieces();
  // All have to agree with that loop, so that its nest takes it, too.
  SmallVector<LoopAccess> accesses = accessesOf(base, base.grain());
  for (const ParallelNest &nest : nests) {
    size_t known = plan.loops.size();
    for (const ParallelLoop &loop : nest.loops) {
      int64_t iterations = loop.size * base.grain();
      if (iterations % base.size != 0)
        continue;
      int64_t grain = iterations / base.size;
      SmallVector<LoopAccess> own = accessesOf(loop, grain);
      if (!areCompatible(own, accesses))
        continue;
      plan.loops.push_back({loop.number, loop.size, grain});
      llvm::append_range(accesses, own);
      break;
    }
    if (plan.loops.size() == known)
      return std::nullopt;
  }
  return plan;
}

std::optional<LoopPlan> native::planLoops(ArrayRef<ParallelNest> nests,
                                          int64_t leastWork) {
  int64_t pieces = 1;
  for (const ParallelNest &nest : nests)
    if (nest.work >= leastWork)
      pieces =
          std::max(pieces, std::min(nest.loops.front().pieces(), enoughPieces));
  SmallVector<const ParallelNest *> bases = llvm::to_vector(
      llvm::map_range(nests, [](const ParallelNest &nest) { return &nest; }));
  llvm::stable_sort(bases, [](const ParallelNest *a, const ParallelNest *b) {
    return a->work > b->work;
  });
  for (const ParallelNest *nest : bases)
    for (const ParallelLoop &base : nest->loops)
      if (base.pieces() >= pieces)
        if (std::optional<LoopPlan> plan = planWith(base, nests))
          return plan;
  return std::nullopt;
}
