//===- Strategy.h - One configuration per operation -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parallelization strategy S (Jia et al., "Beyond data and model
// parallelism", section 4): a configuration per operation, and the order in
// which the operations are launched.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_STRATEGY_H
#define SOAP_SEARCH_STRATEGY_H

#include "soap/CostModel/CostModel.h"
#include "soap/Search/OperatorGraph.h"

namespace soap {

/// How one operation runs: `#soap.config<{n = 2} replicate = 1 on [0, 1]
/// regather [1]>`. Tasks are numbered as in taskIndices().
struct Configuration {
  Degrees degrees;
  llvm::SmallVector<int32_t, 8> devices;  ///< One per task.
  llvm::SmallVector<int32_t, 1> regather; ///< Operand numbers, ascending.

  bool operator==(const Configuration &o) const {
    return degrees == o.degrees && devices == o.devices &&
           regather == o.regather;
  }
  bool operator!=(const Configuration &o) const { return !(*this == o); }
};

/// All of one task on one device.
Configuration onDevice(const GraphNode &node, int32_t device);

struct Strategy {
  std::vector<Configuration> configs; ///< One per node, of every role.
  /// Nodes in launch order; empty: the graph's own order.
  std::vector<int32_t> order;

  bool operator==(const Strategy &o) const {
    return configs == o.configs && order == o.order;
  }
};

/// The first mistake of a strategy: a degree that does not fit, a device that
/// does not exist, a device count other than degrees times replicate, a
/// compute node on the host, an order that launches a node before its operands,
/// members of a group that disagree. Empty if it is valid. Memory is checked by
/// the TaskGraph.
std::string verify(const Strategy &strategy, const OperatorGraph &graph,
                   const Topology &topology);
/// The same for one node.
std::string verify(const Configuration &config, const GraphNode &node,
                   const Topology &topology);

/// Fills in the configurations of inputs and outputs (on the host) and of
/// parameters and constants (the tiles that their consumers read, where they
/// read them, so that nothing has to move). With `node` >= 0 only those that
/// this compute node reads; the changed nodes are appended to `changed`.
void deriveEnds(Strategy &strategy, const OperatorGraph &graph,
                const Topology &topology, int32_t node = -1,
                llvm::SmallVectorImpl<int32_t> *changed = nullptr);

/// Derives the ends of the graph that are not `given` (one entry per node); all
/// compute nodes are.
void deriveMissingEnds(Strategy &strategy, const std::vector<bool> &given,
                       const OperatorGraph &graph, const Topology &topology);

//===----------------------------------------------------------------------===//
// Expert strategies
//===----------------------------------------------------------------------===//

/// Everything on one device.
Strategy singleDevice(const OperatorGraph &graph, const Topology &topology,
                      int32_t device = 0);
/// The first sample loop of every node is split min(P, extent) ways.
Strategy dataParallel(const OperatorGraph &graph, const Topology &topology);
/// Consecutive nodes, in blocks of about equal work, one block per device.
Strategy modelParallel(const OperatorGraph &graph, const Topology &topology,
                       const CostModel &costs);
/// Parameter loops are split over devices 0 to `devices`-1 (0: all), else
/// whatever the operand that a node reads is split by.
Strategy tensorParallel(const OperatorGraph &graph, const Topology &topology,
                        int32_t devices = 0);
/// The largest attribute loop that indexes the result is split over devices 0
/// to `devices`-1 (0: all); what has no parameters follows its operand.
Strategy spatial(const OperatorGraph &graph, const Topology &topology,
                 int32_t devices = 0);
/// Every node at random. Structured: grids over all loops, reductions and
/// replicate included, on contiguous device sets. Otherwise uniform over
/// degrees and devices.
Strategy randomStrategy(const OperatorGraph &graph, const Topology &topology,
                        uint64_t seed, bool structured = true);

/// One of the above by its name on the command line ("single",
/// "data-parallel", "model-parallel", "tensor-parallel", "spatial", "random").
llvm::Expected<Strategy> expertStrategy(llvm::StringRef name,
                                        const OperatorGraph &graph,
                                        const Topology &topology,
                                        const CostModel &costs,
                                        uint64_t seed = 0);

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// What a strategy file says beside the strategy.
struct StrategyInfo {
  std::string fingerprint, topology;
  int64_t simulatedNs = 0;
  uint64_t seed = 0;
  std::string policy; ///< Name of the policy that made the order, or empty.
};

/// JSON: {"format": "soap-strategy", "model_fingerprint", "topology",
/// "simulated_ns", "seed", "order": NAME|[nodes], "ops": [{"op", "degrees",
/// "replicate", "devices", "regather"}]}. Operands in `regather` are numbers or
/// names of the nodes that produce them.
std::string toJSON(const Strategy &strategy, const OperatorGraph &graph,
                   const StrategyInfo &info);

/// Reads a strategy. An entry's `op` is a node's name or, if there is none
/// called so, a regular expression that matches whole names; where several
/// entries name a node, the last one wins. A regular expression means inputs
/// and outputs only if its devices are the host. Compute nodes that no entry
/// names are an error that lists them; ends of the graph that no entry names
/// are derived. The host is written "host". `order` is "graph", the name of a
/// policy (launchPolicyNames(), timed with `costs`) or a list of nodes; nodes
/// that do not compute may be left out of it. Errors: a fingerprint of another
/// model, unknown keys, nodes or loops (with the nearest known ones), a regular
/// expression that matches nothing, what verify() finds.
llvm::Expected<Strategy> parseStrategy(llvm::StringRef json,
                                       const OperatorGraph &graph,
                                       const Topology &topology,
                                       StrategyInfo *info = nullptr,
                                       const CostModel &costs = CostModel());

/// The number of devices that a strategy file uses (highest id plus one).
llvm::Expected<int32_t> devicesOfStrategy(llvm::StringRef json);

} // namespace soap

#endif // SOAP_SEARCH_STRATEGY_H
