//===- StepTails.h - How long a step goes on from a row ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A simulation in a fixed order knows only maxima and sums with constants. So
// what is launched from some position of the launch order on is a linear
// function in the algebra of max and plus: the step ends at the latest of (time
// that goes in + its tail), over all resources and all times of earlier values
// that are waited for. A tail is the longest way from there to the end of the
// step. It depends on what is launched behind the position alone, not on when.
// docs/Search.md, "Delta simulation", has the reasoning.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_STEPTAILS_H
#define SOAP_LIB_SEARCH_STEPTAILS_H

#include "soap/Search/SimulatorState.h"

namespace soap::detail {

/// Tails at every `interval`-th position of the launch order (a row), in
/// nanoseconds, for the tasks that were accepted last.
class StepTails {
public:
  /// Nothing from which there is no way to the end, and far from overflow.
  static constexpr int64_t none = INT64_MIN / 4;

  explicit StepTails(const TaskGraph &tasks) : tasks_(tasks) {}

  /// Forgets all tails; rows are at every `interval`-th position.
  void reset(int32_t interval, int32_t numRows, size_t numResources);
  /// Forgets the tails in front of `position`, where something has changed.
  void forgetBefore(int32_t position);
  /// The first row of which the tails are known.
  int32_t firstKnown() const { return firstKnown_; }
  /// Makes the tails of `row` known. No change may be on trial at or behind it.
  void extendTo(int32_t row);

  /// @{ Of a known row: per resource, numbered as in
  /// SimulatorState::resources.
  const int64_t *ofResources(int32_t row) const {
    return &rows_[static_cast<size_t>(row) * numResources_];
  }
  /// From the start of each task of a node, and of each copy that unpacks an
  /// operand (TaskGraph::operandIndex()), launched behind a known row.
  llvm::ArrayRef<int64_t> ofNode(int32_t node) const {
    return nodeTails_[node];
  }
  llvm::ArrayRef<int64_t> ofUnpacks(int32_t operandIndex) const {
    return unpackTails_[operandIndex];
  }
  /// From the start of each collective of a bucket that is launched behind a
  /// known row.
  llvm::ArrayRef<int64_t> ofBucket(int32_t bucket) const {
    return bucketTails_[bucket];
  }
  /// @}
  size_t bytes() const { return rows_.size() * sizeof(int64_t); }

private:
  void passPosition(int32_t position);
  void passNode(int32_t node);
  void passValue(int32_t value, int32_t round = 0);
  void passCopies(llvm::ArrayRef<int32_t> devices, llvm::ArrayRef<int64_t> ns,
                  llvm::ArrayRef<Wait> waits, int32_t slot);
  void passBucket(int32_t bucket);
  void passInputs(int32_t value, const ActionTasks &action, int32_t bucket);
  void raiseSlots(int32_t value, bool late, int32_t round);
  int64_t passCollective(llvm::ArrayRef<int32_t> devices,
                         llvm::ArrayRef<LinkUse> links, int64_t ns,
                         int64_t occupiesNs, bool hasPriority, int64_t tail);
  void passCollective(const ActionTasks &action, bool held);
  void passTransfers(const ActionTasks &action, bool held);
  int64_t passLinks(llvm::ArrayRef<LinkUse> links, int64_t tail);
  int64_t passBusyLinks(llvm::ArrayRef<LinkUse> links, int64_t tail);
  void passWaits(llvm::ArrayRef<Wait> waits, llvm::ArrayRef<Wait> producerWaits,
                 const int64_t *tails);

  const TaskGraph &tasks_;
  int32_t interval_ = 0, numRows_ = 0, numEnds_ = 0, firstPriority_ = 0,
          firstKnown_ = 0;
  size_t numResources_ = 0;
  std::vector<int64_t> rows_; ///< [row][resource].
  std::vector<llvm::SmallVector<int64_t, 0>> nodeTails_, unpackTails_,
      bucketTails_;
  /// @{ At the place where the pass stands: resources; slots of the value at
  /// hand; ends of the producer's tasks as far as its values wait for them.
  std::vector<int64_t> now_, slots_, producer_, scratch_;
  /// @}
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_STEPTAILS_H
