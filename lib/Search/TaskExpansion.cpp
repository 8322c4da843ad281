//===- TaskExpansion.cpp - Operations as tasks to be scheduled ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskExpansion.h"
#include <queue>

using namespace soap;
using namespace soap::detail;

TaskExpansion::TaskExpansion(const SearchProblem &problem)
    : problem_(problem), space_(problem.graph, problem.topology),
      costs_(problem_), nodes_(problem.graph.numNodes()),
      firstUnit_(problem.graph.numGroups(), -1) {}

static int64_t numElements(const Box &box) {
  int64_t elements = 1;
  for (const Range &range : box)
    elements *= std::max<int64_t>(0, range.size());
  return elements;
}

ScheduledGraph TaskExpansion::expand(llvm::ArrayRef<Degrees> degrees,
                                     MemoryAccount memory) {
  const OperatorGraph &graph = problem_.graph;
  ScheduledGraph scheduled;
  groupOf_.clear();
  for (int32_t group : space_.groups()) {
    firstUnit_[group] = static_cast<int32_t>(scheduled.unitBytes.size());
    scheduled.unitBytes.resize(
        scheduled.unitBytes.size() + degrees[group].numTasks(), 0);
  }
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute)
      continue;
    Configuration places;
    places.degrees = degrees[node.group];
    for (int64_t task = 0; task < places.degrees.numTasks(); ++task)
      places.devices.push_back(static_cast<int32_t>(task));
    nodes_[id].config =
        graph.isLeader(id)
            ? std::move(places)
            : memberConfiguration(graph.leaderOf(node), places, node);
    addNode(id, memory, scheduled);
  }
  return scheduled;
}

void TaskExpansion::addNode(int32_t id, MemoryAccount memory,
                            ScheduledGraph &scheduled) {
  const OperatorGraph &graph = problem_.graph;
  const GraphNode &node = graph.node(id);
  Node &expanded = nodes_[id];
  const Degrees &degrees = expanded.config.degrees;
  expanded.firstTask = static_cast<int32_t>(scheduled.tasks.size());
  const DegreesCost &cost = costs_.of(id, degrees);
  llvm::ArrayRef<int64_t> bytes = bytesOf(id, memory);
  for (auto [index, place] : llvm::enumerate(expanded.config.devices)) {
    ScheduledGraph::Task task;
    task.unit = firstUnit_[node.group] + place;
    llvm::ArrayRef<int64_t> ns(cost.ns[cost.classOf[index]]);
    task.ns.assign(ns.begin(), ns.end());
    scheduled.unitBytes[task.unit] += bytes[index];
    scheduled.tasks.push_back(std::move(task));
    groupOf_.push_back(node.group);
  }
  for (size_t operand = 0; operand < node.operands.size(); ++operand) {
    int32_t producer = graph.value(node.operands[operand]).producer;
    if (graph.node(producer).role == NodeRole::Compute)
      addInputs(id, static_cast<int32_t>(operand), scheduled);
  }
}

static void addDegrees(KeyBuilder &key, const Degrees &degrees) {
  key.addAll(llvm::ArrayRef<int32_t>(degrees.loops));
  key.add(degrees.replicate);
}

/// The memory that each task of a node takes.
llvm::ArrayRef<int64_t> TaskExpansion::bytesOf(int32_t id,
                                               MemoryAccount memory) {
  const OperatorGraph &graph = problem_.graph;
  const GraphNode &node = graph.node(id);
  const Degrees &degrees = nodes_[id].config.degrees;
  KeyBuilder key;
  key.add(id);
  key.add(static_cast<int64_t>(memory));
  addDegrees(key, degrees);
  auto [known, isNew] = bytes_.try_emplace(key.key());
  std::vector<int64_t> &bytes = known->second;
  if (!isNew)
    return bytes;
  bytes.assign(degrees.numTasks(), 0);
  for (auto [operand, value] : llvm::enumerate(node.operands)) {
    const GraphValue &read = graph.value(value);
    NodeRole role = graph.node(read.producer).role;
    // A parameter counts where an update reads it, if there is one.
    if ((role == NodeRole::Parameter &&
         (!graph.findWrite(value) || node.update >= 0)) ||
        role == NodeRole::Constant)
      for (auto [task, sum] : llvm::enumerate(bytes))
        sum += read.elementBytes *
               numElements(operandBox(node.spec, operand, degrees,
                                      static_cast<int64_t>(task), read.shape));
  }
  if (memory == MemoryAccount::Everything)
    for (auto [result, value] : llvm::enumerate(node.results))
      for (auto [task, sum] : llvm::enumerate(bytes))
        sum += graph.value(value).elementBytes *
               numElements(resultBox(node.spec, result, degrees,
                                     static_cast<int64_t>(task),
                                     graph.value(value).shape));
  return bytes;
}

