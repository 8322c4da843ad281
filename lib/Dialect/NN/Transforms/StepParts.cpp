//===- StepParts.cpp - Operations cut along the steps of a sequence -------===//
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
  Box box = soap::wholeBox(tensorTypeOf(op->getResult(0)).getShape());
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
    builder.setInsertionPointAfterValue(operand);
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
  int64_t size = tensorTypeOf(slice.getResult()).getDimSize(dim);
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
  int64_t steps = tensorTypeOf(op->getResult(0)).getDimSize(dim);
  // If a part of a layer reads it, other operations may read all of it or other
  // steps; otherwise not.
  if ((!sliced && !byLayer) || parts.empty() || parts[0].size() == steps)
    return std::nullopt;
  bool inParts = llvm::all_of(op->getUsers(), [&](Operation *user) {
    std::optional<soap::Range> read = stepsRead(user, dim);
    return read && llvm::any_of(parts, [&](soap::Range part) {
             return part.contains(*read);
           });
  });
  // Other operations may still read a concatenation whose parts are read.
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
  // The other operations read the whole.
  OpBuilder builder(op);
  auto whole = create<ConcatOp>(builder, op->getLoc(), getName(op),
                                op->getResult(0).getType(), tiles, dim);
  op->getResult(0).replaceAllUsesWith(whole.getResult());
  setName(whole, getName(op));
  return true;
}
