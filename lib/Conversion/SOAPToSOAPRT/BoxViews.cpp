//===- BoxViews.cpp - Views that may become copies ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxViews.h"
#include "Lowering.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PointerIntPair.h"

using namespace mlir;
using namespace soap;
using soaprt::BufferType;
using soaprt::RowOpInterface;

int64_t BoxView::costChannelsLast() {
  return isOfSamples ? 0 : view.getType().getBytes();
}

/// The first elements of `sizes` elements of `shape` in every dim, if those
/// from `first` on are such a box.
static std::optional<SmallVector<int64_t>>
boxFrom(int64_t first, ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  if (sizes.size() != shape.size() || llvm::is_contained(sizes, 0))
    return std::nullopt;
  SmallVector<int64_t> lo(shape.size());
  int64_t rest = first;
  for (size_t dim = shape.size(); dim-- != 0;) {
    lo[dim] = rest % shape[dim];
    rest /= shape[dim];
    if (lo[dim] + sizes[dim] > shape[dim])
      return std::nullopt;
  }
  return rest == 0 && firstOfRun(lo, sizes, shape) == first ? std::optional(lo)
                                                            : std::nullopt;
}

/// The row at which a copy may stand for a view, and whether the view is read:
/// its source has all of its elements before that row, or is read behind it
/// alone.
static std::pair<RowOpInterface, bool> findRow(soaprt::ViewOp view,
                                               const BufferUses &source) {
  const std::pair<RowOpInterface, bool> none{nullptr, false};
  SmallVector<RowOpInterface> readers, writers;
  for (Operation *user : view->getUsers()) {
    auto row = dyn_cast<RowOpInterface>(user);
    if (!row) {
      if (isa<soaprt::TileOp>(user))
        continue;
      return none;
    }
    if (llvm::is_contained(row.getReads(), view.getResult()))
      readers.push_back(row);
    if (llvm::is_contained(row.getWrites(), view.getResult()))
      writers.push_back(row);
  }
  if (source.isLoaded || (readers.empty() == writers.empty()))
    return none;
  bool isRead = writers.empty();
  auto isBefore = [](RowOpInterface a, RowOpInterface b) {
    return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
  };
  if (isRead) {
    RowOpInterface first = readers.front();
    for (RowOpInterface row : readers) {
      if (row->getBlock() != first->getBlock())
        return none;
      if (row->isBeforeInBlock(first))
        first = row;
    }
    bool isDone = llvm::all_of(source.writers, [&](RowOpInterface writer) {
      return isBefore(writer, first);
    });
    return isDone ? std::pair(first, true) : none;
  }
  RowOpInterface writer = writers.front();
  bool isLater = llvm::all_of(source.readers, [&](RowOpInterface reader) {
    return isBefore(writer, reader);
  });
  return writers.size() == 1 && isLater ? std::pair(writer, false) : none;
}

std::optional<BoxView> soap::findBoxView(soaprt::ViewOp view,
                                         ProgramUses &uses) {
  if (!isWholeActivation(view.getSource()))
    return std::nullopt;
  ArrayRef<int64_t> shape = view.getType().getShape(),
                    whole = view.getSource().getType().getShape();
  std::optional<SmallVector<int64_t>> lo =
      boxFrom(static_cast<int64_t>(view.getFirst()), shape, whole);
  if (!lo)
    return std::nullopt;
  BoxView found{view, std::move(*lo), shape.drop_front() == whole.drop_front()};
  std::tie(found.row, found.isRead) = findRow(view, uses.of(view.getSource()));
  return found;
}

void soap::copyBoxes(ArrayRef<BoxView> views) {
  struct Copies {
    SmallVector<Value> from, to;
    SmallVector<Attribute> boxes;
  };
  // One row before or behind each row.
  llvm::MapVector<llvm::PointerIntPair<Operation *, 1, bool>, Copies> rows;
  for (BoxView box : views) {
    soaprt::ViewOp view = box.view;
    OpBuilder builder(view);
    Value source = view.getSource();
    Value buffer = builder.create<soaprt::BufferOp>(
        view.getLoc(), view.getType(), IntegerAttr());
    ArrayRef<int64_t> sizes = view.getType().getShape();
    SmallVector<int64_t> zero(sizes.size(), 0);
    Copies &copies = rows[{box.row.getOperation(), box.isRead}];
    copies.from.push_back(box.isRead ? source : buffer);
    copies.to.push_back(box.isRead ? buffer : source);
    copies.boxes.push_back(
        soaprt::BoxCopyAttr::get(view.getContext(), box.isRead ? box.lo : zero,
                                 box.isRead ? zero : box.lo, sizes));
    view.replaceAllUsesWith(buffer);
    view.erase();
  }
  for (auto &[key, copies] : rows) {
    Operation *row = key.getPointer();
    OpBuilder builder(row);
    if (!key.getInt())
      builder.setInsertionPointAfter(row);
    StringRef node = cast<RowOpInterface>(row).getNode();
    builder.create<soaprt::CopyOp>(
        row->getLoc(), soaprt::TokenType::get(row->getContext()), copies.from,
        copies.to, builder.getArrayAttr(copies.boxes), TypedAttr(),
        ValueRange(), builder.getStringAttr(node),
        builder.getI64IntegerAttr(-1), soaprt::StreamAttr());
  }
}
