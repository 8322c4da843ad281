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

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

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

/// The insertion point from which on `value` can be read.
static void setInsertionPointBehind(OpBuilder &builder, Value value) {
  builder.setInsertionPointAfterValue(value);
}

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
    // Before all that may read it now.
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
  // The step to the next element says nothing where there is one.
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
  Box box = soap::wholeBox(typeOf(value).getShape());
  box[0] = steps;
  Value read = slice(builder, value, box, name);
  if (read != value)
    layerReads_.insert(read.getDefiningOp());
  return read;
}

Value StepSlices::reshape(OpBuilder &builder, Value value,
                          ArrayRef<int64_t> shape, const Twine &name) {
  return unify(create<ReshapeOp>(builder, value.getLoc(), name,
                                 typeOf(value).clone(shape), value))
      ->getResult(0);
}

void StepSlices::replaceBySlice(OpBuilder &builder, SliceOp slice, Value value,
                                ArrayRef<int64_t> starts,
                                ArrayRef<int64_t> steps) {
  std::string name = getName(slice).str();
  names_.release(name);
  Value moved = createSlice(builder, value, starts, steps,
                            typeOf(slice.getResult()), name);
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
           inner.getSteps(), typeOf(slice.getResult()).getShape())) {
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
  int64_t last = first + (typeOf(slice.getResult()).getDimSize(axis) - 1) *
                             slice.getSteps()[axis];
  int64_t offset = 0;
  for (Value operand : concat.getInputs()) {
    int64_t end = offset + typeOf(operand).getDimSize(axis);
    if (offset <= std::min(first, last) && std::max(first, last) < end) {
      SmallVector<int64_t> starts(slice.getStarts());
      starts[axis] -= offset;
      OpBuilder builder(slice);
      setInsertionPointBehind(builder, operand);
      replaceBySlice(builder, slice, operand, starts, slice.getSteps());
      return;
    }
    offset = end;
  }
}

//===----------------------------------------------------------------------===//
// Slices of what is computed per step
//===----------------------------------------------------------------------===//

/// The dimension of the result of `op` that runs over steps.
std::optional<unsigned> StepSlices::stepDimOf(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  if (auto found = stepDims_.find(op->getResult(0)); found != stepDims_.end())
    return found->second;
  auto interface = dyn_cast<PartitionOpInterface>(op);
  if (!interface || llvm::none_of(op->getOperands(), [&](Value operand) {
        return stepDims_.contains(operand);
      }))
    return std::nullopt;
  soap::PartitionSpec spec = interface.getPartitionSpec();
  for (auto [operand, access] :
       llvm::zip_equal(op->getOperands(), spec.operands)) {
    auto found = stepDims_.find(operand);
    if (found == stepDims_.end() || access.dims[found->second].loop < 0)
      continue;
    int16_t loop = access.dims[found->second].loop;
    for (auto [dim, result] : llvm::enumerate(spec.results[0].dims))
      if (result.loop == loop)
        return dim;
  }
  return std::nullopt;
}

/// True if units of a loop read parts of the operands that have nothing in
/// common.
static bool readsApart(const soap::PartitionSpec &spec, int16_t loop) {
  for (const soap::ValueAccess &operand : spec.operands)
    for (const DimAccess &access : operand.dims)
      if (access.loop == loop &&
          (access.div != 1 || access.hi - access.lo >= access.mul))
        return false;
  return true;
}

Value StepSlices::createTile(PartitionOpInterface op, unsigned dim,
                             soap::Range steps) {
  bool byLayer = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return layerReads_.contains(user);
  });
  Box box = soap::wholeBox(typeOf(op->getResult(0)).getShape());
  box[dim] = steps;
  LocalTile tile = makeLocalTileForBox(op, 0, box);
  std::string suffix = stepSuffix(steps);
  OpBuilder builder(op);
  SmallVector<Value> operands;
  Operation *latest = nullptr;
  for (auto [operand, part] :
       llvm::zip_equal(op->getOperands(), tile.operandBoxes)) {
    operands.push_back(nullptr);
    if (soap::isEmpty(part))
      continue;
    setInsertionPointBehind(builder, operand);
    operands.back() =
        slice(builder, operand, part, getName(op) + suffix + ".x");
    Operation *definition = operands.back().getDefiningOp();
    if (byLayer && operands.back() != operand)
      layerReads_.insert(definition);
    if (definition && (!latest || latest->isBeforeInBlock(definition)))
      latest = definition;
  }
  Operation *next = latest ? latest->getNextNode() : op.getOperation();
  Operation *before = next->getPrevNode();
  builder.setInsertionPoint(next);
  FailureOr<SmallVector<Value>> results =
      op.buildLocal(builder, operands, tile);
  if (failed(results) || next->getPrevNode()->getPrevNode() != before) {
    while (next->getPrevNode() != before)
      next->getPrevNode()->erase();
    return nullptr;
  }
  Operation *part = next->getPrevNode();
  setName(part, names_.unique(getName(op).str() + suffix));
  made_.insert(part);
  parts_.insert(part);
  return (part->getNumOperands() == 1 ? unify(part) : part)->getResult(0);
}

