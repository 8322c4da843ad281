//===- TaskGraph.cpp - Tasks and communication of a strategy --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/TaskGraph.h"
#include "CompileTasks.h"
#include "DegreesCosts.h"
#include "PlanCache.h"
#include "ReceiptBounds.h"
#include "ValueClasses.h"
#include "ValuePlans.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

struct TaskGraph::Caches {
  /// Compiled plans are dropped when they fill this much memory.
  static constexpr size_t limitBytes = size_t(96) << 20;

  Caches(const SearchProblem &problem, const Caches *shared)
      : plans(limitBytes),
        degrees(shared ? shared->degrees
                       : std::make_shared<DegreesCosts>(problem)),
        cuts(shared ? shared->cuts
                    : std::make_shared<const LinkCuts>(problem.topology)),
        planner(problem.graph, problem.topology), compiler(problem.topology),
        bounds(problem.graph, problem.topology, cuts),
        classes(classesOfValues(problem.graph)),
        orderOfUses(problem.graph.numValues(), 0),
        configKeys(problem.graph.numNodes()),
        inUse(problem.topology.numDevices() + 1, 0) {}

  /// What the plan of a value is made from.
  Key keyOf(const OperatorGraph &graph, int32_t id) {
    const GraphValue &value = graph.value(id);
    builder.clear();
    builder.add(classes[id]);
    builder.add(static_cast<int64_t>(orderOfUses[id]));
    builder.add(configKeys[value.producer]);
    for (const GraphValue::Use &use : value.uses)
      builder.add(configKeys[use.node]);
    return builder.key();
  }
  Key keyOf(const Configuration &config) {
    builder.clear();
    builder.add(config.degrees.replicate);
    builder.addAll(ArrayRef<int32_t>(config.degrees.loops));
    builder.addAll(ArrayRef<int32_t>(config.devices));
    builder.addAll(ArrayRef<int32_t>(config.regather));
    return builder.key();
  }

  PlanCache plans;
  /// @{ Shared by the task graphs of one search.
  std::shared_ptr<DegreesCosts> degrees;
  std::shared_ptr<const LinkCuts> cuts;
  /// @}
  ValuePlans planner;
  ValueCompiler compiler;
  ReceiptBounds bounds;
  std::vector<Key> classes; ///< Per value.
  /// Per value, a number for the order of its uses; 0: as they are numbered.
  std::vector<uint64_t> orderOfUses;
  std::vector<Key> configKeys; ///< Per node.
  std::vector<int64_t> inUse;  ///< Per device; 0 between uses.
  KeyBuilder builder;

  /// @{ What the change on trial replaced. Entries keep their memory.
  struct NodeBefore {
    Configuration config;
    Key key;
    NodeLists lists;
  };
  std::vector<NodeBefore> nodesBefore;
  /// Bounds that are known, by the same keys as plans. Where blocks repeat, one
  /// proposal asks for the same many times.
  PlanArena boundArena{plans.pool()};
  llvm::DenseMap<Key, const ValueTasks *> boundTasks;
  static constexpr size_t boundBytes = size_t(4) << 20;
  std::vector<UseTasks> noUseTasks; ///< For each use of any value.
  std::vector<ValueTasks> noTasks;  ///< Per number of uses.
  std::vector<Key> boundKeys;       ///< Per value whose bound is not made yet.
  /// @}
};

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
  if (caches_->plans.isFull())
    caches_->plans.collect(valueTasks_);
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

void TaskGraph::propose(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  assert(proposedNodes_.empty() && "a change is on trial");
  nextToPlan_ = 0;
  endsFollow_ = false;
  takeOver(strategy, nodes);
  for (int32_t node : nodes) {
    proposedValues_.append(graph_.node(node).operands.begin(),
                           graph_.node(node).operands.end());
    proposedValues_.append(graph_.node(node).results.begin(),
                           graph_.node(node).results.end());
  }
  llvm::sort(proposedValues_);
  proposedValues_.erase(
      std::unique(proposedValues_.begin(), proposedValues_.end()),
      proposedValues_.end());
  auto *stored =
      std::stable_partition(proposedValues_.begin(), proposedValues_.end(),
                            [&](int32_t value) { return !isStored(value); });
  firstStored_ = stored - proposedValues_.begin();
  for (int32_t value : proposedValues_)
    valuesBefore_.push_back(valueTasks_[value]);
}

void TaskGraph::proposeEnds(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  endsFollow_ = false;
  takeOver(strategy, nodes);
  size_t numKnown = proposedValues_.size();
  for (int32_t node : nodes)
    for (int32_t value : graph_.node(node).results)
      // What reads a parameter has mostly changed, too.
      if (auto known = ArrayRef(proposedValues_)
                           .slice(firstStored_, numKnown - firstStored_);
          !std::binary_search(known.begin(), known.end(), value)) {
        proposedValues_.push_back(value);
        valuesBefore_.push_back(valueTasks_[value]);
      }
}

/// Gives nodes their configurations in `strategy`, and keeps those they had.
void TaskGraph::takeOver(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  Caches &caches = *caches_;
  size_t index = proposedNodes_.size();
  proposedNodes_.append(nodes.begin(), nodes.end());
  if (caches.nodesBefore.size() < proposedNodes_.size())
    caches.nodesBefore.resize(proposedNodes_.size());
  for (int32_t node : nodes) {
    Caches::NodeBefore &before = caches.nodesBefore[index++];
    before.key = caches.configKeys[node];
    std::swap(before.config, strategy_.configs[node]);
    std::swap(before.lists, nodeLists_[node]);
    strategy_.configs[node] = strategy.configs[node];
    compileNode(node);
  }
}

