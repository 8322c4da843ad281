//===- ParallelLoops.cpp - Loops that threads may share -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace soap;
using native::LoopAccess;
using native::LoopPlan;
using native::ParallelLoop;
using native::ParallelOp;

bool native::isRepeated(Operation *op) {
  return isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::SubViewOp>(op) ||
         (op->getNumOperands() == 0 && op->getNumRegions() == 0 &&
          isMemoryEffectFree(op));
}

llvm::SetVector<Value> native::usedValues(Operation *op) {
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(op->getRegions(), values);
  values.insert(op->operand_begin(), op->operand_end());
  return values;
}

/// Whether `value` is memory of its own, of a size that is known.
static bool isRoot(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrFloat())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return kernel &&
           kernel.getArgAttr(argument.getArgNumber(), native::noaliasAttr);
  }
  return isa<memref::AllocOp, memref::AllocaOp>(value.getDefiningOp());
}

/// Whether a function can be given `value`, or can make it again.
static bool isAvailable(Value value) {
  if (Operation *op = value.getDefiningOp(); op && native::isRepeated(op))
    return llvm::all_of(op->getOperands(), isAvailable);
  return value.getType().isIndex() || value.getType().isIntOrFloat() ||
         isRoot(value);
}

static Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// Whether `buffer` is a whole root, perhaps in another shape.
static bool isReshapedRoot(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (!isa<memref::CollapseShapeOp, memref::ExpandShapeOp>(op))
      break;
    buffer = op->getOperand(0);
  }
  return isRoot(buffer);
}

/// The access of an operation to an operand while the loop of `dim` runs.
static LoopAccess accessOf(OpOperand &operand, AffineMap map, unsigned dim,
                           bool writes) {
  LoopAccess access;
  Value buffer = operand.get();
  access.root = rootOf(buffer);
  access.writes = writes;
  std::optional<unsigned> position =
      map.getResultPosition(getAffineDimExpr(dim, map.getContext()));
  if (!position)
    return access;
  access.isSplit = true;
  if (!isReshapedRoot(buffer)) {
    access.view = buffer;
    access.outer = *position;
    return access;
  }
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
  access.outer = ShapedType::getNumElements(shape.take_front(*position));
  access.inner = ShapedType::getNumElements(shape.drop_front(*position + 1));
  return access;
}

/// Whether iterations of two loops that run equally often may touch memory in
/// these ways, if threads have different iterations.
static bool areCompatible(const LoopAccess &a, const LoopAccess &b) {
  if (a.root != b.root || (!a.writes && !b.writes) ||
      SOAP_FAULT("parts-depend"))
    return true;
  return a.isSplit && b.isSplit && a.view == b.view && a.outer == b.outer &&
         a.inner == b.inner;
}

static bool areCompatible(ArrayRef<LoopAccess> accesses,
                          ArrayRef<LoopAccess> others) {
  return llvm::all_of(accesses, [&](const LoopAccess &access) {
    return llvm::all_of(others, [&](const LoopAccess &other) {
      return areCompatible(access, other);
    });
  });
}

/// What an operation of a loop's body takes, beside a simple one.
static int64_t workOf(Operation &op) {
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp, math::SqrtOp, math::RsqrtOp, memref::LoadOp>(op))
    return 4;
  if (isa_and_nonnull<math::MathDialect>(op.getDialect()) &&
      !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
           math::CeilOp>(op))
    return 16;
  return 1;
}

int64_t native::workOfCopy(MemRefType type) {
  return 2 * type.getNumElements();
}

std::optional<ParallelOp> ParallelOp::find(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(sizes) || llvm::is_contained(sizes, 0))
    return std::nullopt;

  if (!llvm::all_of(usedValues(op), isAvailable))
    return std::nullopt;

  ParallelOp result;
  result.op = op;
  result.work = op->getNumOperands();
  SmallVector<LoopAccess> loads;
  for (Operation &inner : *op.getBlock()) {
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      LoopAccess &access = loads.emplace_back();
      access.root = rootOf(load.getMemRef());
    } else if (!isMemoryEffectFree(&inner)) {
      return std::nullopt;
    }
    result.work += workOf(inner);
  }
  result.work *= ShapedType::getNumElements(sizes);

  // Loops of one iteration are none.
  unsigned innermost = 0;
  for (unsigned dim = 0; dim != sizes.size(); ++dim)
    if (sizes[dim] != 1)
      innermost = dim;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned dim = 0; dim != sizes.size(); ++dim) {
    if (sizes[dim] == 1 || iterators[dim] != utils::IteratorType::parallel)
      continue;
    ParallelLoop loop;
    loop.dim = dim;
    loop.size = sizes[dim];
    loop.isInnermost = dim == innermost;
    loop.accesses = loads;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()))
        loop.accesses.push_back(accessOf(operand,
                                         op.getMatchingIndexingMap(&operand),
                                         dim, op.isDpsInit(&operand)));
    if (areCompatible(loop.accesses, loop.accesses))
      result.loops.push_back(std::move(loop));
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

/// How an operation touches buffers in pieces of `grain` iterations.
static SmallVector<LoopAccess> accessesOf(const ParallelLoop &loop,
                                          int64_t grain) {
  SmallVector<LoopAccess> accesses = loop.accesses;
  for (LoopAccess &access : accesses)
    access.inner *= grain;
  return accesses;
}

/// The plan with `base` as the loop of one of the operations.
static std::optional<LoopPlan> planWith(const ParallelLoop &base,
                                        ArrayRef<ParallelOp> ops) {
  LoopPlan plan;
  plan.pieces = base.pieces();
  SmallVector<LoopAccess> accesses;
  for (const ParallelOp &op : ops) {
    size_t known = plan.loops.size();
    for (const ParallelLoop &loop : op.loops) {
      int64_t iterations = loop.size * base.grain();
      if (iterations % base.size != 0)
        continue;
      int64_t grain = iterations / base.size;
      SmallVector<LoopAccess> own = accessesOf(loop, grain);
      if (!areCompatible(own, accesses))
        continue;
      plan.loops.push_back({loop.dim, loop.size, grain});
      llvm::append_range(accesses, own);
      break;
    }
    if (plan.loops.size() == known)
      return std::nullopt;
  }
  return plan;
}

std::optional<LoopPlan> native::planLoops(ArrayRef<ParallelOp> ops,
                                          int64_t leastWork) {
  int64_t pieces = 1;
  for (const ParallelOp &op : ops)
    if (op.work >= leastWork)
      pieces =
          std::max(pieces, std::min(op.loops.front().pieces(), enoughPieces));
  SmallVector<const ParallelOp *> bases = llvm::to_vector(
      llvm::map_range(ops, [](const ParallelOp &op) { return &op; }));
  llvm::stable_sort(bases, [](const ParallelOp *a, const ParallelOp *b) {
    return a->work > b->work;
  });
  for (const ParallelOp *op : bases)
    for (const ParallelLoop &base : op->loops)
      if (base.pieces() >= pieces)
        if (std::optional<LoopPlan> plan = planWith(base, ops))
          return plan;
  return std::nullopt;
}
