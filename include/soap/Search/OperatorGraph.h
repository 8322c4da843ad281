//===- OperatorGraph.h - The operator graph, without IR ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operator graph G of Jia et al., "Beyond data and model parallelism",
// section 3, as plain structs: extracted from IR once, or built by hand.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_OPERATORGRAPH_H
#define SOAP_SEARCH_OPERATORGRAPH_H

#include "soap/Partition/PartitionSpec.h"
#include "llvm/ADT/BitVector.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace soap {

/// What a node is to the simulation. Only Compute nodes cost time; inputs and
/// outputs live on the topology's host; parameters and constants live where
/// their configuration says.
enum class NodeRole : uint8_t { Compute, Input, Output, Parameter, Constant };
llvm::StringRef stringify(NodeRole role);

/// Whether a result may be made where an operand lies that nothing reads any
/// more: each element where the same one of an operand of its shape lies, or
/// over the first operand, most of which is left as it is.
enum class Overwrites : uint8_t { Nothing, PerElement, First };

/// One tensor: result `result` of node `producer`.
struct GraphValue {
  llvm::SmallVector<int64_t, 5> shape;
  int32_t elementBytes = 4;
  int32_t producer = -1;
  int32_t result = 0;

  /// A use: operand `operand` of node `node`.
  struct Use {
    int32_t node, operand;
  };
  /// @{ Filled by finish(). Uses are in node order, then operand order.
  llvm::SmallVector<Use, 2> uses;
  DimTraits traits;
  int32_t replacement = -1; ///< OperatorGraph::replacements()
  /// @}

  int64_t bytes() const;
};

/// One operation.
struct GraphNode {
  std::string name; ///< `nn.name`, unique.
  std::string op;   ///< Name of the operation, for reports ("nn.conv").
  NodeRole role = NodeRole::Compute;
  PartitionSpec spec;
  llvm::SmallVector<int32_t, 4> operands, results; ///< Values.
  /// Nodes of one group (an op and its gradients) share one decision: the
  /// configuration of its leader, from which those of
  /// the other members follow (memberConfiguration()). The default, -1, becomes
  /// a group of its own in finish().
  int32_t group = -1;
  /// Leads its group; where no member says so, the first one does.
  bool leads = false;
  /// Per loop, the loop of the group's leader that it runs along, or -1: this
  /// loop is never split. If empty, finish() takes the leader's loop of the
  /// same name. A loop of one unit runs along none.
  llvm::SmallVector<int16_t, 6> leaderLoops;
  /// Nodes with one number update one parameter. They are in one group, whose
  /// configuration they follow unless a strategy gives the update one of its
  /// own. -1: part of no update.
  int32_t update = -1;
  bool leadsUpdate =
      false; ///< The update's configuration is that of this node.
  /// Per loop, the loop of the update's leader that it runs along if the update
  /// does not follow the group; filled by finish(), by the names of loops.
  llvm::SmallVector<int16_t, 6> updateLoops;
  llvm::SmallVector<LoopKind, 6> kinds; ///< Per loop, filled by finish().
  /// The operand, a parameter's value, that the node gives its value of the
  /// next step; -1: none. Such nodes stand behind all that read the value.
  int32_t writtenOperand = -1;
  Overwrites overwrites = Overwrites::Nothing;
  bool makesViews = false; ///< Results may lie where operands do.
  /// Results are the same in every step: a constant, or a parameter that no
  /// program writes. Copies of them on one device take no time in a step.
  bool isFixed = false;
  /// A node before this one, behind which this one stands in every launch
  /// order, although it reads nothing of it; both compute. -1: none. No time
  /// passes between the two.
  int32_t after = -1;
  /// The operand behind whose producer the library applies this node, an
  /// operation per element; -1: none. A task that reads a whole tile of the
  /// producer, made on its own device, is part of the kernel that makes the
  /// tile: it takes no time of its own.
  int32_t followedOperand = -1;
  /// Input only: dimensions of the result that are batch dimensions, as bits;
  /// dimension 0 by default.
  uint32_t sampleDims = 1;
};

/// What one task of a node is, as far as only the op knows. The shape of a
/// contraction follows from the spec.
struct TaskWork {
  std::string key;  ///< KernelKey; empty where nobody wants to know it.
  double flops = 0; ///< Closed form on the task's boxes.
  /// Read from and written to memory. Absent: every element of the boxes once.
  std::optional<double> bytes = std::nullopt;
  Precision precision = Precision::F32; ///< What a product multiplies.
};
/// @{ Thread-safe; called once per distinct tile shape of (node, degrees).
using TaskWorkFn =
    std::function<TaskWork(int32_t node, const Degrees &degrees, int64_t task)>;
using KernelKeyFn = std::function<std::string(
    int32_t node, const Degrees &degrees, int64_t task)>;
/// @}

class OperatorGraph {
public:
  std::string name;        ///< Of the model, for reports.
  std::string fingerprint; ///< Of the model's ops, attributes, shapes, names.
  /// Gradients that are reduced together have so many bytes at most
  /// (soap/Partition/Buckets.h); 0: each is reduced by itself.
  int64_t bucketBytes = 0;
  /// Tensors of the graph may have channels last: some node reads images
  /// (nn::readsImages()).
  bool hasImages = false;
  /// How far ahead of their readers parameters are gathered again
  /// (soap/Partition/Prefetches.h); 0: one node.
  int64_t prefetchBytes = 0;

