//===- ProgramOrder.h - Which rows end before which -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order that streams and waits impose on the rows of one program: per row a
// clock for each stream, its last row that is known to have ended when the row
// starts.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMORDER_H
#define SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMORDER_H

#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "llvm/ADT/DenseMap.h"
#include <array>

namespace soap::soaprt {

/// The discardable attribute of a collective that runs on the priority stream.
inline constexpr llvm::StringLiteral priorityAttrName = "soaprt.priority";

/// The discardable attribute of a row that communicates and waits for all rows
/// of the compute stream in front of it: what gathers a parameter again shall
/// not take memory before that is free.
inline constexpr llvm::StringLiteral heldAttrName = "soaprt.held";

/// Position of the last row per stream that has ended; -1: none.
struct Clock {
  std::array<int32_t, numStreams> last = {-1, -1, -1};

  int32_t &operator[](Stream s) { return last[static_cast<int>(s)]; }
  int32_t operator[](Stream s) const { return last[static_cast<int>(s)]; }
  /// Both: what either knows.
  void join(const Clock &other);
  /// What both know.
  void meet(const Clock &other);
};

/// Rows are appended in block order; their streams must be assigned.
class ProgramOrder {
public:
  ProgramOrder() = default;
  /// The order of a whole program.
  explicit ProgramOrder(mlir::Block &program);

  /// What is known to have ended when `row`, which stands next, starts; its
  /// waits included.
  Clock clockOfNext(RowOpInterface row) const;
  void append(RowOpInterface row);

  int32_t position(mlir::Operation *row) const {
    return positions_.lookup(row);
  }
  const Clock &clock(mlir::Operation *row) const {
    return clocks_[position(row)];
  }
  size_t size() const { return clocks_.size(); }

private:
  llvm::DenseMap<mlir::Operation *, int32_t> positions_;
  std::vector<Clock> clocks_;
  /// What the next row of a stream knows from its predecessor.
  std::array<Clock, numStreams> streams_;
};

/// What a row reads and what it writes that may have one place, an all-reduce,
/// or that must have, a launch in place; or two nulls.
std::pair<mlir::Value, mlir::Value> placedTogether(RowOpInterface row);

} // namespace soap::soaprt

#endif // SOAP_DIALECT_SOAPRT_TRANSFORMS_PROGRAMORDER_H