/// The steps that a slice reads of what it slices along `dim`, without gaps.
static std::optional<soap::Range> stepsRead(Operation *op, unsigned dim) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !isPlain(slice))
    return std::nullopt;
  int64_t start = slice.getStarts()[dim];
  int64_t size = typeOf(slice.getResult()).getDimSize(dim);
  if (size != 1 && slice.getSteps()[dim] != 1)
    return std::nullopt;
  return soap::Range{start, start + size};
}

static bool isConcat(Operation *op, unsigned dim) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && concat.getAxis() == dim;
}

/// The steps of each part that `op` is to be cut in, in order; none if it stays
/// whole.
std::optional<SmallVector<soap::Range>> StepSlices::partsOf(Operation *op,
                                                            unsigned dim) {
  bool byLayer = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return layerReads_.contains(user);
  });
  SmallVector<soap::Range> parts;
  bool sliced = true;
  for (Operation *user : op->getUsers()) {
    std::optional<soap::Range> steps = stepsRead(user, dim);
    sliced &= steps.has_value();
    if (steps && (!byLayer || layerReads_.contains(user)))
      parts.push_back(*steps);
  }
  llvm::sort(parts, [](soap::Range a, soap::Range b) {
    return std::tie(a.lo, a.hi) < std::tie(b.lo, b.hi);
  });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].lo < parts[i - 1].hi)
      return std::nullopt;
  int64_t steps = typeOf(op->getResult(0)).getDimSize(dim);
  // Beside a layer others may read all of it, or other steps; alone not.
  if ((!sliced && !byLayer) || parts.empty() || parts[0].size() == steps)
    return std::nullopt;
  bool inParts = llvm::all_of(op->getUsers(), [&](Operation *user) {
    std::optional<soap::Range> read = stepsRead(user, dim);
    return read && llvm::any_of(parts, [&](soap::Range part) {
             return part.contains(*read);
           });
  });
  // Others may go on to read a concatenation beside its parts.
  if (inParts || isConcat(op, dim))
    return parts;
  SmallVector<soap::Range> all;
  int64_t end = 0;
  for (soap::Range part : parts) {
    if (end < part.lo)
      all.push_back({end, part.lo});
    all.push_back(part);
    end = part.hi;
  }
  if (end < steps)
    all.push_back({end, steps});
  return all;
}

bool StepSlices::cut(PartitionOpInterface op, unsigned dim) {
  if (!isPure(op) || !isPlain(op) || op->use_empty())
    return false;
  soap::PartitionSpec spec = op.getPartitionSpec();
  DimAccess access = spec.results[0].dims[dim];
  if (access.loop < 0 || !(access == DimAccess::identity(access.loop)) ||
      !readsApart(spec, access.loop))
    return false;

  std::optional<SmallVector<soap::Range>> parts = partsOf(op, dim);
  if (!parts)
    return false;
  // What is inserted behind one operation ends up in the order of steps.
  SmallVector<Value> tiles(parts->size());
  for (size_t i = parts->size(); i-- != 0;)
    if (tiles[i] = createTile(op, dim, (*parts)[i]); !tiles[i])
      return false;
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    std::optional<soap::Range> steps = stepsRead(user, dim);
    if (!steps)
      continue;
    const auto *part = llvm::find_if(
        *parts, [&](soap::Range range) { return range.contains(*steps); });
    if (part == parts->end())
      continue;
    auto slice = cast<SliceOp>(user);
    SmallVector<int64_t> starts(slice.getStarts());
    starts[dim] -= part->lo;
    OpBuilder builder(slice);
    replaceBySlice(builder, slice, tiles[part - parts->begin()], starts,
                   slice.getSteps());
  }
  if (op->use_empty() || isConcat(op, dim))
    return true;
  // The others read all of it.
  OpBuilder builder(op);
  auto whole = create<ConcatOp>(builder, op->getLoc(), getName(op),
                                op->getResult(0).getType(), tiles, dim);
  op->getResult(0).replaceAllUsesWith(whole.getResult());
  setName(whole, getName(op));
  return true;
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
  // Readers come first: a slice moves up through all that stands before it.
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
    // An operation that nothing reads now must not read what it did.
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
