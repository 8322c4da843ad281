//===- ReferenceIndices.cpp - Naive look-ups, stores and orders
//------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

static Tensor resultOf(Value result, double value = 0) {
  return Tensor(cast<RankedTensorType>(result.getType()).getShape(), value);
}

/// The row of [base, base + size) that an index names, or none.
static std::optional<int64_t> rowOf(double index, int64_t base, int64_t size,
                                    int64_t table) {
  auto row = static_cast<int64_t>(index);
  row += row < 0 ? table : 0;
  if (row < base || row >= base + size)
    return std::nullopt;
  return row - base;
}

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

Tensor soap::nn::test::gatherElements(GatherElementsOp op,
                                      ArrayRef<Tensor> operands) {
  const Tensor &data = operands[0], &indices = operands[1];
  Tensor result = resultOf(op.getResult());
  size_t axis = op.getAxis();
  int64_t rows = data.shape[axis];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    if (auto row = rowOf(indices.at(index), op.getBase(), rows,
                         op.getTableSize().value_or(rows))) {
      at[axis] = *row;
      result.at(index) = data.at(at);
    }
  });
  return result;
}

/// The indices at `outer`, of the dimensions of `data` from `first` on; nothing
/// if one of them names no row.
template <typename Op>
static std::optional<SmallVector<int64_t>>
rowsAt(Op op, const Tensor &indices, ArrayRef<int64_t> outer,
       ArrayRef<int64_t> data, size_t first) {
  SmallVector<int64_t> at(outer), rows;
  at.push_back(0);
  for (int64_t k = 0; k != indices.shape.back(); ++k) {
    at.back() = k;
    int64_t size = data[first + k];
    auto row =
        rowOf(indices.at(at), op.getBases() ? (*op.getBases())[k] : 0, size,
              op.getTableSizes() ? (*op.getTableSizes())[k] : size);
    if (!row)
      return std::nullopt;
    rows.push_back(*row);
  }
  return rows;
}

Tensor soap::nn::test::gatherND(GatherNDOp op, ArrayRef<Tensor> operands) {
  const Tensor &data = operands[0], &indices = operands[1];
  Tensor result = resultOf(op.getResult());
  size_t outer = indices.shape.size() - 1, batch = op.getBatchDims();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    auto rows = rowsAt(op, indices, index.take_front(outer), data.shape, batch);
    if (!rows)
      return;
    SmallVector<int64_t> at(index.take_front(batch));
    llvm::append_range(at, *rows);
    llvm::append_range(at, index.drop_front(outer));
    result.at(index) = data.at(at);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

static double neutral(std::optional<ReduceKind> kind, Type element) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!kind || *kind == ReduceKind::Sum)
    return 0;
  if (*kind == ReduceKind::Prod)
    return 1;
  bool isMax = *kind == ReduceKind::Max;
  if (isa<FloatType>(element))
    return isMax ? -infinity : infinity;
  if (isUnsigned(element))
    return isMax ? 0 : std::ldexp(1.0, element.getIntOrFloatBitWidth()) - 1;
  double largest = std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
  return isMax ? -largest : largest - 1;
}

static double joined(std::optional<ReduceKind> kind, double old,
                     double update) {
  if (!kind)
    return update;
  switch (*kind) {
  case ReduceKind::Sum:
    return old + update;
  case ReduceKind::Prod:
    return old * update;
  case ReduceKind::Max:
    return std::max(old, update);
  case ReduceKind::Min:
    return std::min(old, update);
  }
  return update;
}

template <typename Op>
static Tensor startOf(Op op, ArrayRef<Tensor> operands) {
  if (op.getData())
    return operands[2];
  Type type = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  return resultOf(op.getResult(), neutral(op.getReduction(), type));
}

Tensor soap::nn::test::scatterElements(ScatterElementsOp op,
                                       ArrayRef<Tensor> operands) {
  const Tensor &indices = operands[0], &updates = operands[1];
  Tensor result = startOf(op, operands);
  size_t axis = op.getAxis();
  int64_t rows = result.shape[axis];
  forEachIndex(updates.shape, [&](ArrayRef<int64_t> index) {
    auto row = rowOf(indices.at(index), op.getBase(), rows,
                     op.getTableSize().value_or(rows));
    if (!row)
      return;
    SmallVector<int64_t> at(index);
    at[axis] = *row;
    double &element = result.at(at);
    element = joined(op.getReduction(), element, updates.at(index));
  });
  return result;
}

/// Calls `update(element, update)` for all elements of slices of `table`.
template <typename Op>
static void forEachUpdate(Op op, const Tensor &indices, const Tensor &updates,
                          Tensor &table,
                          llvm::function_ref<void(double &, double)> update) {
  size_t outer = indices.shape.size() - 1;
  forEachIndex(updates.shape, [&](ArrayRef<int64_t> index) {
    auto rows = rowsAt(op, indices, index.take_front(outer), table.shape, 0);
    if (!rows)
      return;
    SmallVector<int64_t> at(*rows);
    llvm::append_range(at, index.drop_front(outer));
    update(table.at(at), updates.at(index));
  });
}

Tensor soap::nn::test::scatterND(ScatterNDOp op, ArrayRef<Tensor> operands) {
  Tensor result = startOf(op, operands);
  forEachUpdate(op, operands[0], operands[1], result,
                [&](double &element, double update) {
                  element = joined(op.getReduction(), element, update);
                });
  return result;
}

Tensor soap::nn::test::sparseSGD(SparseSGDOp op, ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  double rate = operands[3].data[0];
  forEachUpdate(
      op, operands[1], operands[2], result,
      [&](double &element, double slice) { element -= rate * slice; });
  return result;
}

//===----------------------------------------------------------------------===//
// Places and orders
//===----------------------------------------------------------------------===//

