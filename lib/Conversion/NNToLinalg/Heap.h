//===- Heap.h - Heaps in kernels --------------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_HEAP_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_HEAP_H

#include "mlir/IR/Builders.h"
#include <functional>

namespace soap::linalg_lowering {

/// Builds loops on a list of items, which are numbers of type index, in a
/// tensor of integers: its first `count` entries are a heap if none of them
/// comes before the one above it. Below entry i are 2 i + 1 and 2 i + 2.
class Heap {
public:
  /// Where an entry is in the tensor of the list.
  using Place = std::function<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Location, mlir::Value entry)>;
  /// Whether an item comes before another one.
  using Order = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                          mlir::Value, mlir::Value)>;

  Heap(Place place, Order order)
      : place_(std::move(place)), order_(std::move(order)) {}

  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value list, mlir::Value entry) const;
  /// The list with `item` at an entry.
  mlir::Value put(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value list, mlir::Value entry, mlir::Value item) const;

  /// The list with its first `count` entries as a heap.
  mlir::Value make(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value list, mlir::Value count) const;
  /// Takes the first item of a heap of `count` entries, at least one: the item,
  /// and the list with one entry less.
  std::pair<mlir::Value, mlir::Value> take(mlir::OpBuilder &builder,
                                           mlir::Location loc, mlir::Value list,
                                           mlir::Value count) const;

private:
  mlir::Value sink(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value list, mlir::Value count, mlir::Value entry,
                   mlir::Value item) const;

  Place place_;
  Order order_;
};

} // namespace soap::linalg_lowering

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_HEAP_H
