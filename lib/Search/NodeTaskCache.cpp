//===- NodeTaskCache.cpp - Compiled tasks of nodes ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeTaskCache.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

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

NodeTasks NodeTaskCache::compile(const OperatorGraph &graph, int32_t node,
                                 const Configuration &config,
                                 DegreesCosts &costs) {
  devices_.clear();
  for (int32_t device : config.devices)
    if (inUse_[device]++ == 0)
      devices_.push_back(device);
  if (!llvm::is_sorted(devices_))
    sortDevices(devices_, inUse_);
  for (int32_t device : devices_)
    inUse_[device] = 0;
  ns_.assign(devices_.size(), 0);
  if (graph.node(node).role == NodeRole::Compute) {
    const DegreesCost &cost = costs.of(node, config.degrees);
    for (auto [task, device] : llvm::enumerate(config.devices))
      inUse_[device] +=
          cost.ns[cost.classOf[task]][topology_.device(device).kind];
    for (auto [ns, device] : llvm::zip_equal(ns_, devices_))
      ns = std::exchange(inUse_[device], 0);
  }
  NodeTasks tasks;
  tasks.devices = ArrayRef<int32_t>(devices_).copy(*arena_);
  tasks.ns = ArrayRef<int64_t>(ns_).copy(*arena_);
  return tasks;
}

const NodeTasks &NodeTaskCache::of(const OperatorGraph &graph, int32_t node,
                                   const Configuration &config, Key key,
                                   DegreesCosts &costs) {
  if (classOf_.empty())
    classOf_.assign(graph.numNodes(), -1);
  int32_t &number = classOf_[node];
  if (number < 0)
    // Classes are from 0 on; what does not compute costs nothing.
    number = graph.node(node).role == NodeRole::Compute
                 ? 1 + costs.classOf(node)
                 : 0;
  key.low += static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15ull;
  auto [place, isNew] = tasks_.try_emplace(key);
  if (isNew)
    place->second = compile(graph, node, config, costs);
  return place->second;
}

void NodeTaskCache::collect(llvm::MutableArrayRef<NodeTasks> live) {
  auto arena = std::make_unique<PlanArena>(pool_);
  llvm::DenseMap<const int32_t *, NodeTasks> moved;
  for (NodeTasks &tasks : live) {
    auto [place, isNew] = moved.try_emplace(tasks.devices.data(), tasks);
    if (isNew) {
      place->second.devices = tasks.devices.copy(*arena);
      place->second.ns = tasks.ns.copy(*arena);
    }
    tasks = place->second;
  }
  tasks_.clear();
  arena_ = std::move(arena);
  // On a large machine, those in use may be most of it.
  limitBytes_ = std::max(leastBytes, 2 * arena_->getBytesAllocated());
}
