//===- Copies.cpp - Times of copies within a device -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace soap;
using llvm::ArrayRef;

static int64_t volumeOf(ArrayRef<Range> box) {
  int64_t elements = 1;
  for (Range range : box)
    elements *= range.size();
  return elements;
}

int64_t CostModel::copyNs(int64_t bytes, const DeviceKind &kind) {
  assert(bytes >= 0 && "a copy of some bytes or none");
  bool known = kind.boxBandwidth > 0;
  double seconds = known ? 2.0 * bytes / kind.boxBandwidth
                         : trafficSeconds(2.0 * bytes, kind);
  int64_t launchNs = known ? kind.boxLaunchNs : kind.launchNs;
  return roundNs(static_cast<double>(launchNs) + std::round(1e9 * seconds));
}

int64_t CostModel::copyNs(const BoxCopies &copies, const DeviceKind &kind) {
  return std::min(copyNs(copies.bytes, kind) + runsNs(copies.runs, kind),
                  longestNs);
}

void BoxCopies::add(ArrayRef<Range> piece, ArrayRef<Range> from,
                    ArrayRef<Range> to, int64_t elementBytes) {
  assert(piece.size() == from.size() && piece.size() == to.size() &&
         "boxes of one value");
  int64_t elements = volumeOf(piece);
  bytes += elements * elementBytes;
  // From the innermost dimension on, what is whole on both sides is one run
  // with the dimension in front of it.
  int64_t run = 1;
  for (size_t d = piece.size(); d-- != 0;) {
    run *= piece[d].size();
    if (piece[d].size() != from[d].size() || piece[d].size() != to[d].size())
      break;
  }
  if (elements != 0)
    runs += elements / run;
}

bool CostModel::isView(ArrayRef<Range> box, ArrayRef<Range> shard,
                       int32_t elementBytes, const DeviceKind &kind) {
  assert(box.size() == shard.size() && "boxes of one value");
  assert(elementBytes > 0 && kind.alignment > 0 && "elements have an address");
  bool leading = true;
  int64_t first = 0;
  for (auto [part, whole] : llvm::zip_equal(box, shard)) {
    if (!leading && part.size() != whole.size())
      return false;
    leading &= part.size() == 1;
    first = first * whole.size() + part.lo - whole.lo;
  }
  return first * elementBytes % kind.alignment == 0;
}

int64_t CostModel::cutNs(ArrayRef<Range> box, ArrayRef<Range> shard,
                         int32_t elementBytes, const DeviceKind &kind) {
  if (isView(box, shard, elementBytes, kind))
    return 0;
  BoxCopies copies;
  copies.add(box, shard, box, elementBytes);
  return copyNs(copies, kind);
}

MemberCopies CostModel::copiesOfMember(const CollectiveBoxes &boxes,
                                       size_t member, const DeviceKind &kind) {
  if (!(kind.boxBandwidth > 0))
    return {};
  BoxCopies packs, unpacks;
  auto addPiece = [&](BoxCopies &copies, ArrayRef<Range> one,
                      ArrayRef<Range> other, ArrayRef<Range> shard) {
    llvm::SmallVector<Range, 5> piece;
    for (auto [a, b] : llvm::zip_equal(one, other))
      piece.push_back(intersect(a, b));
    BoxCopies copy;
    copy.add(piece, shard, piece, boxes.elementBytes);
    if (copy.runs <= 1)
      return; // Nothing, or a view: pieces may start anywhere.
    copies.bytes += copy.bytes;
    copies.runs += copy.runs;
  };
  ArrayRef<Range> mine = boxes.operands[member], got = boxes.results[member];
  bool cuts = boxes.kind == ActionKind::AllToAll;
  bool joins = cuts || boxes.kind == ActionKind::AllGather;
  for (size_t m = 0; m != boxes.operands.size(); ++m) {
    if (cuts)
      addPiece(packs, mine, boxes.results[m], mine);
    if (joins)
      addPiece(unpacks, boxes.operands[m], got, got);
  }
  auto ns = [&](const BoxCopies &copies) {
    return copies.runs == 0 ? 0 : copyNs(copies, kind);
  };
  return {ns(packs), ns(unpacks)};
}
