//===- SourceGrid.h - Where a value can be read from ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the library: the grid of cells in which a value exists, and which
// devices hold each cell. Adjacent cells that the same devices hold form one
// block where the grid stays a grid; plans are made in blocks.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_PARTITION_SOURCEGRID_H
#define SOAP_LIB_PARTITION_SOURCEGRID_H

#include "soap/Partition/FlatPlan.h"

namespace soap::detail {

/// A half-open interval of cell or block indices.
struct Span {
  int32_t begin = 0, end = 0;
  int32_t size() const { return end - begin; }
  bool operator==(const Span &o) const {
    return begin == o.begin && end == o.end;
  }
};
using Spans = llvm::SmallVector<Span, 5>;

/// Calls `fn(index, flat)` for all index vectors in `spans`, in row-major
/// order; `flat` is the sum of index times stride. Once for rank 0.
template <typename Fn>
void forEachIndex(llvm::ArrayRef<Span> spans, llvm::ArrayRef<int32_t> strides,
                  Fn fn) {
  llvm::SmallVector<int32_t, 5> index;
  int32_t flat = 0;
  for (size_t d = 0, rank = spans.size(); d != rank; ++d) {
    if (spans[d].size() <= 0)
      return;
    index.push_back(spans[d].begin);
    flat += spans[d].begin * strides[d];
  }
  while (true) {
    fn(llvm::ArrayRef<int32_t>(index), flat);
    size_t d = spans.size();
    while (d-- != 0) {
      flat += strides[d];
      if (++index[d] != spans[d].end)
        break;
      flat -= strides[d] * spans[d].size();
      index[d] = spans[d].begin;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

/// A device that has a cell, in shard `shard`.
struct Holder {
  int32_t device, shard;
};

/// Keeps its memory from one reset() to the next.
class SourceGrid {
public:
  using Cuts = llvm::SmallVector<llvm::SmallVector<int64_t, 5>, 5>;

  /// A grid without holders; addCell() must follow for every cell, row-major.
  void reset(const Cuts &cuts);
  void addCell(llvm::ArrayRef<Holder> holders);
  /// Forms the blocks: adjacent cells that the same devices hold, of partial
  /// values the same parts. Call once all cells are there.
  void formBlocks(const FlatPlan &plan);

  size_t rank() const { return cuts_.size(); }
  int32_t numCells() const { return static_cast<int32_t>(begin_.size()) - 1; }
  const Cuts &cellCuts() const { return cuts_; }
  llvm::ArrayRef<Holder> cellHolders(int32_t cell) const {
    return llvm::ArrayRef<Holder>(holders_).slice(
        begin_[cell], begin_[cell + 1] - begin_[cell]);
  }

  int32_t numBlocks() const { return static_cast<int32_t>(firstCell_.size()); }
  int32_t numBlocks(size_t d) const {
    return static_cast<int32_t>(blockCuts_[d].size()) - 1;
  }
  llvm::ArrayRef<int32_t> blockStrides() const { return blockStride_; }
  /// Positions at which the blocks of dimension `d` begin, and the extent.
  llvm::ArrayRef<int64_t> cutsOfBlocks(size_t d) const { return blockCuts_[d]; }
  /// The shards are those of the block's first cell; the devices of all cells.
  llvm::ArrayRef<Holder> blockHolders(int32_t block) const {
    return cellHolders(firstCell_[block]);
  }
  Range blockRange(size_t d, int32_t index) const {
    return {blockCuts_[d][index], blockCuts_[d][index + 1]};
  }
  /// Adds the box of a block to a plan.
  int32_t addBlockBox(int32_t block, FlatPlan &plan) const;
  /// The block of a cell.
  int32_t blockOfCell(llvm::ArrayRef<int32_t> cellIndex) const;
  /// Blocks of dimension `d` that a range touches.
  Span blocksOf(size_t d, Range range) const;
  /// True if `device` holds block `block`.
  bool holds(int32_t block, int32_t device) const;

  /// Appends to the plan's pieces those of shards of `device` that cover `box`;
  /// the device must hold every cell of it. One piece per shard.
  void assemble(int32_t device, int32_t box, FlatPlan &plan) const;

private:
  Cuts cuts_;
  llvm::SmallVector<int32_t, 5> cellStride_, blockStride_;
  llvm::SmallVector<int32_t, 0> begin_;
  llvm::SmallVector<Holder, 0> holders_;
  Cuts blockCuts_;
  llvm::SmallVector<llvm::SmallVector<int32_t, 5>, 5>
      blockStart_; ///< In cells.
  llvm::SmallVector<int32_t, 0> firstCell_;
};

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_SOURCEGRID_H
