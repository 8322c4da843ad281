//===- TaskExpansion.h - Operations as tasks to be scheduled ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_TASKEXPANSION_H
#define SOAP_LIB_SEARCH_TASKEXPANSION_H

#include "DegreesCosts.h"
#include "EarliestFinish.h"
#include "soap/Search/ConfigurationSpace.h"

namespace soap::detail {

/// Which memory counts when tasks are given to devices.
enum class MemoryAccount : uint8_t {
  Parameters, ///< Parameters, constants and what is kept between steps.
  Everything  ///< All results, too, as if none were ever freed.
};

/// The tasks of all compute nodes at given degrees, as a graph for
/// scheduleByRank(), and strategies from where they are put. A unit is a task
/// of a group's leader together with the tasks of all members that run where it
/// does (memberConfiguration()): an operation and its gradients stay together.
///
/// A task reads from each task of the producer whose result overlaps with what
/// it reads, as many bytes as overlap: from all parts of a partial result, from
/// one of several copies. An operation that sums up unreduced parts reads the
/// part of its own number.
class TaskExpansion {
public:
  explicit TaskExpansion(const SearchProblem &problem);

  /// `degrees`: one per group, in the loops of its leader; those of groups that
  /// do not compute are not looked at.
  ScheduledGraph expand(llvm::ArrayRef<Degrees> degrees, MemoryAccount memory);
  /// Of the graph that was expanded last: its configurations, and the launch
  /// order by the time at which the first task of each node starts. Updates
  /// follow their groups.
  Strategy strategyOf(llvm::ArrayRef<Degrees> degrees,
                      const FinishTimes &times) const;
  /// The group of a task.
  int32_t groupOf(int32_t task) const { return groupOf_[task]; }

private:
  struct Node {
    Configuration config; ///< `devices` are the places of leaders' tasks.
    int32_t firstTask = 0;
  };
  /// What a task of a node reads from one of another.
  struct Piece {
    int32_t reader, source;
    int64_t bytes;
  };
  void addNode(int32_t id, MemoryAccount memory, ScheduledGraph &scheduled);
  void addInputs(int32_t id, int32_t operand, ScheduledGraph &scheduled);
  llvm::ArrayRef<int64_t> bytesOf(int32_t id, MemoryAccount memory);
  llvm::ArrayRef<Piece> piecesOf(int32_t id, int32_t operand);

  SearchProblem problem_;
  ConfigurationSpace space_;
  DegreesCosts costs_;
  std::vector<Node> nodes_;
  std::vector<int32_t> firstUnit_; ///< Per group.
  std::vector<int32_t> groupOf_;   ///< Per task.
  /// @{ Attempts to split one operation ask for the others again and again: by
  /// node and degrees, the memory of every task; and by node, operand and the
  /// degrees of both sides, who reads what from whom.
  llvm::DenseMap<Key, std::vector<int64_t>> bytes_;
  llvm::DenseMap<Key, std::vector<Piece>> pieces_;
  /// @}
};

/// All nodes in the order of their start times, as far as operands allow it:
/// ties go to the lower position in the graph. Inputs and parameters stand in
/// front, writes of parameters and outputs behind.
std::vector<int32_t> orderByStart(const OperatorGraph &graph,
                                  llvm::ArrayRef<int64_t> starts);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_TASKEXPANSION_H