/// True if a task makes another copy of what one with a smaller number makes.
static bool isCopyAlongLoops(const GraphNode &node, int32_t result,
                             const Degrees &degrees, int64_t task) {
  if (node.spec.results[result].combine != Combine::Same)
    return false;
  llvm::SmallVector<int32_t, 6> at = taskIndices(degrees, task);
  for (size_t loop = 0; loop < degrees.loops.size(); ++loop)
    if (at[loop] != 0 && node.spec.isReduction(loop, result))
      return true;
  return false;
}

llvm::ArrayRef<TaskExpansion::Piece> TaskExpansion::piecesOf(int32_t id,
                                                             int32_t operand) {
  const GraphNode &reader = problem_.graph.node(id);
  const GraphValue &value = problem_.graph.value(reader.operands[operand]);
  const GraphNode &producer = problem_.graph.node(value.producer);
  const Degrees &made = nodes_[value.producer].config.degrees,
                &read = nodes_[id].config.degrees;
  KeyBuilder key;
  key.add(id);
  key.add(operand);
  addDegrees(key, made);
  addDegrees(key, read);
  auto [known, isNew] = pieces_.try_emplace(key.key());
  std::vector<Piece> &pieces = known->second;
  if (!isNew)
    return pieces;
  struct Tile {
    int32_t first; ///< Of its copies.
    Box box;
  };
  std::vector<Tile> tiles;
  for (int32_t task = 0; task < made.numTasks(); task += made.replicate)
    if (!isCopyAlongLoops(producer, value.result, made, task))
      tiles.push_back({task, resultBox(producer.spec, value.result, made, task,
                                       value.shape)});
  bool byPart = reader.spec.operands[operand].unreduced &&
                made.numTasks() == read.numTasks();
  for (int32_t task = 0; task < read.numTasks(); ++task) {
    Box box = operandBox(reader.spec, operand, read, task, value.shape);
    if (isEmpty(box) && !box.empty())
      continue;
    for (const Tile &tile : tiles) {
      // Of copies, the one whose number is that of the reader's.
      int32_t source = tile.first + task % read.replicate % made.replicate;
      if (byPart && source != task)
        continue;
      int64_t bytes =
          value.elementBytes * numElements(intersect(box, tile.box));
      if (bytes > 0)
        pieces.push_back({task, source, bytes});
    }
  }
  return pieces;
}

void TaskExpansion::addInputs(int32_t id, int32_t operand,
                              ScheduledGraph &scheduled) {
  int32_t producer =
      problem_.graph.value(problem_.graph.node(id).operands[operand]).producer;
  for (const Piece &piece : piecesOf(id, operand))
    scheduled.tasks[nodes_[id].firstTask + piece.reader].inputs.push_back(
        {nodes_[producer].firstTask + piece.source, piece.bytes});
}

Strategy TaskExpansion::strategyOf(llvm::ArrayRef<Degrees> degrees,
                                   const FinishTimes &times) const {
  const OperatorGraph &graph = problem_.graph;
  Strategy strategy = singleDevice(graph, problem_.topology);
  for (int32_t group : space_.groups()) {
    Configuration config;
    config.degrees = degrees[group];
    auto first = times.devices.begin() + firstUnit_[group];
    config.devices.assign(first, first + config.degrees.numTasks());
    space_.assign(strategy, group, config);
  }
  deriveEnds(strategy, graph, problem_.topology);
  std::vector<int64_t> starts(graph.numNodes(), 0);
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    auto first = times.starts.begin() + nodes_[id].firstTask;
    starts[id] =
        *std::min_element(first, first + nodes_[id].config.degrees.numTasks());
  }
  strategy.order = orderByStart(graph, starts);
  return strategy;
}

std::vector<int32_t> detail::orderByStart(const OperatorGraph &graph,
                                          llvm::ArrayRef<int64_t> starts) {
  std::vector<int32_t> order, writes, outputs;
  std::vector<int32_t> missing(graph.numNodes(), 0);
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role == NodeRole::Output) {
      outputs.push_back(id);
    } else if (node.role != NodeRole::Compute) {
      order.push_back(id);
    } else if (node.writtenOperand >= 0) {
      writes.push_back(id);
    } else {
      for (int32_t value : node.operands)
        missing[id] +=
            graph.node(graph.value(value).producer).role == NodeRole::Compute;
      if (missing[id] == 0)
        ready.push({starts[id], id});
    }
  }
  while (!ready.empty()) {
    int32_t id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (int32_t value : graph.node(id).results)
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (const GraphNode &reader = graph.node(use.node);
            reader.role == NodeRole::Compute && reader.writtenOperand < 0 &&
            --missing[use.node] == 0)
          ready.push({starts[use.node], use.node});
  }
  order.insert(order.end(), writes.begin(), writes.end());
  order.insert(order.end(), outputs.begin(), outputs.end());
  return order;
}
