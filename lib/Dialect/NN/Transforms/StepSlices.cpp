//===- StepSlices.cpp - Slices along the steps of a sequence ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSlices.h"

using namespace mlir;
using namespace soap::nn;
using soap::Box;
using soap::DimAccess;

std::string soap::nn::stepSuffix(soap::Range steps) {
  std::string suffix = ".step" + std::to_string(steps.lo);
  if (steps.size() > 1)
    suffix += "-" + std::to_string(steps.hi - 1);
  return suffix;
}

bool soap::nn::isPlain(Operation *op) {
  return llvm::all_of(op->getDiscardableAttrs(), [](NamedAttribute attribute) {
    return attribute.getName() == "nn.name";
  });
}

//===----------------------------------------------------------------------===//
// New operations
//===----------------------------------------------------------------------===//

/// True if both compute the same, whatever they are called.
static bool areEqual(Operation *a, Operation *b) {
  return a->getName() == b->getName() && a->getOperands() == b->getOperands() &&
         a->getResultTypes() == b->getResultTypes() &&
         a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage());
}

Operation *StepSlices::unify(Operation *op) {
  Value operand = op->getOperand(0);
  for (Operation *other : operand.getUsers()) {
    if (other == op || !made_.contains(other) || !areEqual(other, op))
      continue;
    // It has to stand before everything that may read it now.
    if (op->isBeforeInBlock(other))
      other->moveBefore(op);
    op->replaceAllUsesWith(other);
    names_.release(getName(op));
    made_.erase(op);
    parts_.erase(op);
    if (layerReads_.erase(op))
      layerReads_.insert(other);
    op->erase();
    return other;
  }
  return op;
}

Value StepSlices::createSlice(OpBuilder &builder, Value value,
                              ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                              RankedTensorType type, StringRef name) {
  // The step means nothing where there is only one element.
  SmallVector<int64_t> normal(steps);
  for (auto [step, size] : llvm::zip_equal(normal, type.getShape()))
    if (size == 1)
      step = 1;
  if (type == value.getType() &&
      llvm::all_of(normal, [](int64_t step) { return step == 1; }))
    return value;
  return unify(create<SliceOp>(builder, value.getLoc(), name, type, value,
                               starts, normal))
      ->getResult(0);
}

Value StepSlices::slice(OpBuilder &builder, Value value, const Box &box,
                        const Twine &name) {
  SmallVector<int64_t> starts;
  for (soap::Range range : box)
    starts.push_back(range.lo);
  return createSlice(builder, value, starts,
                     SmallVector<int64_t>(box.size(), 1),
                     localType(value.getType(), box), name.str());
}

Value StepSlices::stepsFor(OpBuilder &builder, Value value, soap::Range steps,
                           const Twine &name) {
  Box box = soap::wholeBox(tensorTypeOf(value).getShape());
  box[0] = steps;
  Value read = slice(builder, value, box, name);
  if (read != value)
    layerReads_.insert(read.getDefiningOp());
  return read;
}

Value StepSlices::reshape(OpBuilder &builder, Value value,
                          ArrayRef<int64_t> shape, const Twine &name) {
  return unify(create<ReshapeOp>(builder, value.getLoc(), name,
                                 tensorTypeOf(value).clone(shape), value))
      ->getResult(0);
}

void StepSlices::replaceBySlice(OpBuilder &builder, SliceOp slice, Value value,
                                ArrayRef<int64_t> starts,
                                ArrayRef<int64_t> steps) {
  std::string name = getName(slice).str();
  names_.release(name);
  Value moved = createSlice(builder, value, starts, steps,
                            tensorTypeOf(slice.getResult()), name);
  if (layerReads_.contains(slice) && moved != value)
    layerReads_.insert(moved.getDefiningOp());
  slice.getResult().replaceAllUsesWith(moved);
  made_.erase(slice);
  layerReads_.erase(slice);
  slice.erase();
}

//===----------------------------------------------------------------------===//
// Slices of slices and concatenations
//===----------------------------------------------------------------------===//

