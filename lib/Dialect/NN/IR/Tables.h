//===- Tables.h - Rows of a table that a tile has ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Look-ups and stores by index address a whole table; a tile of one has some of
// its rows. Attributes of the operation say which: `base` and `table_size`, or
// lists of them where several dimensions are indexed.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_IR_TABLES_H
#define SOAP_LIB_DIALECT_NN_IR_TABLES_H

#include "OpSupport.h"

namespace soap::nn {

/// Checks that rows [base, base + rows) are inside of a table of `table` rows.
mlir::LogicalResult verifyRows(mlir::Operation *op, int64_t base, int64_t rows,
                               int64_t table);

/// Checks the shape of indices that address elements along `axis` of a value of
/// shape `data`, which messages call `what`. In the other dimensions an index
/// addresses its own place.
mlir::LogicalResult verifyElementIndices(mlir::Operation *op,
                                         llvm::StringRef what,
                                         llvm::ArrayRef<int64_t> data,
                                         llvm::ArrayRef<int64_t> indices,
                                         int64_t axis);

/// Checks `bases` and `table_sizes`. `rows` has the sizes of the indexed
/// dimensions.
template <typename Op>
mlir::LogicalResult verifyTables(Op op, llvm::ArrayRef<int64_t> rows) {
  llvm::SmallVector<int64_t> bases(rows.size(), 0), sizes(rows);
  for (auto [name, given, list] :
       {std::tuple(llvm::StringRef("bases"), op.getBases(), &bases),
        std::tuple(llvm::StringRef("table_sizes"), op.getTableSizes(),
                   &sizes)}) {
    if (!given)
      continue;
    if (mlir::failed(verifyList(op, name, *given, rows.size(), 0)))
      return mlir::failure();
    list->assign(given->begin(), given->end());
  }
  for (auto [base, size, table] : llvm::zip_equal(bases, rows, sizes))
    if (mlir::failed(verifyRows(op, base, size, table)))
      return mlir::failure();
  return mlir::success();
}

/// Makes `op` a tile of the rows that `loop` runs over.
template <typename Op>
void shiftRows(Op op, const LocalTile &tile, int loop) {
  if (loop < 0 || tile.tile[loop].size() == tile.spec.loops[loop].extent)
    return;
  if (!op.getTableSize())
    op.setTableSize(tile.spec.loops[loop].extent);
  op.setBase(op.getBase() + tile.tile[loop].lo);
}

/// The same for several dimensions, whose loops are `loops`.
template <typename Op>
void shiftTables(Op op, const LocalTile &tile, llvm::ArrayRef<int> loops) {
  llvm::SmallVector<int64_t> bases(loops.size(), 0), sizes;
  if (op.getBases())
    bases.assign(op.getBases()->begin(), op.getBases()->end());
  bool split = false;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    sizes.push_back(op.getTableSizes() ? (*op.getTableSizes())[i]
                                       : tile.spec.loops[loop].extent);
    bases[i] += tile.tile[loop].lo;
    split |= tile.tile[loop].size() != tile.spec.loops[loop].extent;
  }
  if (!split)
    return;
  op.setBases(bases);
  op.setTableSizes(sizes);
}

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_IR_TABLES_H
