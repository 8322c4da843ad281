//===- SimulatorState.cpp - Times of a simulation -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SimulatorState.h"
#include "soap/Search/Timeline.h"

using namespace soap;
using namespace soap::detail;

void SimulatorState::reset(const TaskGraph &tasks) {
  const OperatorGraph &graph = tasks.graph();
  numEnds = Timeline::numEnds(tasks.topology());
  numValues = graph.numValues();
  numOperands = tasks.operandIndex(graph.numNodes(), 0);
  numNodes = graph.numNodes();
  firstPriority = Timeline::firstPriority(tasks.topology());
  resources.assign(Timeline::size(tasks.topology()), 0);
  shifts.assign(tasks.order().size(), 0);
  blocks.assign(lateBlock(graph.numValues()), {});
  times.clear();
  for (int32_t node = 0; node < graph.numNodes(); ++node)
    fitNode(tasks, node);
  for (int32_t value = 0; value < graph.numValues(); ++value)
    fitValue(tasks, value);
  std::fill(times.begin(), times.end(), 0);
}

void SimulatorState::fitNode(const TaskGraph &tasks, int32_t node) {
  fit(nodeBlock(node), tasks.nodeTasks(node).devices.size());
}

void SimulatorState::fitValue(const TaskGraph &tasks, int32_t value) {
  const ValueTasks &compiled = tasks.valueTasks(value);
  fit(value, compiled.numSlots);
  fit(lateBlock(value), numLateSlots(tasks, value));
  for (auto [use, place] :
       llvm::zip_equal(compiled.uses, tasks.graph().value(value).uses))
    fit(useBlock(tasks.operandIndex(place.node, place.operand)),
        use.unpackDevices.size());
}

void SimulatorState::grow(size_t block, size_t size) {
  blocks[block] = {static_cast<int32_t>(times.size()),
                   static_cast<int32_t>(size)};
  times.resize(times.size() + size);
}

int64_t SimulatorState::nodeEnd(const TaskGraph &tasks, int32_t node,
                                size_t index) const {
  return times[blocks[nodeBlock(node)].begin + index] +
         shifts[tasks.rank(node)];
}

int64_t SimulatorState::slotEnd(const TaskGraph &tasks, int32_t value,
                                size_t slot) const {
  if (slot < numLateSlots(tasks, value))
    return times[blocks[lateBlock(value)].begin + slot] +
           shifts[tasks.bucketPosition(tasks.bucketOf(value))];
  return times[blocks[value].begin + slot] +
         shifts[tasks.slotPosition(value, static_cast<int32_t>(slot))];
}

int64_t SimulatorState::unpackEnd(const TaskGraph &tasks, int32_t node,
                                  int32_t operand, size_t index) const {
  size_t block = useBlock(tasks.operandIndex(node, operand));
  return times[blocks[block].begin + index] + shifts[tasks.rank(node)];
}
