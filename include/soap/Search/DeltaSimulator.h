//===- DeltaSimulator.h - What a change does to a step ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delta simulation (Jia et al., "Beyond data and model parallelism", section
// 5.3, asks for the same; the way is another). A change on trial in a TaskGraph
// is simulated from the first changed position of the launch order on, until
// everything is as before but for one constant c: then the rest of the step, up
// to the next change, ends later by c, and is not simulated. docs/Search.md,
// "Delta simulation", has the reasoning.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_DELTASIMULATOR_H
#define SOAP_SEARCH_DELTASIMULATOR_H

#include "soap/Search/SimulatorState.h"

namespace soap {

namespace detail {
class StepTails;
}

class DeltaSimulator {
public:
  /// Simulates `tasks`, which must outlive this. The state of all resources is
  /// kept at every `interval`-th position of the launch order (0: chosen by the
  /// size of the problem).
  explicit DeltaSimulator(const TaskGraph &tasks, int32_t interval = 0);
  ~DeltaSimulator();

  /// Simulates everything: after setStrategy(), update() or setOrder() of the
  /// task graph. Returns the step time.
  int64_t reset();
  /// Step time of the tasks that were accepted last, in nanoseconds. Equals
  /// FullSimulator::stepNs().
  int64_t stepNs() const { return stepNs_; }

  /// What the busiest device computes in a step with the change on trial
  /// (TaskGraph::propose()): no step is shorter.
  int64_t loadNs();

  /// Step time with the change on trial (TaskGraph::propose(), then bound() or
  /// plan()), if it is at most `limit`; else a number above `limit` that the
  /// step time does not fall below. May be called again when the tasks of the
  /// change were replaced.
  int64_t simulate(int64_t limit = INT64_MAX);
  /// Makes the change permanent, as it was simulated; the task graph's accept()
  /// follows. Only after a simulation that ended at or below its limit.
  void accept();
  /// Forgets the change; before or after the task graph's reject().
  void reject();

  /// The times behind stepNs(): of the tasks accepted last, unless a change is
  /// on trial. Equal to those of a full simulation.
  const detail::SimulatorState &state() const { return state_; }

  struct Statistics {
    uint64_t simulations = 0;
    uint64_t positions = 0; ///< Positions of the launch order simulated.
    uint64_t regions = 0;   ///< Times that a simulation started somewhere.
    uint64_t cut = 0;       ///< Simulations that ended above their limit early.
    uint64_t tails = 0;     ///< Simulations that tails ended,
    uint64_t tailRows = 0;  ///< and rows of tails that were computed.
    uint64_t resets = 0;    ///< Simulations of everything.
  };
  const Statistics &statistics() const { return statistics_; }
  /// Memory that the kept states take, in bytes.
  size_t snapshotBytes() const;
  int32_t interval() const { return interval_; }

private:
  struct Region {
    int32_t firstRow, endRow;
    bool converged;
    int64_t shift;      ///< Of all that follows, against what was accepted.
    int64_t recordedAt; ///< Where its rows begin in recordedRows_; or -1.
  };
  /// A use of a value by a compute node.
  struct Use {
    int32_t rank, use, node, operand;
  };
  /// A value of which a round may be launched before a row, and that is read at
  /// it or behind: by uses_[firstUse] and those that follow, up to lastUse.
  struct Crossing {
    int32_t value, firstUse, lastUse;
  };

  void prepare();
  void describeOrder();
  int32_t rowPosition(int32_t row) const;
  size_t rowBegin(int32_t row) const {
    return static_cast<size_t>(row) * numResources_;
  }
  void findChanges();
  void fitBlock(size_t block, size_t size);
  void fitBlocksOf(int32_t value);
  void fitBlocks();
  void makeBounds(int32_t begin, int32_t end);
  void save(int32_t position);
  void saveBlock(size_t block);
  void undo();
  /// Forgets what the trial has saved.
  void close();
  void load(int32_t row, int64_t shift, int32_t unusedSince);
  bool converges(int32_t row, int64_t &shift);
  bool staysAbove(int32_t row, int64_t gain);
  int64_t cutAbove(int64_t limit);
  void simulateRow(int32_t row);
  /// Without `shift`, times have not converged.
  void endRegion(int32_t firstRow, int32_t endRow,
                 std::optional<int64_t> shift);
  bool knowsTails(int32_t row);
  int64_t endNs(int32_t row) const;
  void finish();
  // DeltaLoads.cpp
  void resetLoads();
  void acceptLoads();
  void findChangedLoads();
  void beginChangedLoads();
  void passChangedLoads(int32_t position);
  bool isOverloaded(int32_t row, int64_t limit) const;
  template <typename Each>
  bool forEachWait(const detail::ValueTasks &value, const Use &of,
                   Each each) const;
  template <typename Accept>
  bool checkUses(int32_t row, const Crossing &crossing, Accept acceptable);
  template <typename Accept>
  bool checkCrossings(int32_t row, Accept acceptable);
  template <typename Accept>
  bool checkBucket(int32_t row, int32_t bucket, Accept acceptable) const;
  /// Times in a block, when they were launched with the change and before.
  struct CrossingTimes {
    const int64_t *now = nullptr, *old = nullptr;
    int64_t nowShift = 0, oldShift = 0;
    int64_t nowAt(int32_t slot) const { return now[slot] + nowShift; }
    int64_t oldAt(int32_t slot) const { return old[slot] + oldShift; }
  };
  CrossingTimes timesAt(size_t block, int32_t launched) const;
  std::optional<int64_t> slackOf(const Crossing &crossing,
                                 const CrossingTimes &times);
  /// The slots of a value that say when a bucket ends, and if one behind the
  /// row does.
  struct LateSlots {
    int32_t count = 0, launched = -1;
    bool follow = false;
  };
  LateSlots lateSlotsOf(int32_t value, int32_t row) const;
  void shiftPositions(int32_t begin, int32_t end, int64_t shift);
  const int64_t *writeRows(const Region &region);
  void commit(const Region &region, int64_t shiftBefore);
  void lowerNextStarts(int32_t row);

