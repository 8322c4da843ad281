//===- TaskGraph.cpp - Tasks and communication of a strategy --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/TaskGraph.h"
#include "CompileTasks.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

namespace {
/// Bytes of integers: the keys of all caches.
class KeyBuilder {
public:
  void add(int32_t number) {
    key.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }
  void add(llvm::ArrayRef<int32_t> numbers) {
    add(static_cast<int32_t>(numbers.size()));
    key.append(reinterpret_cast<const char *>(numbers.data()),
               numbers.size() * sizeof(int32_t));
  }
  std::string key;
};

/// Costs of the tasks of a node under some degrees, wherever they run.
struct DegreesCost {
  std::vector<int32_t> classOf;         ///< Per task.
  std::vector<std::vector<int64_t>> ns; ///< [class][device kind].
};

struct CachedNode {
  int32_t id;
  std::shared_ptr<const NodeTasks> tasks;
};

size_t sizeOf(const ValueTasks &tasks) {
  size_t size = sizeof(tasks);
  for (const ActionTasks &action : tasks.actions)
    size += sizeof(action) + action.devices.size() * 24 +
            action.transfers.size() * sizeof(TransferTask) +
            action.links.size() * sizeof(LinkUse) +
            (action.moveWaits.size() + action.producerWaits.size()) * 8;
  for (const UseTasks &use : tasks.uses)
    size += sizeof(use) + use.unpackDevices.size() * 12 +
            (use.unpackWaits.size() + use.computeWaits.size()) * 8;
  return size + (tasks.shardBytes.size() + tasks.planBytes.size()) * 16;
}
} // namespace

struct TaskGraph::Cache {
  /// Compiled plans are dropped when they fill this much memory.
  static constexpr size_t limitBytes = size_t(384) << 20;

