//===- CopyTable.h - Which device has copied what ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_COPYTABLE_H
#define SOAP_LIB_SEARCH_COPYTABLE_H

#include "soap/Partition/FlatPlan.h"

namespace soap::detail {

/// The copies that devices make of pieces of shards. A device copies a box once
/// per plan, whoever needs the copy first.
class CopyTable {
public:
  struct Copy {
    uint64_t hash;
    int32_t device, box, round;
    FlatPlan::Slice pieces;
    int32_t slot; ///< When it was made; -1: by an unpack.
  };

  /// Empties the table, for the ports and reads of `plan`.
  void clear(const FlatPlan &plan);
  /// Whose copies are looked up: rounds share none.
  void setRound(int32_t round) { round_ = round; }
  /// The copy of `box` that `device` has. A new one has slot -1. Holds until
  /// the next call.
  Copy &findOrAdd(int32_t device, int32_t box, FlatPlan::Slice pieces,
                  bool &isNew);
  /// True if two devices that put these boxes together from these pieces have
  /// the same.
  static bool areSame(const FlatPlan &plan, int32_t box, FlatPlan::Slice pieces,
                      int32_t otherBox, FlatPlan::Slice otherPieces);

private:
  const FlatPlan *plan_ = nullptr;
  int32_t round_ = 0;
  FlatPlan::List<Copy> copies_;
  /// Per box the copy of it that was looked up last, or -1.
  FlatPlan::List<int32_t> copyOfBox_;
  /// Indices into copies_ by hash, -1: free. The size is a power of two.
  FlatPlan::List<int32_t> places_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_COPYTABLE_H
