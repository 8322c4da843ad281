//===- RowLayout.cpp - Where the rows of a kernel lie ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLayout.h"
#include "KernelBuffers.h"
#include <numeric>

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

static int64_t countOf(ArrayRef<Digit> digits) {
  return std::accumulate(
      digits.begin(), digits.end(), int64_t{1},
      [](int64_t count, Digit digit) { return count * digit.extent; });
}

int64_t RowLayout::rowCount() const { return countOf(rows); }

int64_t RowLayout::elementsPerRow() const { return countOf(within); }

int64_t RowPart::elementsPerRow() const {
  int64_t count = 1;
  for (unsigned loop : elementLoops)
    count *= extents[loop];
  return count;
}

std::optional<BufferAccess> cuda::accessOf(OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  BufferAccess access;
  access.buffer = bufferOf(operand.get());
  auto whole = cast<MemRefType>(access.buffer.getType());
  SmallVector<int64_t> strides;
  if (!whole.getLayout().isIdentity() ||
      whole.getElementType() != type.getElementType() ||
      failed(getStridesAndOffset(type, strides, access.offset)) ||
      ShapedType::isDynamic(access.offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return std::nullopt;
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  access.strides.assign(op.getNumLoops(), 0);
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      access.strides[dim.getPosition()] += stride;
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      access.offset += constant.getValue() * stride;
    else
      return std::nullopt;
  }
  return access;
}

bool cuda::isDense(const RowPart &part, const BufferAccess &access) {
  int64_t stride = 1;
  for (unsigned loop : llvm::reverse(part.elementLoops)) {
    if (part.extents[loop] != 1 && access.strides[loop] != stride)
      return false;
    stride *= part.extents[loop];
  }
  return true;
}

bool cuda::isRowScalar(const RowPart &part, const BufferAccess &access) {
  return llvm::all_of(part.elementLoops, [&](unsigned loop) {
    return part.extents[loop] == 1 || access.strides[loop] == 0;
  });
}

static SmallVector<Digit> joined(ArrayRef<Digit> digits) {
  SmallVector<Digit> result;
  for (Digit digit : digits) {
    if (digit.extent == 1)
      continue;
    if (!result.empty() && result.back().stride == digit.stride * digit.extent)
      result.back() = {result.back().extent * digit.extent, digit.stride};
    else
      result.push_back(digit);
  }
  return result;
}

static bool hasLargerStride(Digit a, Digit b) { return a.stride > b.stride; }

std::optional<RowLayout> cuda::layoutOf(const RowPart &part,
                                        const BufferAccess &access) {
  RowLayout layout;
  layout.offset = access.offset;
  SmallVector<Digit> rows, within;
  for (unsigned loop : part.rowLoops)
    rows.push_back({part.extents[loop], access.strides[loop]});
  for (unsigned loop : part.elementLoops)
    if (access.strides[loop] != 0)
      within.push_back({part.extents[loop], access.strides[loop]});
  llvm::stable_sort(within, hasLargerStride);
  layout.rows = joined(rows);
  layout.within = joined(within);
  // Each digit counts in steps that the smaller ones do not reach.
  SmallVector<Digit> all(layout.rows);
  llvm::append_range(all, layout.within);
  llvm::stable_sort(all, hasLargerStride);
  int64_t reached = 1;
  for (Digit digit : llvm::reverse(all)) {
    if (digit.stride < reached)
      return std::nullopt;
    reached = digit.stride * digit.extent;
  }
  return layout;
}

bool cuda::divideLoops(RowPart &part, const BufferAccess &access,
                       const RowLayout &layout) {
  SmallVector<std::pair<size_t, unsigned>> rows;
  part.elementLoops.clear();
  for (unsigned loop = 0, end = part.extents.size(); loop != end; ++loop) {
    int64_t extent = part.extents[loop], stride = access.strides[loop];
    const Digit *digit = llvm::find_if(layout.rows, [&](Digit row) {
      return stride >= row.stride && stride * extent <= row.stride * row.extent;
    });
    if (extent == 1 || digit == layout.rows.end())
      part.elementLoops.push_back(loop);
    else
      rows.push_back({digit - layout.rows.begin(), loop});
  }
  // In the order of the rows: by digit, and within one by falling stride.
  llvm::stable_sort(rows, [&](auto a, auto b) {
    return a.first != b.first
               ? a.first < b.first
               : access.strides[a.second] > access.strides[b.second];
  });
  part.rowLoops.clear();
  for (auto [digit, loop] : rows)
    part.rowLoops.push_back(loop);
  std::optional<RowLayout> found = layoutOf(part, access);
  return found && *found == layout;
}