  std::vector<std::unordered_map<std::string, CachedNode>> nodes;
  std::vector<std::unordered_map<std::string, DegreesCost>> degrees;
  std::vector<
      std::unordered_map<std::string, std::shared_ptr<const ValueTasks>>>
      values;
  size_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

TaskGraph::TaskGraph(const OperatorGraph &graph, const Topology &topology,
                     const CostModel &costs)
    : graph_(graph), topology_(topology), costs_(costs),
      configIds_(graph.numNodes(), -1), nodeTasks_(graph.numNodes()),
      valueTasks_(graph.numValues()), cache_(std::make_unique<Cache>()) {
  cache_->nodes.resize(graph.numNodes());
  cache_->degrees.resize(graph.numNodes());
  cache_->values.resize(graph.numValues());
  for (const GraphNode &node : graph.nodes()) {
    useBase_.push_back(static_cast<int32_t>(useIndex_.size()));
    useIndex_.resize(useIndex_.size() + node.operands.size());
  }
  for (const GraphValue &value : graph.values())
    for (auto [index, use] : llvm::enumerate(value.uses))
      useIndex_[useBase_[use.node] + use.operand] = static_cast<int32_t>(index);
}

TaskGraph::~TaskGraph() = default;

void TaskGraph::setStrategy(const Strategy &strategy) {
  bool sameOrder = !order_.empty() && strategy.order == strategy_.order;
  strategy_ = strategy;
  if (!sameOrder)
    updateOrder();
  for (int32_t id = 0; id < graph_.numNodes(); ++id)
    updateNode(id);
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    updateValue(id);
}

void TaskGraph::update(const Strategy &strategy,
                       llvm::ArrayRef<int32_t> nodes) {
  SmallVector<int32_t, 32> values;
  for (int32_t node : nodes) {
    strategy_.configs[node] = strategy.configs[node];
    updateNode(node);
    values.append(graph_.node(node).operands.begin(),
                  graph_.node(node).operands.end());
    values.append(graph_.node(node).results.begin(),
                  graph_.node(node).results.end());
  }
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (int32_t value : values)
    updateValue(value);
}

void TaskGraph::setOrder(llvm::ArrayRef<int32_t> order) {
  strategy_.order.assign(order.begin(), order.end());
  updateOrder();
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    updateValue(id);
}

/// All values by the launch of their producers.
std::vector<int32_t> TaskGraph::valuesInOrder() const {
  std::vector<int32_t> values(graph_.numValues());
  std::iota(values.begin(), values.end(), 0);
  llvm::stable_sort(values, [&](int32_t a, int32_t b) {
    return position_[graph_.value(a).producer] <
           position_[graph_.value(b).producer];
  });
  return values;
}

void TaskGraph::updateOrder() {
  position_.assign(graph_.numNodes(), 0);
  order_.clear();
  auto launch = [&](int32_t id, size_t index) {
    position_[id] = static_cast<int32_t>(index);
    if (graph_.node(id).role == NodeRole::Compute)
      order_.push_back(id);
  };
  if (strategy_.order.empty())
    for (int32_t id = 0; id < graph_.numNodes(); ++id)
      launch(id, id);
  else
    for (auto [index, id] : llvm::enumerate(strategy_.order))
      launch(id, index);

  std::vector<int32_t> rank(graph_.numNodes(), 0);
  for (auto [index, id] : llvm::enumerate(order_))
    rank[id] = static_cast<int32_t>(index);
  // Windows may all lie in the padding: then nothing is read.
  auto reads = [&](const GraphValue &value, const GraphValue::Use &use) {
    const PartitionSpec &spec = graph_.node(use.node).spec;
    Tile whole;
    for (const LoopSpec &loop : spec.loops)
      whole.push_back({0, loop.extent});
    return !isEmpty(accessBox(spec.operands[use.operand], whole, value.shape));
  };
  prefetches_.assign(order_.size(), {});
  for (int32_t id : valuesInOrder()) {
    const GraphValue &value = graph_.value(id);
    NodeRole role = graph_.node(value.producer).role;
    if (role == NodeRole::Compute)
      continue;
    int32_t first = INT32_MAX;
    for (const GraphValue::Use &use : value.uses)
      if (graph_.node(use.node).role == NodeRole::Compute && reads(value, use))
        first = std::min(first, rank[use.node]);
    if (first != INT32_MAX)
      prefetches_[std::max(0, first - 1)].push_back(id);
  }
}

void TaskGraph::updateNode(int32_t node) {
  const Configuration &config = strategy_.configs[node];
  KeyBuilder builder;
  builder.add(config.degrees.replicate);
  builder.add(config.degrees.loops);
  builder.add(config.devices);
  builder.add(config.regather);
  auto &known = cache_->nodes[node];
  auto it = known.find(builder.key);
  if (it == known.end()) {
    int32_t id = static_cast<int32_t>(known.size());
    it = known
             .emplace(std::move(builder.key),
                      CachedNode{id, std::make_shared<const NodeTasks>(
                                         compileNode(node))})
             .first;
  }
  configIds_[node] = it->second.id;
  nodeTasks_[node] = it->second.tasks;
}

void TaskGraph::updateValue(int32_t id) {
  const GraphValue &value = graph_.value(id);
  KeyBuilder builder;
  builder.add(configIds_[value.producer]);
  for (const GraphValue::Use &use : value.uses)
    builder.add(configIds_[use.node]);
  if (!strategy_.order.empty())
    for (const GraphValue::Use &use : value.uses)
      builder.add(position_[use.node]);
  auto &known = cache_->values[id];
  if (auto it = known.find(builder.key); it != known.end()) {
    valueTasks_[id] = it->second;
    ++statistics_.reused;
    return;
  }
  auto tasks = std::make_shared<const ValueTasks>(compileValue(id));
  cache_->bytes += sizeOf(*tasks) + builder.key.size();
  if (cache_->bytes > Cache::limitBytes) {
    for (auto &values : cache_->values)
      values.clear();
    cache_->bytes = 0;
  }
  known.emplace(std::move(builder.key), tasks);
  valueTasks_[id] = std::move(tasks);
  ++statistics_.planned;
}

NodeTasks TaskGraph::compileNode(int32_t id) const {
  const GraphNode &node = graph_.node(id);
  const Configuration &config = strategy_.configs[id];
  NodeTasks tasks;
  tasks.devices.assign(config.devices.begin(), config.devices.end());
  llvm::sort(tasks.devices);
  tasks.devices.erase(std::unique(tasks.devices.begin(), tasks.devices.end()),
                      tasks.devices.end());
  tasks.ns.assign(tasks.devices.size(), 0);
  if (node.role != NodeRole::Compute)
    return tasks;

  KeyBuilder builder;
  builder.add(config.degrees.replicate);
  builder.add(config.degrees.loops);
  auto [it, isNew] = cache_->degrees[id].try_emplace(builder.key);
  DegreesCost &cost = it->second;
  if (isNew) {
    // Tasks with tiles of the same extents cost the same; whether a task is at
    // 0 in the reductions says whether it reads a bias.
    std::map<SmallVector<int64_t, 8>, int32_t> classes;
    int64_t replicate = config.degrees.replicate;
    for (int64_t task = 0; task < config.degrees.numTasks(); ++task) {
      if (task % replicate) {
        cost.classOf.push_back(cost.classOf.back());
        continue;
      }
      SmallVector<int64_t, 8> key;
      for (Range range : tileOfTask(node.spec, config.degrees, task))
        key.push_back(range.size());
      bool first = true;
      SmallVector<int32_t, 6> at = taskIndices(config.degrees, task);
      for (size_t loop = 0; loop < at.size(); ++loop)
        first &= at[loop] == 0 || node.spec.results.empty() ||
                 !node.spec.isReduction(loop);
      key.push_back(first);
      auto [entry, isFirst] =
          classes.try_emplace(key, static_cast<int32_t>(cost.ns.size()));
      cost.classOf.push_back(entry->second);
      if (!isFirst)
        continue;
      TaskWork work = graph_.taskWork(id, config.degrees, task);
      KernelQuery query = describeTask(graph_, id, config.degrees, task, work);
      cost.ns.emplace_back();
      for (const DeviceKind &kind : topology_.kinds())
        cost.ns.back().push_back(costs_.kernelNs(query, kind));
    }
  }
  for (auto [task, device] : llvm::enumerate(config.devices)) {
    auto at = llvm::lower_bound(tasks.devices, device) - tasks.devices.begin();
    tasks.ns[at] += cost.ns[cost.classOf[task]][topology_.device(device).kind];
  }
  return tasks;
}

ValueTasks TaskGraph::compileValue(int32_t id) const {
  const GraphValue &value = graph_.value(id);
  ValuePlan plan = planOf(graph_, strategy_, topology_, id);
  SmallVector<CompileInput::Consumer, 4> consumers;
  SmallVector<int32_t, 4> order;
  for (auto [index, use] : llvm::enumerate(value.uses)) {
    bool computes = graph_.node(use.node).role == NodeRole::Compute;
    consumers.push_back({computes ? nodeTasks_[use.node].get() : nullptr});
    order.push_back(static_cast<int32_t>(index));
  }
  llvm::sort(order, [&](int32_t a, int32_t b) {
    return std::pair(position_[value.uses[a].node], a) <
           std::pair(position_[value.uses[b].node], b);
  });
  bool computes = graph_.node(value.producer).role == NodeRole::Compute;
  return compilePlan({plan, topology_, value.elementBytes,
                      *nodeTasks_[value.producer], computes, consumers, order});
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

std::vector<TaskNode> TaskGraph::nodes() const {
  std::vector<TaskNode> result;
  auto add = [&](TaskNode::Kind kind, int32_t node, int32_t value,
                 int32_t action, llvm::ArrayRef<int32_t> devices) -> auto & {
    TaskNode &task = result.emplace_back();
    task.kind = kind;
    task.node = node;
    task.value = value;
    task.action = action;
    task.devices.assign(devices.begin(), devices.end());
    return task;
  };
  auto addValue = [&](int32_t value) {
    const ValueTasks &tasks = valueTasks(value);
    if (!tasks.reduceDevices.empty())
      add(TaskNode::Kind::Pack, -1, value, -1, tasks.reduceDevices);
    for (const ActionTasks &action : tasks.actions) {
      if (!action.packDevices.empty())
        add(TaskNode::Kind::Pack, -1, value, action.action, action.packDevices);
      if (action.devices.empty())
        continue;
      TaskNode &move =
          add(TaskNode::Kind::Move, -1, value, action.action, action.devices);
      move.actionKind = action.kind;
      move.bytes = action.bytes;
    }
  };
  for (auto [position, node] : llvm::enumerate(order_)) {
    for (int32_t value : prefetches_[position])
      addValue(value);
    for (auto [operand, value] : llvm::enumerate(graph_.node(node).operands)) {
      const UseTasks &use = valueTasks(value).uses[useIndex(node, operand)];
      if (!use.unpackDevices.empty())
        add(TaskNode::Kind::Unpack, node, value, -1, use.unpackDevices);
    }
    add(TaskNode::Kind::Compute, node, -1, -1, nodeTasks(node).devices);
    for (int32_t value : graph_.node(node).results)
      addValue(value);
  }
  return result;
}

std::vector<Movement> TaskGraph::movements(Phase phase) const {
  std::vector<Movement> result;
  auto addValue = [&](int32_t id) {
    const ValueTasks &tasks = valueTasks(id);
    if (tasks.stepBytes + tasks.feedBytes + tasks.drainBytes == 0 &&
        tasks.actions.empty())
      return;
    ValuePlan plan = planOf(graph_, strategy_, topology_, id);
    for (const Action &action : plan.actions)
      if (phaseOf(action, plan, topology_.host()) == phase)
        for (Movement &movement :
             soap::movements(action, graph_.value(id).elementBytes))
          result.push_back(std::move(movement));
  };
  // Parameters that only outputs read come last.
  std::vector<bool> done(graph_.numValues());
  auto addOnce = [&](int32_t id) {
    if (!done[id])
      addValue(id);
    done[id] = true;
  };
  for (auto [position, node] : llvm::enumerate(order_)) {
    for (int32_t value : prefetches_[position])
      addOnce(value);
    for (int32_t value : graph_.node(node).results)
      addOnce(value);
  }
  for (int32_t id : valuesInOrder())
    addOnce(id);
  return result;
}

int64_t TaskGraph::bytes(Phase phase) const {
  int64_t sum = 0;
  for (const auto &value : valueTasks_)
    sum += phase == Phase::Step   ? value->stepBytes
           : phase == Phase::Feed ? value->feedBytes
                                  : value->drainBytes;
  return sum;
}

int64_t TaskGraph::nodeNs(int32_t node) const {
  const std::vector<int64_t> &ns = nodeTasks(node).ns;
  return ns.empty() ? 0 : *std::max_element(ns.begin(), ns.end());
}

int64_t TaskGraph::totalComputeNs() const {
  int64_t sum = 0;
  for (int32_t node : order_)
    for (int64_t ns : nodeTasks(node).ns)
      sum += ns;
  return sum;
}
