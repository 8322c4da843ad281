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
#include "soap/Search/SearchProblem.h"
#include "soap/Search/TaskDevices.h"

namespace soap {

/// How one operation runs: `#soap.config<{n = 2} replicate = 1 on [0, 1]
/// regather [1]>`. Tasks are numbered as in taskIndices().
struct Configuration {
  Degrees degrees;
  TaskDevices devices;                    ///< One per task.
  llvm::SmallVector<int32_t, 1> regather; ///< Operand numbers, ascending.

  bool operator==(const Configuration &o) const {
    return degrees == o.degrees && devices == o.devices &&
           regather == o.regather;
  }
  bool operator!=(const Configuration &o) const { return !(*this == o); }
};

/// All of one task on one device.
Configuration onDevice(const GraphNode &node, int32_t device);

/// The configuration of a member of a group, which follows from the leader's:
/// each of its loops is split as the leader's loop that it runs along
/// (GraphNode::leaderLoops), and its task runs where the leader's task at the
/// same tile does. Splits of the leader's other loops make copies, along these
/// loops in the leader's order and then along its copies. So one rule orders
/// devices, whatever order of loops a member declares. `regather` is empty.
Configuration memberConfiguration(const GraphNode &leader,
                                  const Configuration &config,
                                  const GraphNode &member);

/// The configuration of a member of an update that does not follow its group,
/// from that of the update's leader, likewise (GraphNode::updateLoops).
Configuration updateConfiguration(const GraphNode &leader,
                                  const Configuration &config,
                                  const GraphNode &member);

struct Strategy {
  std::vector<Configuration> configs; ///< One per node, of every role.
  /// Nodes in launch order; empty: the graph's own order.
  std::vector<int32_t> order;
  /// In place of OperatorGraph::bucketBytes, if greater than 0.
  int64_t bucketBytes = 0;

