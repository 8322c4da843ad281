//===- TileComparison.h - A tile against the whole value --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_TILECOMPARISON_H
#define SOAP_TENSORS_TILECOMPARISON_H

#include "soap/Tensors/Compare.h"

namespace soap::tensors {

/// A range of elements in every dimension.
using Box = std::vector<std::pair<int64_t, int64_t>>;

Box boxOf(const soap_tile &tile);
/// `[0:32, 5:9]`
std::string toString(const Box &box);
/// `[3, 5]`
std::string toString(const std::vector<int64_t> &index);

/// Calls `row(offset in the whole, offset in the box, elements)` for every run
/// of elements of a box that is contiguous in a whole tensor of `shape`.
template <typename Fn>
void forEachRow(const std::vector<int64_t> &shape, const Box &box, Fn row) {
  size_t rank = shape.size();
  int64_t run = rank ? box.back().second - box.back().first : 1, rows = 1;
  for (size_t d = 0; d + 1 < rank; ++d)
    rows *= box[d].second - box[d].first;
  if (run == 0)
    return;
  for (int64_t r = 0; r != rows; ++r) {
    int64_t rest = r, offset = rank ? box.back().first : 0;
    int64_t stride = rank ? shape.back() : 1;
    for (size_t d = rank ? rank - 1 : 0; d-- > 0;) {
      int64_t size = box[d].second - box[d].first;
      offset += (box[d].first + rest % size) * stride;
      rest /= size;
      stride *= shape[d];
    }
    row(static_cast<size_t>(offset), static_cast<size_t>(r * run),
        static_cast<size_t>(run));
  }
}

/// Root mean square of the finite elements.
double rootMeanSquare(const Tensor &tensor);

/// How a tile differs from the same elements of the whole value.
struct TileComparison {
  bool equal = true;
  size_t elements = 0;
  size_t unequal = 0;                           ///< Not the same number.
  double squaredError = 0, squaredExpected = 0; ///< Sums of finite elements.
  /// The element with the largest error, as a multiple of what is allowed; one
  /// that is not finite in only one of the two comes first.
  std::vector<int64_t> worst; ///< Its index in the whole value.
  double got = 0, expected = 0;

  /// 2-norm of the difference over that of what was expected.
  double normRelative() const;
};

/// Compares `tile` with `expected`, the whole value, whose root mean square is
/// `scale`. A float tile is equal if
/// - the root mean square of the difference is at most `relative` times the
///   larger one of `scale` and the root mean square of the tile, and
/// - no element differs by more than 100 * `relative` times the larger one of
///   `scale` and its own magnitude;
/// (`relative` as Tolerance::relativeOf() has it); where `scale` is below
/// `absolute`, if no element differs by more than `absolute`. NaN equals NaN,
/// and an infinity itself: what a strategy must not change. Other types are
/// equal bit by bit.
TileComparison compareTile(const soap_tile &tile, const Tensor &expected,
                           double scale, const Tolerance &tolerance);

} // namespace soap::tensors

#endif // SOAP_TENSORS_TILECOMPARISON_H
