//===- Change.h - A change of a strategy that is being made -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_CHANGE_H
#define SOAP_LIB_SEARCH_CHANGE_H

#include "Proposals.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace soap::detail {

/// A change of a strategy: each group gets another configuration at most once.
class Change {
public:
  Change(const ProposalContext &context, Strategy &strategy, Edit &edit)
      : graph_(context.graph), space_(context.space), strategy_(strategy),
        edit_(edit), isChanged_(graph_.numGroups()) {}

  const OperatorGraph &graph() const { return graph_; }
  const ConfigurationSpace &space() const { return space_; }
  /// With the change, as far as it was made.
  const Strategy &strategy() const { return strategy_; }
  /// Nodes that have changed, in turn.
  llvm::ArrayRef<int32_t> changed() const { return edit_.nodes; }
  bool isChanged(int32_t group) const { return isChanged_.test(group); }

  int32_t leader(int32_t group) const { return graph_.group(group).front(); }
  const Configuration &configOf(int32_t group) const {
    return strategy_.configs[leader(group)];
  }
  bool allows(int32_t group, const Configuration &config) const {
    return space_.allows(group, config.degrees);
  }

  /// Gives a group a configuration, unless it has changed already.
  void set(int32_t group, const Configuration &config);
  /// Gives an update a configuration; not that of a group which has changed.
  void setUpdate(int32_t update, const Configuration &config);
  /// Says whether what reads an update's parameter gathers it again.
  void setRegathered(int32_t update, bool isRegathered);
  /// The configuration that keeps a group where its main operand is; nothing if
  /// it has none or the configuration is not in the space.
  std::optional<Configuration> whereMainIs(int32_t group) const;
  /// Gives a group that configuration. False if there is none.
  bool followMain(int32_t group);

private:
  /// Records those of `nodes` that `assign` changes.
  void record(llvm::ArrayRef<int32_t> nodes, llvm::function_ref<void()> assign);

  const OperatorGraph &graph_;
  const ConfigurationSpace &space_;
  Strategy &strategy_;
  Edit &edit_;
  llvm::BitVector isChanged_; ///< Per group.
};

/// A configuration with one loop split in two more: each task keeps one half,
/// the first or the last one, and leaves the other to a device from 0 to
/// `devices` - 1 that none of the tasks is on. Nothing if there are too few of
/// these.
std::optional<Configuration> splitFurther(const Configuration &config,
                                          size_t loop, bool keepsFirst,
                                          int32_t devices);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_CHANGE_H
