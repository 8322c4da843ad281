//===- TaskGraph.cpp - Tasks and communication of a strategy --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskGraphCaches.h"
#include "soap/Partition/Prefetches.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

TaskGraph::TaskGraph(const SearchProblem &problem, const TaskGraph *tables)
    : graph_(problem.graph), topology_(problem.topology), costs_(problem.costs),
      nodeTasks_(graph_.numNodes()), nodeLists_(graph_.numNodes()),
      valueTasks_(graph_.numValues(), nullptr),
      usesInOrder_(graph_.numValues()),
      caches_(std::make_unique<Caches>(problem, tables ? tables->caches_.get()
                                                       : nullptr)) {
  const OperatorGraph &graph = graph_;
  for (const GraphNode &node : graph.nodes()) {
    useBase_.push_back(static_cast<int32_t>(useIndex_.size()));
    useIndex_.resize(useIndex_.size() + node.operands.size());
  }
  useBase_.push_back(static_cast<int32_t>(useIndex_.size()));
  size_t mostUses = 0;
  for (const GraphValue &value : graph.values())
    mostUses = std::max(mostUses, value.uses.size());
  caches_->noUseTasks.resize(mostUses);
  caches_->noTasks.resize(mostUses + 1);
  for (auto [count, tasks] : llvm::enumerate(caches_->noTasks))
    tasks.uses = ArrayRef<UseTasks>(caches_->noUseTasks).take_front(count);
  caches_->boundKeys.resize(graph.numValues());
  for (const GraphValue &value : graph.values())
    for (auto [index, use] : llvm::enumerate(value.uses))
      useIndex_[useBase_[use.node] + use.operand] = static_cast<int32_t>(index);
}

TaskGraph::~TaskGraph() = default;

size_t TaskGraph::cacheBytes() const { return caches_->plans.bytes(); }

detail::DegreesCosts &TaskGraph::degreesCosts() const {
  return *caches_->degrees;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void TaskGraph::setStrategy(const Strategy &strategy) {
  assert(proposedNodes_.empty() && "a change is on trial");
  bool sameOrder = !order_.empty() && strategy.order == strategy_.order;
  strategy_ = strategy;
  if (!sameOrder)
    updateOrder();
  for (int32_t id = 0; id < graph_.numNodes(); ++id)
    compileNode(id);
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    planValue(id);
  forgetPlans();
}

void TaskGraph::forgetPlans() {
  if (!caches_->plans.isFull())
    return;
  caches_->plans.collect(valueTasks_);
  ++caches_->generation;
}

void TaskGraph::update(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  propose(strategy, nodes);
  plan();
  accept();
}

void TaskGraph::setOrder(ArrayRef<int32_t> order) {
  assert(proposedNodes_.empty() && "a change is on trial");
  strategy_.order.assign(order.begin(), order.end());
  updateOrder();
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    planValue(id);
}

//===----------------------------------------------------------------------===//
// Launch order
//===----------------------------------------------------------------------===//

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

  rank_.assign(graph_.numNodes(), -1);
  for (auto [index, id] : llvm::enumerate(order_))
    rank_[id] = static_cast<int32_t>(index);
  for (int32_t id = 0; id < graph_.numValues(); ++id) {
    const GraphValue &value = graph_.value(id);
    auto &uses = usesInOrder_[id];
    uses.resize(value.uses.size());
    std::iota(uses.begin(), uses.end(), 0);
    llvm::stable_sort(uses, [&](int32_t a, int32_t b) {
      return position_[value.uses[a].node] < position_[value.uses[b].node];
    });
    KeyBuilder builder;
    builder.addAll(ArrayRef<int32_t>(uses));
    caches_->orderOfUses[id] =
        llvm::is_sorted(uses) ? 0 : builder.key().low | 1;
  }
  placeRounds();
  placePrefetches();
  updateBuckets();
}

int32_t TaskGraph::Prefetch::roundIn(const ValueTasks &tasks) const {
  if (use < 0)
    return 0;
  for (auto [index, round] : llvm::enumerate(tasks.rounds))
    if (round.use == use)
      return static_cast<int32_t>(index) + 1;
  return -1;
}

/// Where rounds are launched, by their first readers.
void TaskGraph::placeRounds() {
  std::vector<int64_t> bytesRead(order_.size(), 0);
  for (auto [position, id] : llvm::enumerate(order_)) {
    const GraphNode &node = graph_.node(id);
    if (node.update >= 0)
      continue;
    for (auto [operand, value] : llvm::enumerate(node.operands))
      if (graph_.isStored(value) &&
          !llvm::is_contained(
              ArrayRef<int32_t>(node.operands).take_front(operand), value))
        bytesRead[position] += graph_.value(value).bytes();
  }
  roundAt_ = prefetchPositions(bytesRead, graph_.prefetchBytes);
}

