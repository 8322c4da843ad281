//===- LoopNests.cpp - Loops whose iterations are independent -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToKernels/LoopNests.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Testing/PlantedFault.h"

using namespace mlir;
using namespace soap;
using native::LoopAccess;
using native::LoopNest;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

bool native::isRepeated(Operation *op) {
  return isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::SubViewOp>(op) ||
         (op->getNumOperands() == 0 && op->getNumRegions() == 0 &&
          isMemoryEffectFree(op));
}

/// Whether `value` is memory of its own, of a size that is known.
static bool isRoot(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrIndexOrFloat())
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
  return value.getType().isIntOrIndexOrFloat() || isRoot(value);
}

Value native::bufferOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
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

/// The dimension of the source that dimension `position` of a view is, if both
/// count alike there.
static std::optional<unsigned> sourceDim(memref::SubViewOp view,
                                         unsigned position) {
  llvm::SmallBitVector dropped = view.getDroppedDims();
  for (unsigned dim = 0, kept = 0; dim != dropped.size(); ++dim) {
    if (dropped.test(dim))
      continue;
    if (kept++ != position)
      continue;
    if (getConstantIntValue(view.getMixedOffsets()[dim]) != 0 ||
        getConstantIntValue(view.getMixedStrides()[dim]) != 1)
      return std::nullopt;
    return dim;
  }
  return std::nullopt;
}

/// Says of `access` that its iterations touch different indices of dimension
/// `position` of `buffer`. `views`: whether that may be a dimension of a view,
/// which is the same one at all accesses to it.
static void split(LoopAccess &access, Value buffer, unsigned position,
                  bool views) {
  Value whole = buffer;
  std::optional<unsigned> dim = position;
  while (!isReshapedRoot(whole)) {
    auto view = whole.getDefiningOp<memref::SubViewOp>();
    dim = view ? sourceDim(view, *dim) : std::nullopt;
    if (!dim)
      break;
    whole = view.getSource();
  }
  if (!dim) {
    if (!views)
      return;
    access.view = buffer;
    access.outer = position;
  } else {
    ArrayRef<int64_t> shape = cast<MemRefType>(whole.getType()).getShape();
    access.outer = ShapedType::getNumElements(shape.take_front(*dim));
    access.inner = ShapedType::getNumElements(shape.drop_front(*dim + 1));
  }
  access.isSplit = true;
}

static bool isCompatible(const LoopAccess &a, const LoopAccess &b) {
  if (a.root != b.root || (!a.writes && !b.writes) ||
      SOAP_FAULT("parts-depend"))
    return true;
  return a.isSplit && b.isSplit && a.view == b.view && a.outer == b.outer &&
         a.inner == b.inner;
}

bool native::areCompatible(ArrayRef<LoopAccess> accesses,
                           ArrayRef<LoopAccess> others) {
  return llvm::all_of(accesses, [&](const LoopAccess &access) {
    return llvm::all_of(others, [&](const LoopAccess &other) {
      return isCompatible(access, other);
    });
  });
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// How often a loop runs that counts by ones from 0 on and hands nothing on;
/// none for another one.
static std::optional<int64_t> extentOf(scf::ForOp loop) {
  if (loop.getNumResults() != 0 ||
      getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return std::nullopt;
  std::optional<int64_t> extent = getConstantIntValue(loop.getUpperBound());
  return extent && *extent > 0 ? extent : std::nullopt;
}

/// Whether an operation of a body, without a loop of its own, is a load or
/// store, or touches no memory, and so do all in its regions.
static bool isSimple(Operation &op) {
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return true;
  if (isa<scf::IfOp, scf::ForOp>(op))
    return llvm::all_of(op.getRegions(), [](Region &region) {
      return llvm::all_of(
          region, [](Block &block) { return llvm::all_of(block, isSimple); });
    });
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op);
}

/// The operation on buffers of static shape that has loops, or null.
static linalg::LinalgOp computationOf(Operation *op) {
  auto computation = dyn_cast<linalg::LinalgOp>(op);
  if (!computation || !computation.hasPureBufferSemantics())
    return {};
  SmallVector<int64_t> sizes = computation.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(sizes) || llvm::is_contained(sizes, 0))
    return {};
  for (Operation &inner : *computation.getBlock())
    if (!isa<memref::LoadOp>(inner) && !isMemoryEffectFree(&inner))
      return {};
  return computation;
}