  const TaskGraph &tasks_;
  int32_t interval_;
  detail::SimulatorState state_;
  int64_t stepNs_ = 0;
  int32_t numPositions_ = 0, numRows_ = 0;
  size_t numResources_ = 0;

  /// @{ Snapshots, [row][resource], less rowShifts_[row]: when the resource is
  /// free, and a lower bound of when it is next used. The end of the step
  /// "uses" all resources.
  std::vector<int64_t> rows_, nextStarts_, rowShifts_;
  /// @}
  std::vector<Use> uses_; ///< Value by value, as they are launched.
  std::vector<llvm::SmallVector<Crossing, 0>> crossings_; ///< Per row.
  /// Per row, the buckets that are launched at it or behind and have values
  /// that are launched before.
  std::vector<llvm::SmallVector<int32_t, 2>> crossingBuckets_;
  /// Up to the first of its uses for which slackOf() is known, since the last
  /// accepted change.
  struct KnownSlack {
    int64_t accepted = -1;
    int32_t firstUse = 0;
  };
  std::vector<KnownSlack> knownSlacks_; ///< Per value.
  std::vector<int64_t> slacks_;         ///< Per use: of it and those behind it.
  /// What follows a row that nothing behind has changed.
  std::unique_ptr<detail::StepTails> tails_;
  /// Rows that were simulated because the tails of the first of them were not
  /// known, since tails were computed last.
  int32_t rowsWithoutTails_ = 0;
  /// [row][device]: what the device computes from the row on.
  std::vector<int64_t> loads_;

  /// @{ The change on trial.
  bool open_ = false;
  uint32_t trial_ = 0;
  std::vector<int32_t> changed_; ///< Positions, ascending.
  /// Nodes that changed, by position: position and place among the proposed
  /// nodes. Those before the next one have been simulated; what the others add
  /// to the loads, per device.
  std::vector<std::pair<int32_t, int32_t>> changedNodes_;
  size_t nextChangedNode_ = 0;
  std::vector<int64_t> loadsAhead_, loadsOfChange_;
  uint64_t loadsKnownOf_ = 0;          ///< The change, by its number.
  std::vector<uint32_t> changedAt_;    ///< Per position: the trial.
  std::vector<uint32_t> simulatedAt_;  ///< Likewise.
  std::vector<int64_t> segmentShifts_; ///< Per position: what it was shifted.
  std::vector<int64_t> shiftsBefore_;  ///< Per position that was simulated.
  struct Segment {
    int32_t begin, end;
    int64_t shift;
  };
  llvm::SmallVector<Segment, 4> segments_;
  llvm::SmallVector<Region, 4> regions_;
  std::vector<int32_t> simulated_; ///< Positions, in turn.
  struct SavedBlock {
    size_t block;
    size_t offset;
  };
  std::vector<SavedBlock> savedBlocks_;
  llvm::SmallVector<int64_t, 0> savedTimes_;
  std::vector<uint32_t> savedIn_; ///< Per block: the trial.
  std::vector<size_t> savedOffset_;
  struct MovedBlock {
    size_t block;
    detail::SimulatorState::Block before;
  };
  std::vector<MovedBlock> movedBlocks_;
  size_t numPending_ = 0; ///< Values whose bounds were not made yet.
  /// Resources that are as before, and when they were free.
  std::vector<std::pair<size_t, int64_t>> unused_;
  size_t sizeBefore_ = 0;
  int64_t trialNs_ = 0;
  /// The row at which tails ended the simulation, and where its last region
  /// begins; -1: they did not.
  int32_t stoppedAt_ = -1, stoppedRegion_ = 0;
  /// How often trials were accepted lately. Where many are, simulations record
  /// what acceptance keeps: per row, when resources are free before it and when
  /// they are used first; behind a region, when they are free.
  double acceptance_ = 0;
  static constexpr size_t mostRecorded = size_t(1) << 21; ///< Words.
  bool isRecorded_ = false;
  size_t regionRecord_ = 0; ///< Where the rows of the region begin.
  llvm::SmallVector<int64_t, 0> recordedRows_;
  uint32_t accepted_ = 0; ///< Since the last reset.
  size_t sizeAtReset_ = 0;
  /// @}
  Statistics statistics_;
};

} // namespace soap

#endif // SOAP_SEARCH_DELTASIMULATOR_H
