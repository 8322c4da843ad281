//===- TaskLevelGraph.cpp - Tasks, transfers, dependencies ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Section 5.1, and the first half of section 5.3: the graph of a strategy, and
// of one that differs from it in some configurations.
//
//===----------------------------------------------------------------------===//

#include "TaskLevelGraph.h"
#include "soap/Search/KernelDescription.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace soap;
using namespace soap::test;

/// Number of elements that two boxes share. Most pairs share none: this is the
/// inner loop, and makes no box.
static int64_t sharedVolume(const Box &a, const Box &b) {
  int64_t elements = 1;
  for (size_t dim = 0; dim < a.size(); ++dim) {
    int64_t size =
        std::min(a[dim].hi, b[dim].hi) - std::max(a[dim].lo, b[dim].lo);
    if (size <= 0)
      return 0;
    elements *= size;
  }
  return elements;
}

TaskLevelGraph::TaskLevelGraph(const OperatorGraph &graph,
                               const Topology &topology, const CostModel &costs)
    : graph_(graph), topology_(topology), costs_(costs),
      nodes_(graph.numNodes()), costCache_(graph.numNodes()) {
  assert(graph.numNodes() < 1 << 20 && "more nodes than ranks");
  int32_t count = 0;
  for (const GraphNode &node : graph.nodes()) {
    assert(node.operands.size() < 0xfff && "more operands than ranks");
    firstConnection_.push_back(count);
    count += static_cast<int32_t>(node.operands.size());
  }
  connections_.resize(count);
  size_t vertices = topology.numDevices() + 1;
  first_.assign(vertices + vertices * vertices, none);
  last_ = first_;
}

