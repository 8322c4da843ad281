//===- PlanVerifier.h - Checks communication plans --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the library. The verifier shares nothing with the planner but the
// data structures: it compares boxes pair by pair, where the planner counts on
// grids.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_PARTITION_PLANVERIFIER_H
#define SOAP_LIB_PARTITION_PLANVERIFIER_H

#include "soap/Partition/CommPlan.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace soap::detail {

inline bool overlap(const Box &a, const Box &b) {
  return !isEmpty(intersect(a, b));
}

/// A region of one tile together with the partial results summed up in it.
struct Content {
  Box box;
  int64_t tile;
  llvm::BitVector parts;
};

class PlanVerifier {
public:
  PlanVerifier(const ValuePlan &plan, const Layout &producer,
               llvm::ArrayRef<Need> consumers)
      : plan_(plan), producer_(producer), consumers_(consumers),
        users_(plan.actions.size(), llvm::BitVector(consumers.size())) {}
  llvm::Error run();

private:
  llvm::Error checkTaskShards();
  llvm::Error checkReductions();
  // ActionVerifier.cpp
  llvm::Error checkAction(int32_t index);
  llvm::Error checkTransfers(const Action &action);
  llvm::Error checkCollective(const Action &action);
  llvm::Error checkReduction(const Action &action);
  llvm::Error checkPort(const Port &port, int32_t action);
  llvm::Error checkOutputs(int32_t index);

  llvm::Error checkReads();
  /// Whether a read is one piece of a partial value.
  bool isPart(const Read &read) const;
  /// A read of part `part` of one tile.
  llvm::Error checkPartRead(const Read &read, int32_t part) const;
  llvm::Error checkRounds() const;
  llvm::Error checkConsumers();
  /// Pieces lie inside their shards and `box`, on `device`, are disjoint and
  /// cover the box. `complete`: whether the shards are complete or partial.
  llvm::Error checkPieces(llvm::ArrayRef<Piece> pieces, const Box &box,
                          int32_t device, bool complete);
  bool isReduction(const Action &action) const {
    return action.kind == ActionKind::AllReduce ||
           action.kind == ActionKind::ReduceScatter;
  }

  const ValuePlan &plan_;
  const Layout &producer_;
  llvm::ArrayRef<Need> consumers_;
  std::vector<std::vector<Content>> contents_; ///< Per shard with parts.
  std::vector<char> ready_;                    ///< Per shard.
  std::vector<Box> reduced_;                   ///< By actions so far.
  std::vector<llvm::BitVector> users_;         ///< Per action.
};

} // namespace soap::detail

#endif // SOAP_LIB_PARTITION_PLANVERIFIER_H