bool LoopNest::addForLoops(scf::ForOp outermost) {
  for (scf::ForOp loop = outermost; loop;) {
    std::optional<int64_t> extent = extentOf(loop);
    if (!extent)
      return false;
    forLoops_.push_back(loop);
    sizes_.push_back(*extent);
    // The next loop is all that the body does, but for what leads to it.
    scf::ForOp next;
    unsigned others = 0;
    for (Operation &inner : loop.getBody()->without_terminator()) {
      if (auto found = dyn_cast<scf::ForOp>(inner); found && extentOf(found))
        next = found;
      if (inner.getNumRegions() != 0)
        ++others;
    }
    loop = others == 1 ? next : scf::ForOp();
  }
  for (auto [number, loop] : llvm::enumerate(forLoops_)) {
    bool isInnermost = number + 1 == forLoops_.size();
    for (Operation &inner : loop.getBody()->without_terminator()) {
      if (!isInnermost && &inner == forLoops_[number + 1])
        continue;
      if (isSimple(inner))
        continue;
      linalg::LinalgOp found = isInnermost ? computationOf(&inner) : nullptr;
      if (!found || computation_)
        return false;
      computation_ = found;
    }
  }
  return true;
}

std::optional<LoopNest> LoopNest::find(Operation *op) {
  LoopNest nest;
  nest.op_ = op;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (!nest.addForLoops(loop))
      return std::nullopt;
  } else {
    nest.computation_ = computationOf(op);
    if (!nest.computation_)
      return std::nullopt;
  }
  if (nest.computation_)
    llvm::append_range(nest.sizes_, nest.computation_.getStaticLoopRanges());
  if (!llvm::all_of(nest.usedValues(), isAvailable))
    return std::nullopt;
  // Which buffer is touched must not depend on the loops. Constants are read.
  if (!llvm::all_of(nest.accessesOf(0), [](const LoopAccess &access) {
        return isRoot(access.root) ||
               (!access.writes &&
                access.root.getDefiningOp<memref::GetGlobalOp>());
      }))
    return std::nullopt;
  if (nest.forLoops_.empty() || !nest.computation_)
    return nest;
  for (auto [dim, kind] :
       llvm::enumerate(nest.computation_.getIteratorTypesArray())) {
    unsigned loop = nest.forLoops_.size() + dim;
    if (kind == utils::IteratorType::parallel && nest.sizes_[loop] != 1 &&
        !nest.isIndependent(loop))
      return std::nullopt;
  }
  return nest;
}

llvm::SetVector<Value> LoopNest::usedValues() const {
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(op_->getRegions(), values);
  values.insert(op_->operand_begin(), op_->operand_end());
  return values;
}

SmallVector<LoopAccess> LoopNest::accessesOf(unsigned loop) const {
  Value iv;
  if (loop < forLoops_.size())
    iv = scf::ForOp(forLoops_[loop]).getInductionVar();
  SmallVector<LoopAccess> accesses;
  auto add = [&](Value buffer, bool writes) -> LoopAccess & {
    LoopAccess &access = accesses.emplace_back();
    access.root = bufferOf(buffer);
    access.writes = writes;
    return access;
  };
  // A view that a loop makes is another one in every iteration.
  bool views = forLoops_.empty();
  auto addElement = [&](Value buffer, ValueRange indices, bool writes) {
    LoopAccess &access = add(buffer, writes);
    auto found = llvm::find(indices, iv);
    if (iv && found != indices.end())
      split(access, buffer, found - indices.begin(), views);
  };
  op_->walk([&](Operation *inner) {
    if (auto load = dyn_cast<memref::LoadOp>(inner))
      addElement(load.getMemRef(), load.getIndices(), /*writes=*/false);
    else if (auto store = dyn_cast<memref::StoreOp>(inner))
      addElement(store.getMemRef(), store.getIndices(), /*writes=*/true);
  });
  if (!computation_)
    return accesses;
  for (OpOperand &operand : computation_->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    LoopAccess &access = add(operand.get(), computation_.isDpsInit(&operand));
    if (iv)
      continue;
    AffineMap map = computation_.getMatchingIndexingMap(&operand);
    std::optional<unsigned> position = map.getResultPosition(
        getAffineDimExpr(loop - forLoops_.size(), map.getContext()));
    if (position)
      split(access, operand.get(), *position, views);
  }
  return accesses;
}

bool LoopNest::isIndependent(unsigned loop) const {
  if (loop >= forLoops_.size() &&
      computation_.getIteratorTypesArray()[loop - forLoops_.size()] !=
          utils::IteratorType::parallel)
    return false;
  SmallVector<LoopAccess> accesses = accessesOf(loop);
  return areCompatible(accesses, accesses);
}
