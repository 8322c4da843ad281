//===- TaskGraphTrials.cpp - Changes on trial -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of TaskGraph that takes over a change, gives its values bounds or
// plans, and accepts or rejects it.
//
//===----------------------------------------------------------------------===//

#include "TaskGraphCaches.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

void TaskGraph::propose(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  assert(proposedNodes_.empty() && "a change is on trial");
  ++changeNumber_;
  nextToPlan_ = 0;
  endsFollow_ = plansOnDemand_ = false;
  takeOver(strategy, nodes);
  ValueSet &computed = caches_->computedValues, &stored = caches_->storedValues;
  for (int32_t node : nodes) {
    for (int32_t value : graph_.node(node).operands)
      (caches_->isStored[value] ? stored : computed).add(value);
    for (int32_t value : graph_.node(node).results)
      (caches_->isStored[value] ? stored : computed).add(value);
  }
  computed.takeOut(proposedValues_);
  firstStored_ = proposedValues_.size();
  stored.takeOut(proposedValues_);
  for (int32_t value : proposedValues_)
    valuesBefore_.push_back(valueTasks_[value]);
}

void TaskGraph::proposeEnds(const Strategy &strategy, ArrayRef<int32_t> nodes) {
  if (plansOnDemand_)
    plan(); // What no simulation has asked for.
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
    before.config = strategy_.configs[node];
    before.tasks = nodeTasks_[node];
    strategy_.configs[node] = strategy.configs[node];
    compileNode(node);
  }
}

NodeTasks TaskGraph::nodeBefore(size_t index) const {
  return caches_->nodesBefore[index].tasks;
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
    ++caches.generation;
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

const ValueTasks &TaskGraph::makeTasks(int32_t id) const {
  if (!plansOnDemand_)
    return makeBound(id);
  planValue(id);
  return *valueTasks_[id];
}

size_t TaskGraph::endOfPlans() const {
  return endsFollow_ ? firstStored_ : proposedValues_.size();
}

void TaskGraph::planOnDemand() {
  plansOnDemand_ = true;
  for (size_t index = nextToPlan_; index < endOfPlans(); ++index) {
    int32_t id = proposedValues_[index];
    valueTasks_[id] = caches_->plans.find(caches_->keyOf(graph_, id));
  }
}

bool TaskGraph::plan(llvm::function_ref<bool(const ValueTasks &)> stop) {
  while (nextToPlan_ < endOfPlans()) {
    int32_t id = proposedValues_[nextToPlan_++];
    if (!plansOnDemand_ || !valueTasks_[id])
      planValue(id);
    if (stop && stop(*valueTasks_[id]))
      break;
  }
  bool all = nextToPlan_ == endOfPlans();
  plansOnDemand_ &= !all;
  return all;
}

void TaskGraph::accept() {
  proposedNodes_.clear();
  proposedValues_.clear();
  valuesBefore_.clear();
  forgetPlans();
}

void TaskGraph::reject() {
  Caches &caches = *caches_;
  for (auto [index, node] : llvm::enumerate(proposedNodes_)) {
    Caches::NodeBefore &before = caches.nodesBefore[index];
    caches.configKeys[node] = before.key;
    strategy_.configs[node] = before.config;
    nodeTasks_[node] = before.tasks;
  }
  for (auto [value, tasks] : llvm::zip_equal(proposedValues_, valuesBefore_))
    valueTasks_[value] = tasks;
  proposedNodes_.clear();
  proposedValues_.clear();
  valuesBefore_.clear();
  // Rejected plans fill the cache as well.
  forgetPlans();
}