  /// @{ Construction in topological order, which is the default launch order.
  /// A node's operands must exist. Returns the node's id; its results are
  /// created with the given shapes.
  int32_t addNode(GraphNode node,
                  llvm::ArrayRef<llvm::SmallVector<int64_t, 5>> resultShapes,
                  llvm::ArrayRef<int32_t> elementBytes);
  /// The callback for flops, bytes and KernelKey. Without it, flops are twice
  /// the product of all loop extents and the non-unit window sizes, and keys
  /// are empty.
  /// With `key`, the work needs none: a key takes as long as all the rest, and
  /// is made only where it is wanted.
  void setTaskWork(TaskWorkFn work, KernelKeyFn key = nullptr) {
    work_ = std::move(work);
    key_ = std::move(key);
  }
  /// Fills uses, traits, loop kinds and groups. Returns check().
  llvm::Error finish();
  /// @}

  /// Fails with the first mistake: an operand that is not produced before, a
  /// spec that breaks its invariants, a name used twice, and others.
  llvm::Error check() const;

  int32_t numNodes() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t numValues() const { return static_cast<int32_t>(values_.size()); }
  const GraphNode &node(int32_t id) const { return nodes_[id]; }
  const GraphValue &value(int32_t id) const { return values_[id]; }
  llvm::ArrayRef<GraphNode> nodes() const { return nodes_; }
  llvm::ArrayRef<GraphValue> values() const { return values_; }
  /// Result `result` of a node, as a value id.
  int32_t valueOf(int32_t node, int32_t result = 0) const {
    return nodes_[node].results[result];
  }
  /// The use of a value by which it is written (GraphNode::writtenOperand), or
  /// null.
  const GraphValue::Use *findWrite(int32_t value) const {
    for (const GraphValue::Use &use : values_[value].uses)
      if (nodes_[use.node].writtenOperand == use.operand)
        return &use;
    return nullptr;
  }
  /// A value that is summed up: a gradient of a parameter, which a node reads
  /// whose result writes the parameter (an update), or a small one.
  struct Sum {
    int32_t value;
    bool isGradient;
  };
  /// Values on the way from a parameter to its next one: the last of them,
  /// which is written, comes first, and each is made over the one behind it,
  /// the last one over the parameter, unless that is read later or lies
  /// elsewhere.
  struct Replacement {
    int32_t parameter; ///< A value.
    llvm::SmallVector<int32_t, 1> values;
    /// Nodes that read the parameter, or views of it, but for the one that
    /// writes it and the one that is first to make a value over it.
    llvm::SmallVector<int32_t, 4> readers;
  };
  llvm::ArrayRef<Replacement> replacements() const { return replacements_; }
  /// The replacement that a value is part of, or null.
  const Replacement *findReplacement(int32_t value) const {
    int32_t index = values_[value].replacement;
    return index < 0 ? nullptr : &replacements_[index];
  }
  /// What may be reduced in buckets (soap/Partition/Buckets.h), by value.
  std::vector<Sum> sums() const;
  /// Nodes whose results write parameters.
  llvm::BitVector updatingNodes() const;
  /// The node called `name`, or -1.
  int32_t find(llvm::StringRef name) const;
  /// Members of a group, its leader first.
  llvm::ArrayRef<int32_t> group(int32_t id) const { return groups_[id]; }
  bool isLeader(int32_t id) const {
    return groups_[nodes_[id].group].front() == id;
  }
  /// The leader of the group of a node.
  const GraphNode &leaderOf(const GraphNode &node) const {
    return nodes_[groups_[node.group].front()];
  }
  int32_t numGroups() const { return static_cast<int32_t>(groups_.size()); }
  /// Members of an update, its leader first.
  llvm::ArrayRef<int32_t> update(int32_t id) const { return updates_[id]; }
  int32_t numUpdates() const { return static_cast<int32_t>(updates_.size()); }
  /// The parameter, a node, that an update is of: the first one that its leader
  /// reads and a member writes.
  int32_t parameterOf(int32_t update) const;

  /// True for values that lie in memory before a step: those of parameters and
  /// constants.
  bool isStored(int32_t value) const {
    NodeRole role = nodes_[values_[value].producer].role;
    return role == NodeRole::Parameter || role == NodeRole::Constant;
  }

  TaskWork taskWork(int32_t node, const Degrees &degrees, int64_t task,
                    bool wantsKey = true) const;

private:
  /// check() of a node that follows another one.
  llvm::Error checkFollower(int32_t id) const;
  /// check() of a node that writes a parameter.
  llvm::Error checkWrite(int32_t id) const;
  /// check() of a node as a member of its group.
  llvm::Error checkGroup(int32_t id) const;
  /// check() of updates.
  llvm::Error checkUpdates() const;
  /// Numbers groups and updates, and finds along which loops members run.
  void fillGroups();
  void fillUpdates();
  void fillReplacements();
  llvm::SmallVector<int32_t, 1> findReplacing(int32_t value,
                                              int32_t parameter) const;

  std::vector<GraphNode> nodes_;
  std::vector<GraphValue> values_;
  std::vector<llvm::SmallVector<int32_t, 1>> groups_, updates_;
  std::vector<Replacement> replacements_;
  TaskWorkFn work_;
  KernelKeyFn key_;
};

} // namespace soap

#endif // SOAP_SEARCH_OPERATORGRAPH_H