void StepSlices::moveUp(SliceOp slice, SliceOp inner) {
  SmallVector<int64_t> starts, steps;
  for (auto [start, step, innerStart, innerStep, size] : llvm::zip_equal(
           slice.getStarts(), slice.getSteps(), inner.getStarts(),
           inner.getSteps(), tensorTypeOf(slice.getResult()).getShape())) {
    starts.push_back(innerStart + start * innerStep);
    steps.push_back(size == 1 ? 1 : step * innerStep);
  }
  slice.getXMutable().assign(inner.getX());
  slice.setStarts(starts);
  slice.setSteps(steps);
}

void StepSlices::moveUp(SliceOp slice, ConcatOp concat) {
  size_t axis = concat.getAxis();
  int64_t first = slice.getStarts()[axis];
  int64_t last =
      first + (tensorTypeOf(slice.getResult()).getDimSize(axis) - 1) *
                  slice.getSteps()[axis];
  int64_t offset = 0;
  for (Value operand : concat.getInputs()) {
    int64_t end = offset + tensorTypeOf(operand).getDimSize(axis);
    if (offset <= std::min(first, last) && std::max(first, last) < end) {
      SmallVector<int64_t> starts(slice.getStarts());
      starts[axis] -= offset;
      OpBuilder builder(slice);
      builder.setInsertionPointAfterValue(operand);
      replaceBySlice(builder, slice, operand, starts, slice.getSteps());
      return;
    }
    offset = end;
  }
}

/// Equal operations on what turned out to be the same part become one. What
/// reads a part may be on another device, and there it waits for all that
/// stands before the part: parts stand right behind what they read.
void StepSlices::settle() {
  SmallVector<Operation *> all;
  for (Operation &op : function_.front())
    if (made_.contains(&op) && op.getNumOperands() == 1)
      all.push_back(&op);
  for (Operation *op : all)
    unify(op);
  SmallVector<Operation *> inOrder;
  for (Operation &op : function_.front())
    if (parts_.contains(&op))
      inOrder.push_back(&op);
  llvm::DenseMap<Operation *, Operation *> lastBehind;
  for (Operation *part : inOrder) {
    Operation *latest = nullptr;
    for (Value operand : part->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        if (!latest || latest->isBeforeInBlock(definition))
          latest = definition;
    if (!latest)
      continue;
    Operation *&last = lastBehind.try_emplace(latest, latest).first->second;
    part->moveAfter(last);
    last = part;
  }
}

//===----------------------------------------------------------------------===//
// The whole graph
//===----------------------------------------------------------------------===//

unsigned StepSlices::moveUp() {
  // What is computed from layers in parts, in block order.
  SmallVector<Operation *> behind;
  for (Operation &op : function_.front()) {
    std::optional<unsigned> dim = stepDimOf(&op);
    if (dim)
      stepDims_[op.getResult(0)] = *dim;
    if (dim || made_.contains(&op))
      behind.push_back(&op);
  }
  unsigned numCut = 0;
  // Readers are visited first, so that a slice moves up through all that stands
  // before it.
  for (Operation *op : llvm::reverse(behind)) {
    if (op->getNumResults() != 1 || !isPlain(op))
      continue;
    auto found = stepDims_.find(op->getResult(0));
    bool hasSteps = found != stepDims_.end();
    unsigned dim = hasSteps ? found->second : 0;
    auto concat = dyn_cast<ConcatOp>(op);
    auto inner = dyn_cast<SliceOp>(op);
    bool divides =
        concat && (made_.contains(op) || (hasSteps && concat.getAxis() == dim));
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || !isPlain(slice))
        continue;
      if (inner)
        moveUp(slice, inner);
      else if (divides)
        moveUp(slice, concat);
    }
    bool wasCut =
        hasSteps && !inner && cut(cast<PartitionOpInterface>(op), dim);
    numCut += wasCut && !made_.contains(op);
    if (wasCut || inner || concat)
      made_.insert(op);
    // An operation that nothing reads any more must not count as a reader of
    // its operands.
    if (made_.contains(op) && isOpTriviallyDead(op)) {
      made_.erase(op);
      parts_.erase(op);
      layerReads_.erase(op);
      op->erase();
    }
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function_.front())))
    if (made_.contains(&op) && isOpTriviallyDead(&op)) {
      parts_.erase(&op);
      op.erase();
    }
  settle();
  return numCut;
}
