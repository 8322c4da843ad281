//===- CopyTable.cpp - Which device has copied what -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyTable.h"
#include "llvm/Support/MathExtras.h"

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

void CopyTable::clear(const FlatPlan &plan) {
  plan_ = &plan;
  round_ = 0;
  copies_.clear();
  copyOfBox_.assign(plan.volumes.size(), -1);
  // At most every port and every read is a copy.
  size_t most = plan.ports.size() + plan.reads.size();
  places_.assign(llvm::PowerOf2Ceil(most + most / 2 + 1), -1);
}

bool CopyTable::areSame(const FlatPlan &plan, int32_t box,
                        FlatPlan::Slice pieces, int32_t otherBox,
                        FlatPlan::Slice otherPieces) {
  auto sameBox = [&](int32_t a, int32_t b) {
    return a == b || plan.box(a) == plan.box(b);
  };
  if (pieces.size() != otherPieces.size() || !sameBox(box, otherBox))
    return false;
  if (pieces.begin == otherPieces.begin)
    return true;
  ArrayRef<FlatPlan::Piece> x = plan.piecesIn(pieces),
                            y = plan.piecesIn(otherPieces);
  return std::equal(x.begin(), x.end(), y.begin(),
                    [&](FlatPlan::Piece p, FlatPlan::Piece q) {
                      return p.shard == q.shard && sameBox(p.box, q.box);
                    });
}

CopyTable::Copy &CopyTable::findOrAdd(int32_t device, int32_t box,
                                      FlatPlan::Slice pieces, bool &isNew) {
  isNew = false;
  // The destinations of a transfer that need the same box follow each other.
  int32_t &last = copyOfBox_[box];
  if (last >= 0 && copies_[last].device == device &&
      copies_[last].round == round_ &&
      areSame(*plan_, box, pieces, box, copies_[last].pieces))
    return copies_[last];
  constexpr uint64_t factor = 0x9e3779b97f4a7c15ull;
  auto hash = static_cast<uint64_t>(device);
  for (Range range : plan_->box(box))
    hash = (hash ^ static_cast<uint64_t>(range.lo) ^
            static_cast<uint64_t>(range.hi) << 32) *
           factor;
  hash ^= hash >> 32;
  size_t mask = places_.size() - 1, at = hash & mask;
  for (; places_[at] >= 0; at = (at + 1) & mask) {
    Copy &copy = copies_[places_[at]];
    if (copy.hash == hash && copy.device == device && copy.round == round_ &&
        areSame(*plan_, box, pieces, copy.box, copy.pieces)) {
      last = places_[at];
      return copy;
    }
  }
  isNew = true;
  last = places_[at] = static_cast<int32_t>(copies_.size());
  Copy &copy = FlatPlan::append(copies_);
  copy.hash = hash;
  copy.device = device;
  copy.box = box;
  copy.round = round_;
  copy.pieces = pieces;
  copy.slot = -1;
  return copy;
}