/// Where values are launched. Any reader of a parameter may start a round.
void TaskGraph::placePrefetches() {
  // Windows may all lie in the padding: then nothing is read.
  auto reads = [&](const GraphValue &value, const GraphValue::Use &use) {
    const PartitionSpec &spec = graph_.node(use.node).spec;
    Tile whole;
    for (const LoopSpec &loop : spec.loops)
      whole.push_back({0, loop.extent});
    return !isEmpty(accessBox(spec.operands[use.operand], whole, value.shape));
  };
  prefetches_.assign(order_.size(), {});
  launchAt_.assign(graph_.numValues(), -1);
  earliestAt_.assign(graph_.numValues(), -1);
  for (int32_t id : valuesInOrder()) {
    const GraphValue &value = graph_.value(id);
    NodeRole role = graph_.node(value.producer).role;
    if (role == NodeRole::Compute) {
      launchAt_[id] = earliestAt_[id] = rank_[value.producer];
      continue;
    }
    SmallVector<int32_t, 4> readers;
    int32_t first = INT32_MAX;
    for (int32_t index : usesInOrder_[id]) {
      const GraphValue::Use &use = value.uses[index];
      if (graph_.node(use.node).role != NodeRole::Compute)
        continue;
      readers.push_back(index);
      if (reads(value, use))
        first = std::min(first, rank_[use.node]);
    }
    if (first == INT32_MAX)
      continue;
    launchAt_[id] = earliestAt_[id] = std::max(0, first - 1);
    prefetches_[launchAt_[id]].push_back({id, -1});
    if (graph_.isStored(id))
      for (int32_t use : readers) {
        prefetches_[roundPosition(id, use)].push_back({id, use});
        earliestAt_[id] = std::min(earliestAt_[id], roundPosition(id, use));
      }
  }
  // What is read first is launched first.
  for (auto [position, launched] : llvm::enumerate(prefetches_)) {
    auto readAt = [&, next = static_cast<int32_t>(position) +
                             1](const Prefetch &prefetch) {
      if (prefetch.use < 0)
        return next;
      const GraphValue &value = graph_.value(prefetch.value);
      return std::max(next, rank_[value.uses[prefetch.use].node]);
    };
    llvm::stable_sort(launched, [&](const Prefetch &a, const Prefetch &b) {
      return readAt(a) < readAt(b);
    });
  }
}

//===----------------------------------------------------------------------===//
// Nodes and values
//===----------------------------------------------------------------------===//

/// Sorts different devices, which `inUse` says are in use, and no others are.
static void sortDevices(llvm::SmallVectorImpl<int32_t> &devices,
                        ArrayRef<int64_t> inUse) {
  int32_t first = *llvm::min_element(devices),
          last = *llvm::max_element(devices);
  if (static_cast<size_t>(last - first) > 8 * devices.size()) {
    llvm::sort(devices);
    return;
  }
  int32_t *next = devices.begin();
  for (int32_t device = first; device <= last; ++device)
    if (inUse[device] != 0)
      *next++ = device;
}

void TaskGraph::compileNode(int32_t id) {
  const GraphNode &node = graph_.node(id);
  const Configuration &config = strategy_.configs[id];
  Caches &caches = *caches_;
  caches.configKeys[id] = caches.keyOf(config);
  NodeLists &lists = nodeLists_[id];
  lists.devices.clear();
  for (int32_t device : config.devices)
    if (caches.inUse[device]++ == 0)
      lists.devices.push_back(device);
  if (!llvm::is_sorted(lists.devices))
    sortDevices(lists.devices, caches.inUse);
  for (int32_t device : lists.devices)
    caches.inUse[device] = 0;
  lists.ns.assign(lists.devices.size(), 0);
  if (node.role == NodeRole::Compute) {
    const DegreesCost &cost = caches.degrees->of(id, config.degrees);
    for (auto [task, device] : llvm::enumerate(config.devices))
      caches.inUse[device] +=
          cost.ns[cost.classOf[task]][topology_.device(device).kind];
    for (auto [ns, device] : llvm::zip_equal(lists.ns, lists.devices))
      ns = std::exchange(caches.inUse[device], 0);
  }
  nodeTasks_[id].devices = lists.devices;
  nodeTasks_[id].ns = lists.ns;
}

void TaskGraph::planValue(int32_t id) const {
  Caches &caches = *caches_;
  Key key = caches.keyOf(graph_, id);
  if (const ValueTasks *known = caches.plans.find(key)) {
    valueTasks_[id] = known;
    ++statistics_.reused;
    return;
  }
  const GraphValue &value = graph_.value(id);
  const FlatPlan &plan = caches.planner.plan(strategy_, id, usesInOrder_[id]);
  SmallVector<CompileInput::Consumer, 4> consumers;
  for (const GraphValue::Use &use : value.uses) {
    const GraphNode &reader = graph_.node(use.node);
    bool computes = reader.role == NodeRole::Compute;
    consumers.push_back(
        {use.node,
         computes ? nodeTasks_[use.node].devices : ArrayRef<int32_t>(),
         computes,
         reader.followedOperand == use.operand
             ? &caches.degrees->ofApart(use.node,
                                        strategy_.configs[use.node].degrees)
             : nullptr});
  }
  bool computes = graph_.node(value.producer).role == NodeRole::Compute;
  ValueTasks tasks = caches.compiler.compile(
      {plan, value.elementBytes, nodeTasks_[value.producer], computes,
       consumers, usesInOrder_[id]},
      caches.plans.arena());
  valueTasks_[id] = caches.plans.insert(key, tasks);
  ++statistics_.planned;
}