TaskLevelGraph::Rank TaskLevelGraph::rankOf(int32_t node, int32_t operand,
                                            int32_t reader, int32_t writer) {
  return static_cast<Rank>(node) << 44 |
         static_cast<Rank>(operand < 0 ? 0xfff : operand) << 32 |
         static_cast<Rank>(reader) << 16 | static_cast<Rank>(writer);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

int32_t TaskLevelGraph::addTask(Rank rank, int32_t queue, int64_t exeNs) {
  int32_t id = static_cast<int32_t>(tasks_.size());
  if (free_.empty()) {
    tasks_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Task &task = tasks_[id];
  bool isChanged = task.isChanged; // The last one in this entry may still be.
  task = Task();
  task.rank = rank;
  task.queue = queue;
  task.exeNs = exeNs;
  task.exists = true;
  task.isChanged = isChanged;
  ++numTasks_;
  markChanged(id);
  return id;
}

void TaskLevelGraph::removeTask(int32_t id) {
  Task &task = tasks_[id];
  if (task.placedNs != never) {
    if (task.next != none)
      markChanged(task.next);
    unlink(id);
  }
  task.exists = false;
  free_.push_back(id);
  --numTasks_;
}

void TaskLevelGraph::markChanged(int32_t task) {
  if (tasks_[task].isChanged)
    return;
  tasks_[task].isChanged = true;
  changed_.push_back(task);
}

const std::vector<std::vector<int64_t>> &TaskLevelGraph::exeTimes(int32_t id) {
  const GraphNode &node = graph_.node(id);
  const Degrees &degrees = strategy_.configs[id].degrees;
  std::vector<int32_t> key(degrees.loops.begin(), degrees.loops.end());
  key.push_back(degrees.replicate);
  auto [entry, isNew] = costCache_[id].try_emplace(std::move(key));
  if (!isNew)
    return entry->second;
  for (int64_t task = 0; task < degrees.numTasks(); ++task) {
    TaskWork work = graph_.taskWork(id, degrees, task);
    KernelAccess access{
        node.spec, node.kinds, tileOfTask(node.spec, degrees, task), {}, {},
        {},        {}};
    for (auto [operand, value] : llvm::enumerate(node.operands)) {
      access.operands.push_back(nodes_[id].operands[operand][task]);
      access.operandBytes.push_back(graph_.value(value).elementBytes);
    }
    for (auto [result, value] : llvm::enumerate(node.results)) {
      access.results.push_back(nodes_[id].results[result][task]);
      access.resultBytes.push_back(graph_.value(value).elementBytes);
    }
    KernelQuery query = describeKernel(access, work);
    std::vector<int64_t> &times = entry->second.emplace_back();
    for (const DeviceKind &kind : topology_.kinds())
      times.push_back(costs_.kernelNs(query, kind));
  }
  return entry->second;
}

void TaskLevelGraph::setNode(int32_t id) {
  const GraphNode &node = graph_.node(id);
  const Configuration &config = strategy_.configs[id];
  NodeState &state = nodes_[id];
  for (int32_t task : state.tasks)
    removeTask(task);
  state.tasks.clear();
  if (node.role == NodeRole::Input || node.role == NodeRole::Output)
    return;
  size_t count = config.devices.size();
  assert(count <= 0xffff && "more tasks than ranks");
  state.operands.assign(node.operands.size(), {});
  state.results.assign(node.results.size(), {});
  for (size_t task = 0; task < count; ++task) {
    for (auto [operand, value] : llvm::enumerate(node.operands))
      state.operands[operand].push_back(
          operandBox(node.spec, operand, config.degrees,
                     static_cast<int64_t>(task), graph_.value(value).shape));
    for (auto [result, value] : llvm::enumerate(node.results))
      state.results[result].push_back(
          resultBox(node.spec, result, config.degrees,
                    static_cast<int64_t>(task), graph_.value(value).shape));
  }
  if (node.role != NodeRole::Compute)
    return;
  const auto &times = exeTimes(id);
  for (auto [index, device] : llvm::enumerate(config.devices)) {
    int32_t number = static_cast<int32_t>(index);
    state.tasks.push_back(addTask(rankOf(id, none, number, number), device,
                                  times[index][topology_.device(device).kind]));
  }
}

//===----------------------------------------------------------------------===//
// Dependencies
//===----------------------------------------------------------------------===//

void TaskLevelGraph::removeTransfers(Connection &connection) {
  for (const Dependency &dependency : connection.dependencies)
    if (dependency.transfer != none)
      removeTask(dependency.transfer);
  connection.dependencies.clear();
}

void TaskLevelGraph::connect(int32_t id, size_t operand) {
  const GraphNode &node = graph_.node(id);
  const GraphValue &value = graph_.value(node.operands[operand]);
  const GraphNode &source = graph_.node(value.producer);
  Connection &connection = connectionOf(id, operand);
  if (node.role != NodeRole::Compute || source.role == NodeRole::Input)
    return;
  const Configuration &config = strategy_.configs[id];
  const Configuration &from = strategy_.configs[value.producer];
  const NodeState &readers = nodes_[id], &writers = nodes_[value.producer];
  size_t copies = from.degrees.replicate, numWriters = from.devices.size();
  int32_t vertices = topology_.numDevices() + 1;

  connection.readerBegin.assign(1, 0);
  connection.writerBegin.assign(numWriters + 1, 0);
  std::vector<int32_t> writerOf;
  for (auto [reader, receiver] : llvm::enumerate(config.devices)) {
    const Box &needed = readers.operands[operand][reader];
    markChanged(readers.tasks[reader]);
    for (size_t tile = 0; tile < numWriters && !isEmpty(needed);
         tile += copies) {
      int64_t elements =
          sharedVolume(writers.results[value.result][tile], needed);
      if (elements == 0)
        continue;
      size_t writer = tile;
      for (size_t copy = tile + 1; copy < tile + copies; ++copy)
        if (topology_.routeCost(from.devices[copy], receiver) <
            topology_.routeCost(from.devices[writer], receiver))
          writer = copy;
      int32_t sender = from.devices[writer];
      Dependency dependency{writers.tasks.empty() ? none
                                                  : writers.tasks[writer],
                            none, readers.tasks[reader]};
      if (sender != receiver) {
        const Route &route = topology_.route(sender, receiver);
        int64_t ns = route.latencyNs +
                     std::llround(static_cast<double>(elements) *
                                  value.elementBytes / route.bandwidth * 1e9);
        dependency.transfer = addTask(
            rankOf(id, static_cast<int32_t>(operand),
                   static_cast<int32_t>(reader), static_cast<int32_t>(writer)),
            vertices + sender * vertices + receiver, ns);
      }
      connection.dependencies.push_back(dependency);
      writerOf.push_back(static_cast<int32_t>(writer));
      ++connection.writerBegin[writer + 1];
    }
    connection.readerBegin.push_back(
        static_cast<int32_t>(connection.dependencies.size()));
  }
  // A counting sort.
  for (size_t writer = 0; writer < numWriters; ++writer)
    connection.writerBegin[writer + 1] += connection.writerBegin[writer];
  std::vector<int32_t> next(connection.writerBegin);
  connection.byWriter.resize(writerOf.size());
  for (auto [index, writer] : llvm::enumerate(writerOf))
    connection.byWriter[next[writer]++] = static_cast<int32_t>(index);
}

void TaskLevelGraph::build(const Strategy &strategy) {
  strategy_ = strategy;
  tasks_.clear();
  free_.clear();
  changed_.clear();
  numTasks_ = 0;
  first_.assign(first_.size(), none);
  last_.assign(last_.size(), none);
  for (Connection &connection : connections_)
    connection.dependencies.clear();
  for (int32_t id = 0; id < graph_.numNodes(); ++id) {
    nodes_[id].tasks.clear();
    setNode(id);
  }
  for (int32_t id = 0; id < graph_.numNodes(); ++id)
    for (size_t operand = 0; operand < graph_.node(id).operands.size();
         ++operand)
      connect(id, operand);
}

void TaskLevelGraph::update(const Strategy &strategy,
                            llvm::ArrayRef<int32_t> nodes) {
  llvm::SmallVector<std::pair<int32_t, int32_t>, 16> operands;
  for (int32_t id : nodes) {
    strategy_.configs[id] = strategy.configs[id];
    for (size_t i = 0; i < graph_.node(id).operands.size(); ++i)
      operands.push_back({id, static_cast<int32_t>(i)});
    for (int32_t result : graph_.node(id).results)
      for (const GraphValue::Use &use : graph_.value(result).uses)
        operands.push_back({use.node, use.operand});
  }
  llvm::sort(operands);
  operands.erase(llvm::unique(operands), operands.end());
  for (auto [node, operand] : operands)
    removeTransfers(connectionOf(node, operand));
  for (int32_t id : nodes)
    setNode(id);
  for (auto [node, operand] : operands)
    connect(node, operand);
}

std::vector<TaskTimes> TaskLevelGraph::timeline() const {
  std::vector<const Task *> sorted;
  for (const Task &task : tasks_)
    if (task.exists)
      sorted.push_back(&task);
  llvm::sort(sorted,
             [](const Task *a, const Task *b) { return a->rank < b->rank; });
  int32_t vertices = topology_.numDevices() + 1;
  std::vector<TaskTimes> result;
  for (const Task *task : sorted) {
    int32_t operand = static_cast<int32_t>(task->rank >> 32 & 0xfff);
    bool isTransfer = operand != 0xfff;
    int32_t pair = task->queue - vertices;
    result.push_back({static_cast<int32_t>(task->rank >> 44),
                      isTransfer ? operand : none,
                      static_cast<int32_t>(task->rank >> 16 & 0xffff),
                      static_cast<int32_t>(task->rank & 0xffff),
                      isTransfer ? pair / vertices : task->queue,
                      isTransfer ? pair % vertices : task->queue, task->readyNs,
                      task->startNs, task->endNs});
  }
  return result;
}
