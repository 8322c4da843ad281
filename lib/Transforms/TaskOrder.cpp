//===- TaskOrder.cpp - A launch order from tasks alone --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockSimulation.h"
#include "soap/Dialect/NN/IR/LaunchedLate.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include <set>

using namespace mlir;
using namespace soap;

namespace {
/// Launches nodes one after the other and simulates as it goes. Copies that a
/// node reads are launched before it, what moves its results behind it.
class TaskListScheduler {
public:
  TaskListScheduler(Block &block, const Topology &topology,
                    const TaskCosts &costs)
      : topology_(topology), costs_(costs), groups_(launchGroupsOf(block)),
        sources_(groups_.size()), launched_(groups_.size(), false),
        simulation_(topology, nullptr, &costs) {
    for (auto [id, group] : llvm::enumerate(groups_))
      for (Operation *op : group)
        groupOf_[op] = id;
    for (auto [id, group] : llvm::enumerate(groups_))
      for (Operation *op : group)
        for (Value operand : op->getOperands())
          if (auto it = groupOf_.find(operand.getDefiningOp());
              it != groupOf_.end() && it->second != id)
            sources_[id].insert(it->second);
  }

  FailureOr<SmallVector<StringRef>> run(bool byCriticalPath) {
    std::vector<int64_t> toEnd(groups_.size(), 0);
    if (byCriticalPath && failed(findWaysToEnd(toEnd)))
      return failure();
    std::vector<std::set<size_t>> missing(groups_.size());
    SmallVector<size_t> waiting;
    for (size_t id = 0; id < groups_.size(); ++id)
      if (isNode(id)) {
        findNodes(id, missing[id]);
        waiting.push_back(id);
      }
    // What writes parameters stands behind all that may read them.
    for (size_t id : waiting)
      if (isWrite(id))
        for (size_t other : waiting)
          if (!isWrite(other))
            missing[id].insert(other);
    addLate(waiting, missing);
    SmallVector<StringRef> order;
    while (!waiting.empty()) {
      using Key = std::tuple<int64_t, int64_t, size_t>;
      std::optional<Key> best;
      for (size_t id : waiting) {
        if (!missing[id].empty())
          continue;
        int64_t start = readyTime(id);
        if (byCriticalPath)
          for (Operation *op : groups_[id])
            start = std::max(start, simulation_.computeTime(
                                        cast<soapir::TaskOp>(op).getDevice()));
        Key key{start, -toEnd[id], id};
        if (!best || key < *best)
          best = key;
      }
      size_t id = std::get<2>(*best);
      if (failed(launch(id)))
        return failure();
      order.push_back(cast<soapir::TaskOp>(groups_[id].front()).getNode());
      llvm::erase(waiting, id);
      for (size_t other : waiting)
        missing[other].erase(id);
    }
    return order;
  }

private:
  bool isNode(size_t id) const { return isNodeTask(groups_[id].front()); }

  bool isWrite(size_t id) const {
    auto task = cast<soapir::TaskOp>(groups_[id].front());
    return !task.getBlock().getOps<nn::WriteOp>().empty();
  }

  /// Lets nodes wait for what they are launched behind (`nn.after`).
  void addLate(ArrayRef<size_t> waiting,
               std::vector<std::set<size_t>> &missing) const {
    llvm::StringMap<size_t> nodes;
    for (size_t id : waiting)
      nodes[cast<soapir::TaskOp>(groups_[id].front()).getNode()] = id;
    for (size_t id : waiting) {
      auto after =
          groups_[id].front()->getAttrOfType<StringAttr>(nn::afterAttrName);
      if (!after)
        continue;
      if (auto it = nodes.find(after.getValue()); it != nodes.end())
        missing[id].insert(it->second);
    }
  }

  /// Nodes that a group reads of, through copies and actions.
  void findNodes(size_t id, std::set<size_t> &nodes) const {
    for (size_t source : sources_[id]) {
      if (isNode(source))
        nodes.insert(source);
      else
        findNodes(source, nodes);
    }
  }

  /// When all that a node reads is there, but for the copies before it.
  int64_t readyTime(size_t id) const {
    int64_t time = 0;
    for (Operation *op : groups_[id])
      for (Value operand : op->getOperands())
        time = std::max(time, simulation_.readyTime(operand));
    for (size_t source : sources_[id])
      if (!launched_[source])
        time = std::max(time, readyTime(source));
    return time;
  }

  /// A node, what it needs that is no node, and what moves its results.
  LogicalResult launch(size_t id) {
    if (launched_[id])
      return success();
    launched_[id] = true;
    for (size_t source : sources_[id])
      if (failed(launch(source)))
        return failure();
    if (failed(simulation_.launch(groups_[id])))
      return failure();
    if (!isNode(id))
      return success();
    StringRef node = cast<soapir::TaskOp>(groups_[id].front()).getNode();
    for (size_t other = 0; other < groups_.size(); ++other) {
      Operation *first = groups_[other].front();
      auto shards = dyn_cast<soapir::ShardOpInterface>(first);
      if (!launched_[other] && !isNode(other) && shards && !isUnpack(first) &&
          isOf(other, node) && hasAllSources(other) && failed(launch(other)))
        return failure();
    }
    return success();
  }

  /// Whether a group moves a value of a node, in a bucket among others.
  bool isOf(size_t id, StringRef node) const {
    return llvm::any_of(groups_[id], [&](Operation *op) {
      return cast<soapir::ShardOpInterface>(op).getBox(0).getValue() == node;
    });
  }

  /// Whether no node is missing that a group reads of.
  bool hasAllSources(size_t id) const {
    return llvm::all_of(sources_[id], [&](size_t source) {
      return launched_[source] || (!isNode(source) && hasAllSources(source));
    });
  }

  /// The longest way from the start of every group to the end of the step, were
  /// all resources free.
  LogicalResult findWaysToEnd(std::vector<int64_t> &toEnd) {
    for (size_t id = groups_.size(); id-- > 0;) {
      BlockSimulation alone(topology_, nullptr, &costs_);
      if (failed(alone.launch(groups_[id])))
        return failure();
      toEnd[id] += alone.stepNs();
      // Groups stand behind what they read.
      for (size_t source : sources_[id])
        toEnd[source] = std::max(toEnd[source], toEnd[id]);
    }
    return success();
  }

  const Topology &topology_;
  const TaskCosts &costs_;
  std::vector<LaunchGroup> groups_;
  std::vector<std::set<size_t>> sources_; ///< Groups that a group reads of.
  llvm::DenseMap<Operation *, size_t> groupOf_;
  std::vector<bool> launched_;
  BlockSimulation simulation_;
};
} // namespace

FailureOr<SmallVector<StringRef>>
soap::chooseTaskOrder(func::FuncOp main, const Topology &topology,
                      const CostModel &costs, StringRef policy) {
  assert((policy == "fifo" || policy == "critical-path") && "no such policy");
  Block &block = main.getBody().front();
  TaskCosts taskCosts(block, costs);
  return TaskListScheduler(block, topology, taskCosts)
      .run(policy == "critical-path");
}