/// The indices along `axis` of the elements at `index`, from the first to the
/// last in the order of their values; of equal ones the first comes first, or
/// the last one.
static std::vector<int64_t> ordered(const Tensor &x, ArrayRef<int64_t> index,
                                    size_t axis, bool smallest,
                                    bool lastFirst) {
  SmallVector<int64_t> at(index);
  std::vector<double> values;
  for (int64_t i = 0; i != x.shape[axis]; ++i) {
    at[axis] = i;
    values.push_back(x.at(at));
  }
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  if (lastFirst)
    std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return smallest ? values[a] < values[b] : values[a] > values[b];
  });
  return order;
}

Tensor soap::nn::test::argOf(Value result, const Tensor &x, int64_t axis,
                             bool keepdims, bool smallest, bool last) {
  Tensor places = resultOf(result);
  forEachIndex(places.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    if (!keepdims)
      at.insert(at.begin() + axis, 0);
    places.at(index) =
        static_cast<double>(ordered(x, at, axis, smallest, last).front());
  });
  return places;
}

std::vector<Tensor> soap::nn::test::topK(TopKOp op, const Tensor &x) {
  Tensor values = resultOf(op.getValues()), places = values;
  size_t axis = op.getAxis();
  forEachIndex(values.shape, [&](ArrayRef<int64_t> index) {
    std::vector<int64_t> order =
        ordered(x, index, axis, op.getSmallest(), false);
    SmallVector<int64_t> at(index);
    at[axis] = order[index[axis]];
    values.at(index) = x.at(at);
    places.at(index) = static_cast<double>(at[axis]);
  });
  return {values, places};
}

Tensor soap::nn::test::cumSum(CumSumOp op, const Tensor &x) {
  Tensor result(x.shape);
  size_t axis = op.getAxis();
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    for (int64_t i = 0; i != x.shape[axis]; ++i) {
      int64_t before = op.getReverse() ? i - index[axis] : index[axis] - i;
      if (before < 0 || (before == 0 && op.getExclusive()))
        continue;
      at[axis] = i;
      result.at(index) += x.at(at);
    }
  });
  return result;
}

Tensor soap::nn::test::trilu(TriluOp op, const Tensor &x) {
  Tensor result(x.shape);
  size_t rank = x.shape.size();
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    int64_t distance = index[rank - 1] - index[rank - 2] - op.getDiagonal();
    if (op.getUpper() ? distance >= 0 : distance <= 0)
      result.at(index) = x.at(index);
  });
  return result;
}

Tensor soap::nn::test::oneHot(OneHotOp op, ArrayRef<Tensor> operands) {
  Tensor result = resultOf(op.getResult());
  size_t axis = op.getAxis();
  int64_t size = result.shape[axis];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    at.erase(at.begin() + axis);
    auto place = rowOf(operands[0].at(at), op.getBase(), size,
                       op.getTableSize().value_or(size));
    result.at(index) = operands[1].data[place && *place == index[axis]];
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
struct Interval {
  double lo, hi;
  double size() const { return hi - lo; }
};
} // namespace

/// The extent of a box along x (0) or y (1): of two corners (y1, x1, y2, x2) or
/// of (x, y, width, height) around a center.
static Interval intervalOf(const Tensor &boxes, int64_t image, int64_t box,
                           int along, bool center) {
  auto number = [&](int64_t i) { return boxes.at({image, box, i}); };
  if (center)
    return {number(along) - number(along + 2) / 2,
            number(along) + number(along + 2) / 2};
  double a = number(1 - along), b = number(3 - along);
  return {std::min(a, b), std::max(a, b)};
}

/// Intersection over union; 0 without one.
static double overlapOf(const Tensor &boxes, int64_t image, int64_t a,
                        int64_t b, bool center) {
  double both = 1, ofA = 1, ofB = 1;
  for (int along = 0; along != 2; ++along) {
    Interval first = intervalOf(boxes, image, a, along, center);
    Interval second = intervalOf(boxes, image, b, along, center);
    both *= std::max(0.0, std::min(first.hi, second.hi) -
                              std::max(first.lo, second.lo));
    ofA *= first.size();
    ofB *= second.size();
  }
  if (both <= 0 || ofA <= 0 || ofB <= 0)
    return 0;
  return both / (ofA + ofB - both);
}

/// As the specification words it: candidates by their scores, each against all
/// that were selected.
Tensor soap::nn::test::nonMaxSuppression(NonMaxSuppressionOp op,
                                         ArrayRef<Tensor> operands) {
  const Tensor &boxes = operands[0], &scores = operands[1];
  Tensor result = resultOf(op.getResult(), -1);
  auto overlap = op.getIouThreshold().convertToFloat();
  for (int64_t n = 0; n != scores.shape[0]; ++n)
    for (int64_t c = 0; c != scores.shape[1]; ++c) {
      std::vector<int64_t> candidates, selected;
      for (int64_t i = 0; i != scores.shape[2]; ++i)
        if (!op.getScoreThreshold() ||
            scores.at({n, c, i}) > op.getScoreThreshold()->convertToFloat())
          candidates.push_back(i);
      std::stable_sort(candidates.begin(), candidates.end(),
                       [&](int64_t a, int64_t b) {
                         return scores.at({n, c, a}) > scores.at({n, c, b});
                       });
      for (int64_t box : candidates) {
        bool isFree = true;
        for (int64_t other : selected)
          isFree &= overlapOf(boxes, n, box, other, op.getCenterPointBox()) <=
                    overlap;
        if (isFree && static_cast<int64_t>(selected.size()) < result.shape[2]) {
          result.at({n, c, static_cast<int64_t>(selected.size())}) =
              static_cast<double>(box);
          selected.push_back(box);
        }
      }
    }
  return result;
}
