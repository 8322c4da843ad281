//===- TaskGraph.cpp - Tasks and communication of a strategy --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskGraphCaches.h"
#include "soap/Partition/ElementOrders.h"
#include "soap/Partition/Prefetches.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

/// False if all windows of a use lie in the padding.
static bool readsSomething(const OperatorGraph &graph, const GraphValue &value,
                           const GraphValue::Use &use) {
  const PartitionSpec &spec = graph.node(use.node).spec;
  Tile whole;
  for (const LoopSpec &loop : spec.loops)
    whole.push_back({0, loop.extent});
  return !isEmpty(accessBox(spec.operands[use.operand], whole, value.shape));
}

TaskGraph::TaskGraph(const SearchProblem &problem, const TaskGraph *tables)
    : graph_(problem.graph), topology_(problem.topology), costs_(problem.costs),
      nodeTasks_(graph_.numNodes()), valueTasks_(graph_.numValues(), nullptr),
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
  caches_->readsSomething.resize(useIndex_.size());
  for (int32_t id = 0; id < graph.numValues(); ++id) {
    const GraphValue &value = graph.value(id);
    if (graph.node(value.producer).role == NodeRole::Compute)
      continue;
    caches_->fedValues.push_back(id);
    for (const GraphValue::Use &use : value.uses)
      caches_->readsSomething[operandIndex(use.node, use.operand)] =
          graph.node(use.node).role == NodeRole::Compute &&
          readsSomething(graph, value, use);
  }
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
  bool sameOrder = !order_.empty() && strategy.order == strategy_.order &&
                   strategy.bucketBytes == strategy_.bucketBytes;
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
  if (caches_->nodes.isFull())
    caches_->nodes.collect(nodeTasks_);
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
  std::vector<uint64_t> before = caches_->orderOfUses;
  updateOrder();
  // The others have the tasks that they have had.
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    if (!valueTasks_[id] || caches_->orderOfUses[id] != before[id])
      planValue(id);
}

void TaskGraph::setBucketBytes(int64_t bytes) {
  assert(proposedNodes_.empty() && "a change is on trial");
  strategy_.bucketBytes = bytes;
  updateBuckets();
}

//===----------------------------------------------------------------------===//
// Launch order
//===----------------------------------------------------------------------===//

/// Values by the launch of their producers.
std::vector<int32_t> TaskGraph::inOrder(ArrayRef<int32_t> values) const {
  std::vector<int32_t> result(values.begin(), values.end());
  llvm::stable_sort(result, [&](int32_t a, int32_t b) {
    return position_[graph_.value(a).producer] <
           position_[graph_.value(b).producer];
  });
  return result;
}

std::vector<int32_t> TaskGraph::valuesInOrder() const {
  std::vector<int32_t> values(graph_.numValues());
  std::iota(values.begin(), values.end(), 0);
  return inOrder(values);
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
    auto isBefore = [&](int32_t a, int32_t b) {
      return position_[value.uses[a].node] < position_[value.uses[b].node];
    };
    caches_->orderOfUses[id] = 0;
    if (llvm::is_sorted(uses, isBefore))
      continue;
    llvm::stable_sort(uses, isBefore);
    KeyBuilder builder;
    builder.addAll(ArrayRef<int32_t>(uses));
    caches_->orderOfUses[id] = builder.key().low | 1;
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
  prefetches_.assign(order_.size(), {});
  launchAt_.resize(graph_.numValues());
  earliestAt_.resize(graph_.numValues());
  for (int32_t id = 0; id < graph_.numValues(); ++id)
    launchAt_[id] = earliestAt_[id] = rank_[graph_.value(id).producer];
  for (int32_t id : inOrder(caches_->fedValues)) {
    const GraphValue &value = graph_.value(id);
    SmallVector<int32_t, 4> readers;
    int32_t first = INT32_MAX;
    for (int32_t index : usesInOrder_[id]) {
      const GraphValue::Use &use = value.uses[index];
      if (graph_.node(use.node).role != NodeRole::Compute)
        continue;
      readers.push_back(index);
      if (caches_->readsSomething[operandIndex(use.node, use.operand)])
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

void TaskGraph::compileNode(int32_t id) {
  Caches &caches = *caches_;
  const Configuration &config = strategy_.configs[id];
  Key key = caches.configKeys[id] = caches.keyOf(config);
  nodeTasks_[id] = caches.nodes.of(graph_, id, config, key, *caches.degrees);
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
  const GraphNode &producer = graph_.node(value.producer);
  ValueTasks tasks = caches.compiler.compile(
      {plan, value.elementBytes, topology().prioritizes(value.bytes()),
       nodeTasks_[value.producer], producer.role == NodeRole::Compute,
       producer.isFixed, graph_.hasImages && hasOrders(value.shape), consumers,
       usesInOrder_[id]},
      caches.plans.arena());
  valueTasks_[id] = caches.plans.insert(key, tasks);
  ++statistics_.planned;
}