NodeTasks TaskGraph::nodeBefore(size_t index) const {
  const NodeLists &lists = caches_->nodesBefore[index].lists;
  NodeTasks tasks = nodeTasks_[proposedNodes_[index]];
  tasks.devices = lists.devices;
  tasks.ns = lists.ns;
  return tasks;
}

bool TaskGraph::isStored(int32_t value) const {
  NodeRole role = graph_.node(graph_.value(value).producer).role;
  return role == NodeRole::Parameter || role == NodeRole::Constant;
}

const ValueTasks *TaskGraph::noTasksOf(int32_t value) const {
  return &caches_->noTasks[graph_.value(value).uses.size()];
}

void TaskGraph::deferEnds() {
  endsFollow_ = true;
  for (int32_t id : ArrayRef(proposedValues_).drop_front(firstStored_))
    valueTasks_[id] = noTasksOf(id);
}

bool TaskGraph::areEndsFree() const {
  return llvm::all_of(
      ArrayRef(proposedValues_).drop_front(firstStored_), [&](int32_t id) {
        const ValueTasks &tasks = *valueTasks_[id];
        return tasks.numSlots == 0 &&
               llvm::all_of(tasks.uses, [](const UseTasks &use) {
                 return use.unpackDevices.empty();
               });
      });
}

bool TaskGraph::bound() {
  Caches &caches = *caches_;
  bool exact = !endsFollow_;
  if (caches.boundArena.getBytesAllocated() > Caches::boundBytes) {
    caches.boundArena.Reset();
    caches.boundTasks.clear();
  }
  nextToPlan_ = 0;
  size_t count = endsFollow_ ? firstStored_ : proposedValues_.size();
  for (auto [index, id] :
       llvm::enumerate(ArrayRef(proposedValues_).take_front(count))) {
    Key key = caches.boundKeys[id] = caches.keyOf(graph_, id);
    if (const ValueTasks *known = caches.plans.find(key)) {
      valueTasks_[id] = known;
      continue;
    }
    exact = false;
    // What is stored is there at the start, and most lies where it is read:
    // copies out of it are not worth a look at all readers.
    valueTasks_[id] = index < firstStored_ ? nullptr : noTasksOf(id);
  }
  return exact;
}

const ValueTasks &TaskGraph::makeBound(int32_t id) const {
  Caches &caches = *caches_;
  const ValueTasks *&place = caches.boundTasks[caches.boundKeys[id]];
  if (!place) {
    ValueTasks tasks = caches.bounds.compile(
        strategy_, nodeTasks_, id, usesInOrder_[id], caches.boundArena);
    place = new (caches.boundArena) ValueTasks(tasks);
    ++statistics_.bounded;
  }
  valueTasks_[id] = place;
  return *place;
}

bool TaskGraph::plan(llvm::function_ref<bool(const ValueTasks &)> stop) {
  size_t end = endsFollow_ ? firstStored_ : proposedValues_.size();
  while (nextToPlan_ < end) {
    int32_t id = proposedValues_[nextToPlan_++];
    planValue(id);
    if (stop && stop(*valueTasks_[id]))
      break;
  }
  return nextToPlan_ == end;
}

void TaskGraph::accept() {
  proposedNodes_.clear();
  proposedValues_.clear();
  valuesBefore_.clear();
  if (caches_->plans.isFull())
    caches_->plans.collect(valueTasks_);
}

void TaskGraph::reject() {
  Caches &caches = *caches_;
  for (auto [index, node] : llvm::enumerate(proposedNodes_)) {
    Caches::NodeBefore &before = caches.nodesBefore[index];
    caches.configKeys[node] = before.key;
    std::swap(before.config, strategy_.configs[node]);
    std::swap(before.lists, nodeLists_[node]);
    nodeTasks_[node].devices = nodeLists_[node].devices;
    nodeTasks_[node].ns = nodeLists_[node].ns;
  }
  for (auto [value, tasks] : llvm::zip_equal(proposedValues_, valuesBefore_))
    valueTasks_[value] = tasks;
  proposedNodes_.clear();
  proposedValues_.clear();
  valuesBefore_.clear();
  // Rejected plans fill the cache as well.
  if (caches.plans.isFull())
    caches.plans.collect(valueTasks_);
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
  for (int32_t id : valuesInOrder()) {
    const GraphValue &value = graph_.value(id);
    NodeRole role = graph_.node(value.producer).role;
    if (role == NodeRole::Compute) {
      launchAt_[id] = rank_[value.producer];
      continue;
    }
    int32_t first = INT32_MAX;
    for (const GraphValue::Use &use : value.uses)
      if (graph_.node(use.node).role == NodeRole::Compute && reads(value, use))
        first = std::min(first, rank_[use.node]);
    if (first != INT32_MAX) {
      launchAt_[id] = std::max(0, first - 1);
      prefetches_[launchAt_[id]].push_back(id);
    }
  }

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
}

//===----------------------------------------------------------------------===//
// Nodes and values
//===----------------------------------------------------------------------===//

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
  for (int32_t device : lists.devices)
    caches.inUse[device] = 0;
  if (!llvm::is_sorted(lists.devices))
    std::sort(lists.devices.begin(), lists.devices.end());
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

void TaskGraph::planValue(int32_t id) {
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
    bool computes = graph_.node(use.node).role == NodeRole::Compute;
    consumers.push_back(
        {use.node,
         computes ? nodeTasks_[use.node].devices : ArrayRef<int32_t>(),
         computes});
  }
  bool computes = graph_.node(value.producer).role == NodeRole::Compute;
  ValueTasks tasks = caches.compiler.compile(
      {plan, value.elementBytes, nodeTasks_[value.producer], computes,
       consumers, usesInOrder_[id]},
      caches.plans.arena());
  valueTasks_[id] = caches.plans.insert(key, tasks);
  ++statistics_.planned;
}
