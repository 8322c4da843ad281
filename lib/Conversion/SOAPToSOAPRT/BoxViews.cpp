//===- BoxViews.cpp - Views that may become copies ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoxViews.h"
#include "Lowering.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace soap;
using soaprt::BufferType;
using soaprt::RowOpInterface;

int64_t BoxView::costChannelsLast() {
  return view.isOfSamples() ? 0 : view.getType().getBytes();
}

/// The first elements of `sizes` elements of `shape` in every dim, if those
/// from `first` on are such a box.
static std::optional<SmallVector<int64_t>>
boxFrom(int64_t first, ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  if (sizes.size() != shape.size() || llvm::is_contained(sizes, 0))
    return std::nullopt;
  SmallVector<int64_t> lo = delinearize(first, computeStrides(shape));
  for (auto [from, size, extent] : llvm::zip_equal(lo, sizes, shape))
    if (from + size > extent)
      return std::nullopt;
  return firstOfRun(lo, sizes, shape) ? std::optional(lo) : std::nullopt;
}

/// The first of some rows of one program; null if they are of several.
static RowOpInterface firstOf(ArrayRef<RowOpInterface> rows) {
  RowOpInterface first = rows.front();
  for (RowOpInterface row : rows) {
    if (row->getBlock() != first->getBlock())
      return nullptr;
    if (row->isBeforeInBlock(first))
      first = row;
  }
  return first;
}

/// `row`, or the first drain where it is one: nothing else stands between
/// those.
static Operation *beforeDrains(Operation *row) {
  while (isa<soaprt::DrainOp>(row) &&
         isa_and_nonnull<soaprt::DrainOp>(row->getPrevNode()))
    row = row->getPrevNode();
  return row;
}

/// Where the elements of a view that rows read are copied out of its source,
/// which has all of its elements by then.
static BoxView::Place placeOfRead(ArrayRef<RowOpInterface> readers,
                                  const BufferUses &source) {
  RowOpInterface first = firstOf(readers);
  if (!first)
    return {};
  Operation *before = beforeDrains(first);
  bool isDone = llvm::all_of(source.writers, [&](RowOpInterface writer) {
    return writer->getBlock() == before->getBlock() &&
           writer->isBeforeInBlock(before);
  });
  return isDone ? BoxView::Place{first, /*isRead=*/true, before}
                : BoxView::Place();
}

/// Where the elements of a view that `writer` writes are copied to its source:
/// before anything reads that, so that nothing waits for them sooner, but not
/// behind what else may write there.
static BoxView::Place placeOfWrite(RowOpInterface writer,
                                   const BufferUses &source) {
  if (isa<soaprt::FeedOp>(writer))
    return {}; // Nothing else stands between feeds.
  auto isInProgram = [&](RowOpInterface row) {
    return row->getBlock() == writer->getBlock();
  };
  auto isLater = [&](RowOpInterface reader) {
    return isInProgram(reader) && writer->isBeforeInBlock(reader);
  };
  if (!llvm::all_of(source.readers, isLater) ||
      !llvm::all_of(source.writers, isInProgram))
    return {};
  bool isLast = llvm::all_of(source.writers, [&](RowOpInterface other) {
    return other == writer || other->isBeforeInBlock(writer);
  });
  Operation *before = isLast && !source.readers.empty()
                          ? beforeDrains(firstOf(source.readers))
                          : writer->getNextNode();
  return {writer, /*isRead=*/false, before};
}

static BoxView::Place findPlace(soaprt::ViewOp view, const BufferUses &source) {
  SmallVector<RowOpInterface> readers, writers;
  for (Operation *user : view->getUsers()) {
    if (isa<soaprt::TileOp>(user))
      continue;
    auto row = dyn_cast<RowOpInterface>(user);
    if (!row)
      return {};
    if (llvm::is_contained(row.getReads(), view.getResult()))
      readers.push_back(row);
    if (llvm::is_contained(row.getWrites(), view.getResult()))
      writers.push_back(row);
  }
  if (source.isLoaded || readers.empty() == writers.empty())
    return {};
  if (writers.empty())
    return placeOfRead(readers, source);
  return writers.size() == 1 ? placeOfWrite(writers.front(), source)
                             : BoxView::Place();
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
  return BoxView{view, std::move(*lo),
                 findPlace(view, uses.of(view.getSource()))};
}

void soap::copyBoxes(ArrayRef<BoxView> views) {
  struct Copies {
    SmallVector<Value> from, to;
    SmallVector<Attribute> boxes;
  };
  // One row for all that is copied at one place for one row.
  using Key = std::tuple<Operation *, bool, Operation *>;
  llvm::MapVector<Key, Copies, std::map<Key, unsigned>> rows;
  for (BoxView box : views) {
    soaprt::ViewOp view = box.view;
    auto [row, isRead, before] = box.place;
    OpBuilder builder(view);
    Value source = view.getSource();
    Value buffer = builder.create<soaprt::BufferOp>(
        view.getLoc(), view.getType(), IntegerAttr());
    ArrayRef<int64_t> sizes = view.getType().getShape();
    SmallVector<int64_t> zero(sizes.size(), 0);
    Copies &copies = rows[{row, isRead, before}];
    copies.from.push_back(isRead ? source : buffer);
    copies.to.push_back(isRead ? buffer : source);
    copies.boxes.push_back(
        soaprt::BoxCopyAttr::get(view.getContext(), isRead ? box.lo : zero,
                                 isRead ? zero : box.lo, sizes));
    view.replaceAllUsesWith(buffer);
    view.erase();
  }
  for (auto &[key, copies] : rows) {
    auto [row, isRead, before] = key;
    OpBuilder builder = OpBuilder::atBlockEnd(row->getBlock());
    if (before)
      builder.setInsertionPoint(before);
    StringRef node = cast<RowOpInterface>(row).getNode();
    builder.create<soaprt::CopyOp>(
        row->getLoc(), soaprt::TokenType::get(row->getContext()), copies.from,
        copies.to, builder.getArrayAttr(copies.boxes), TypedAttr(),
        ValueRange(), builder.getStringAttr(node),
        builder.getI64IntegerAttr(-1), soaprt::StreamAttr());
  }
}