  bool operator==(const Strategy &o) const {
    return configs == o.configs && order == o.order &&
           bucketBytes == o.bucketBytes;
  }
};

/// How large the buckets of gradients are with a strategy, at most.
inline int64_t bucketBytesOf(const Strategy &strategy,
                             const OperatorGraph &graph) {
  return strategy.bucketBytes > 0 ? strategy.bucketBytes : graph.bucketBytes;
}

/// Fails with the first mistake of a strategy: a degree that does not fit, a
/// device that does not exist, a device count other than degrees times
/// replicate, a compute node on the host, an order that launches a node before
/// its operands, members of a group or an update that disagree. Memory is
/// checked by checkMemory().
llvm::Error verify(const Strategy &strategy, const OperatorGraph &graph,
                   const Topology &topology);
/// The same for one node.
llvm::Error verify(const Configuration &config, const GraphNode &node,
                   const Topology &topology);

/// True if an update has a configuration of its own: another one than follows
/// from that of its group's leader. The parameter lives where the update is,
/// and so does the state of the optimizer; the gradient is reduced to its
/// tiles, and readers of the parameter get theirs from there in every step.
bool isUpdateApart(const Strategy &strategy, const OperatorGraph &graph,
                   int32_t update);
/// The configuration that an update has when it follows its group, in the loops
/// of its leader.
Configuration followingUpdate(const Strategy &strategy,
                              const OperatorGraph &graph, int32_t update);
/// Gives all members of an update their configurations, `config` being that of
/// its leader. Parameters stay where they are: deriveEnds() is due.
void assignUpdate(Strategy &strategy, const OperatorGraph &graph,
                  int32_t update, const Configuration &config);

/// The configuration by which an update is sharded: what has copies on several
/// devices when it follows its group is split over these devices instead, along
/// the first dimension of the parameter that they divide. Nothing if there is
/// none, if it has no copies, or if a device would have fewer than
/// `leastElements` elements of the parameter.
inline constexpr int64_t leastElementsOfShard = 1024;
std::optional<Configuration>
shardedUpdate(const Strategy &strategy, const OperatorGraph &graph,
              int32_t update, int64_t leastElements = leastElementsOfShard);

/// True if the update is apart and has this configuration.
bool isUpdateSharded(const Strategy &strategy, const OperatorGraph &graph,
                     int32_t update,
                     int64_t leastElements = leastElementsOfShard);

/// The readers of an update's parameter, in the graph's order, that gather it
/// again if it is `regathered`: those between which and the reader before
/// something reads another parameter that is updated. Neighbours share what one
/// of them gathers, as do the last layer's forward and backward pass. Members
/// of updates read their own tiles.
llvm::SmallVector<GraphValue::Use, 2> laterReaders(const OperatorGraph &graph,
                                                   int32_t update);
/// Says that the first reader and laterReaders() gather the parameter, right
/// before they read it, or that all share what was gathered for the first.
void setRegathered(Strategy &strategy, const OperatorGraph &graph,
                   int32_t update, bool isRegathered);
/// True if they all do, and there are some.
bool isRegathered(const Strategy &strategy, const OperatorGraph &graph,
                  int32_t update);

/// Gives the members of groups that are not `given` (one entry per node) the
/// configurations that follow from those of their leaders, which are; members
/// of updates, from those of the leaders of updates.
void deriveMembers(Strategy &strategy, std::vector<bool> &given,
                   const OperatorGraph &graph);

/// The strategy of a model that is used between steps of training, from that of
/// a step. Nodes of one name run alike: each loop of the evaluation's node that
/// indexes its first result is split as the loop of the step's node that
/// indexes the same dimension, on the same devices. A node that the step does
/// not have follows the first of its operands that is computed, likewise.
/// Parameters that the step writes live where it keeps them, others where they
/// are read. Launch order is the graph's own.
Strategy evaluationStrategy(const OperatorGraph &step, const Strategy &strategy,
                            const OperatorGraph &evaluation,
                            const Topology &topology);

/// Fills in the configurations of inputs and outputs (on the host) and of
/// parameters and constants (the tiles that their consumers read, where they
/// read them, so that nothing has to move). With `node` >= 0 only those that
/// this compute node reads; the changed nodes are appended to `changed`.
void deriveEnds(Strategy &strategy, const OperatorGraph &graph,
                const Topology &topology, int32_t node = -1,
                llvm::SmallVectorImpl<int32_t> *changed = nullptr);

/// What deriveEnds() gives one node, if that is something new.
std::optional<Configuration> deriveEnd(const Strategy &strategy,
                                       const OperatorGraph &graph,
                                       const Topology &topology, int32_t node);

/// Derives the ends of the graph that are not `given` (one entry per node); all
/// compute nodes are.
void deriveMissingEnds(Strategy &strategy, const std::vector<bool> &given,
                       const OperatorGraph &graph, const Topology &topology);

//===----------------------------------------------------------------------===//
// Named strategies
//===----------------------------------------------------------------------===//
//
// Strategies by rule, as experts write them. `devices`: only devices 0 to
// `devices`-1 are used; 0, or more than there are: all.

/// Everything on one device.
Strategy singleDevice(const OperatorGraph &graph, const Topology &topology,
                      int32_t device = 0);
/// The first sample loop of every node is split min(devices, extent) ways.
Strategy dataParallel(const OperatorGraph &graph, const Topology &topology,
                      int32_t devices = 0);
/// Consecutive nodes, in one block per device: a balanced cut, in which the
/// block that takes longest is as short as it can be. Of such cuts, each block
/// takes as many nodes as fit, from device 0 on.
Strategy modelParallel(const SearchProblem &problem, int32_t devices = 0);
/// Data parallel, with parameters, their updates and the state of the optimizer
/// sharded (shardedUpdate()), and gradients reduced to the shards alone:
/// Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
/// parameter models", 2020, section 5, stages 1 and 2. But for parameters of
/// which an update changes some slices: each device keeps them whole.
Strategy zero(const OperatorGraph &graph, const Topology &topology,
              int32_t devices = 0);
/// The same, with sharded parameters that are gathered again for the backward
/// pass (setRegathered()), so that no layer's are whole for longer than it
/// runs: stage 3, as in Zhao et al., "PyTorch FSDP: experiences on scaling
/// fully sharded data parallel", 2023, section 3.
Strategy fullySharded(const OperatorGraph &graph, const Topology &topology,
                      int32_t devices = 0);
/// Parameter loops are split, else whatever the operand that a node reads is
/// split by.
Strategy tensorParallel(const OperatorGraph &graph, const Topology &topology,
                        int32_t devices = 0);
/// The largest attribute loop that indexes the result is split; what has no
/// parameters follows its operand.
Strategy spatial(const OperatorGraph &graph, const Topology &topology,
                 int32_t devices = 0);
/// Krizhevsky, "One weird trick for parallelizing convolutional neural
/// networks", 2014: fully connected layers (isFullyConnected()) are split by
/// output channel, other layers with weights by sample; what has no weights
/// follows its operand.
Strategy oneWeirdTrick(const OperatorGraph &graph, const Topology &topology,
                       int32_t devices = 0);
/// Wu et al., "Google's neural machine translation system", 2016, as in Jia et
/// al., section 8: data parallel across the machines of a cluster, and the
/// layers in one block per device of a machine. A layer is what shares weights
/// (layerDepths()); blocks are a balanced cut of the depths, so that with at
/// least as many devices as depths each depth has a device of its own.
Strategy expertRNN(const SearchProblem &problem, int32_t devices = 0);
/// Every node at random. Structured: grids over all loops, reductions and
/// replicate included, on contiguous device sets. Otherwise uniform over
/// degrees and devices.
Strategy randomStrategy(const OperatorGraph &graph, const Topology &topology,
                        uint64_t seed, bool structured = true,
                        int32_t devices = 0);

/// The weights among a node's operands: derived from parameters only, not
/// indexed by a sample loop, and contracted: some dimension of more than one
/// element is indexed by no loop of the first result.
llvm::SmallVector<int32_t, 2> weightOperands(const OperatorGraph &graph,
                                             int32_t node);
/// True for a matrix product with weights: every dimension of the weights is
/// indexed by a loop, so that there is no window (a convolution, whatever the
/// size of its kernel) and no step (a recurrent layer), and a parameter loop
/// indexes the result.
bool isFullyConnected(const OperatorGraph &graph, int32_t node);
/// Per node, the number of layers with weights on the way to it and with it.
/// Nodes that read the same weights (the steps of a recurrent layer) are one
/// layer, as deep as the first of them.
std::vector<int32_t> layerDepths(const OperatorGraph &graph);

/// A strategy with a name on the command line.
struct NamedStrategy {
  llvm::StringLiteral name;
  llvm::StringLiteral description; ///< A few words, for usage texts.
  /// A start of every search and a row of every report; others make test cases.
  bool isListed;
  /// It is another one than "data-parallel" where parameters are updated.
  bool isOfUpdates;
  /// `seed` is that of random ones.
  Strategy (*make)(const SearchProblem &problem, int32_t devices,
                   uint64_t seed);
};
/// All of them, listed ones first.
llvm::ArrayRef<NamedStrategy> namedStrategies();
/// Their names, joined by commas and "or": "single, data-parallel or ...". With
/// `more` behind them.
std::string namedStrategyNames(llvm::ArrayRef<llvm::StringRef> more = {});

/// A named strategy. Error: an unknown name.
llvm::Expected<Strategy> expertStrategy(llvm::StringRef name,
                                        const SearchProblem &problem,
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
/// "simulated_ns", "seed", "order": NAME|[nodes], "bucket_bytes", "ops":
/// [{"op", "degrees", "replicate", "devices", "regather"}], "parameters":
/// [{"parameter", "degrees", "replicate", "devices", "regather"}]}.
/// "bucket_bytes" is missing where it is 0. Operands in `regather` of
/// "ops" are numbers or names of the nodes that produce them. "parameters" are
/// those whose updates have configurations of their own, `regather` being true
/// where setRegathered() is; without any of them, there is no such list.
std::string toJSON(const Strategy &strategy, const OperatorGraph &graph,
                   const StrategyInfo &info);

/// Reads a strategy. An entry's `op` is a node's name or, if there is none
/// called so, a regular expression that matches whole names; where several
/// entries name a node, the last one wins. A regular expression means inputs
/// and outputs only if its devices are the host, and members of groups never:
/// they follow their leaders (memberConfiguration()), which an entry that names
/// one has to agree with. Entries of "parameters" give the updates of the
/// parameters of that name, or of those whose names a regular expression
/// matches, configurations of their own, in the loops of the update (d0, d1,
/// ...: the dimensions of the parameter). Compute nodes that no entry names are
/// an error that lists them; ends of the graph that no entry names are derived.
/// The host is written "host". `order` is "graph", the name of a policy
/// (launchPolicyNames()) or a list of nodes; nodes that do not compute may be
/// left out of it. Errors: a fingerprint of another model, unknown keys, nodes
/// or loops (with the nearest known ones), a regular expression that matches
/// nothing, what verify() finds.
llvm::Expected<Strategy> parseStrategy(llvm::StringRef json,
                                       const SearchProblem &problem,
                                       StrategyInfo *info = nullptr);

/// The number of devices that a strategy file uses (highest id plus one).
llvm::Expected<int32_t> devicesOfStrategy(llvm::StringRef json);

} // namespace soap

#endif // SOAP_SEARCH_STRATEGY_H
