//===- RowsToCheck.h - When a simulation asks if it is done -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_ROWSTOCHECK_H
#define SOAP_LIB_SEARCH_ROWSTOCHECK_H

#include <algorithm>
#include <cstdint>

namespace soap::detail {

/// The rows at which a region of a delta simulation is compared with what was.
/// A comparison looks at all resources and at all that is read behind the row,
/// in a training step up to all activations, and takes several times as long as
/// a row. So comparisons become rarer with every one that was in vain. A region
/// that ends later than it could is as exact.
class RowsToCheck {
public:
  explicit RowsToCheck(int32_t firstRow) : next_(firstRow + 1) {}

  bool has(int32_t row) const { return row >= next_; }
  /// Says that the rest was not as before at `row`.
  void passed(int32_t row) {
    next_ = row + std::min(1 + ++failures_ / dense, farthest);
  }

private:
  /// So many comparisons in vain put the next one off by another row.
  static constexpr int32_t dense = 4;
  static constexpr int32_t farthest = 16; ///< Rows from one to the next.

  int32_t next_;
  int32_t failures_ = 0;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_ROWSTOCHECK_H
