//===- ConfigurationSpace.h - What a search may choose from -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The configurations of one operation: every way to split its loops (Jia et
// al., "Beyond data and model parallelism", section 4), copies of its tasks,
// and every assignment of tasks to devices.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_CONFIGURATIONSPACE_H
#define SOAP_SEARCH_CONFIGURATIONSPACE_H

#include "soap/Search/Random.h"
#include "soap/Search/Strategy.h"
#include <memory>

namespace soap {

class ConfigurationSpace {
public:
  /// Tasks are put on devices 0 to `devices`-1 (0, or more than there are:
  /// all). `maxTasks` bounds the product of degrees and replicate; 0: the
  /// number of devices. Above eight, only divisors of it and powers of two are
  /// degrees.
  ConfigurationSpace(const OperatorGraph &graph, const Topology &topology,
                     int32_t maxTasks = 0, int32_t devices = 0);

  /// Groups of compute nodes: what a search decides about.
  llvm::ArrayRef<int32_t> groups() const { return groups_; }
  /// Tasks are put on devices 0 to numDevices()-1.
  int32_t numDevices() const { return numDevices_; }
  /// The degrees that fit all members of a group, in the loops of its first
  /// member.
  llvm::ArrayRef<Degrees> degrees(int32_t group) const;
  /// Per loop of the group's first member, its units in the member that has the
  /// fewest: the highest degree that fits all of them.
  llvm::ArrayRef<int64_t> extents(int32_t group) const {
    return extents_[group];
  }
  /// True if no degree is higher than extents(group). Named strategies take
  /// degrees that fit, but are not among degrees(group).
  bool fits(int32_t group, const Degrees &degrees) const;
  /// The degrees of an update that does not follow its group, in the loops of
  /// its leader.
  std::vector<Degrees> updateDegrees(int32_t update) const;
  /// True if they are among updateDegrees(update).
  bool allowsUpdate(int32_t update, const Degrees &degrees) const;
  /// True if they are among degrees(group).
  bool allows(int32_t group, const Degrees &degrees) const;
  /// Number of configurations of a group.
  double size(int32_t group) const;
  /// All configurations of a group.
  std::vector<Configuration> all(int32_t group) const;

  /// Any configuration, each degree vector and then each placement with the
  /// same probability.
  Configuration sample(int32_t group, Random &random) const;
  /// A grid on a contiguous set of devices: what good strategies are made of.
  Configuration sampleStructured(int32_t group, Random &random) const;
  /// One loop alone split, or copies alone, on a contiguous set of devices;
  /// large degrees first.
  Configuration sampleSimple(int32_t group, Random &random) const;
  /// The same degrees of another group by the names of its loops, on the same
  /// devices; nothing if they do not fit.
  std::optional<Configuration> sameAs(int32_t group, int32_t other,
                                      const Configuration &config) const;

  /// mainOperand() of a node.
  int32_t mainOperandOf(int32_t node) const { return mainOperands_[node]; }

  /// Gives a group its configuration, in the loops of every member.
  /// `config` is in the loops of the first member. If the strategy has had one
  /// of the group, updates that were sharded (isUpdateSharded()) are so again;
  /// all others follow the group.
  void assign(Strategy &strategy, int32_t group,
              const Configuration &config) const;

private:
  /// All degrees within some extents, listed when they are first asked for.
  struct DegreesList;

  /// True if degrees are at most `extents` and in the space.
  bool allows(llvm::ArrayRef<int64_t> extents, const Degrees &degrees) const;
  /// Puts tasks on devices that follow each other.
  void placeInARow(Configuration &config, Random &random) const;

  const OperatorGraph &graph_;
  int32_t numDevices_, maxTasks_;
  std::vector<int32_t> groups_;
  std::vector<int32_t> mainOperands_; ///< Per node.
  /// Per group of compute nodes; groups with equal extents have the same one.
  std::vector<std::shared_ptr<DegreesList>> lists_;
  std::vector<llvm::SmallVector<int64_t, 6>> extents_; ///< Per group.
  std::vector<bool> isAllowed_;                        ///< Per degree.
  llvm::SmallVector<int32_t> allowed_;                 ///< Such degrees.
};

/// A configuration of `node` in which every task sits where the tile of operand
/// `operand` that it reads is, as far as the producer's degrees carry over to
/// the node's loops.
Configuration followOperand(const OperatorGraph &graph,
                            const Strategy &strategy, int32_t node,
                            int32_t operand);

/// The operand that a node follows: its largest that a compute node produces,
/// or -1.
int32_t mainOperand(const OperatorGraph &graph, int32_t node);

} // namespace soap

#endif // SOAP_SEARCH_CONFIGURATIONSPACE_H
