//===- Lanes.cpp - Sets of devices that work side by side -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

Lanes::Lanes(int32_t devices, int32_t width, int32_t block)
    : count_(devices / width), width_(width), block_(block) {
  assert(devices % width == 0 && width % block == 0 && "expected divisors");
  laneOf_.resize(count_ * width_);
  for (int32_t device = 0, lane = 0, left = block_; device < count_ * width_;
       ++device) {
    laneOf_[device] = lane;
    if (--left == 0) {
      left = block_;
      lane = lane + 1 == count_ ? 0 : lane + 1;
    }
  }
}

int32_t Lanes::laneOf(llvm::ArrayRef<int32_t> devices) const {
  int32_t lane = -1;
  for (int32_t device : devices) {
    if (static_cast<size_t>(device) >= laneOf_.size())
      return -1;
    int32_t own = laneOf_[device];
    if (lane >= 0 && own != lane)
      return -1;
    lane = own;
  }
  return lane;
}

void Lanes::move(Configuration &config, int32_t from, int32_t to) const {
  int32_t by = (to - from) * block_;
  if (by == 0)
    return;
  for (int32_t &device : config.devices.edit())
    device += by;
}

LaneSchedule::LaneSchedule(const OperatorGraph &graph, const Topology &topology,
                           const Lanes &lanes, double moveFactor)
    : graph_(graph), topology_(topology), lanes_(lanes),
      moveFactor_(moveFactor), freeNs_(lanes.count(), 0),
      endNs_(graph.numNodes(), 0), arrivedNs_(lanes.count(), 0),
      moved_(lanes.count()) {}

/// When the operands of a node have arrived on each lane.
void LaneSchedule::findArrivals(const Strategy &strategy, int32_t node) {
  std::fill(arrivedNs_.begin(), arrivedNs_.end(), 0);
  somewhereNs_ = 0;
  for (int32_t value : graph_.node(node).operands) {
    int32_t producer = graph_.value(value).producer;
    if (graph_.node(producer).role != NodeRole::Compute)
      continue;
    double end = endNs_[producer];
    somewhereNs_ = std::max(somewhereNs_, end);
    int32_t from = lanes_.laneOf(strategy.configs[producer].devices);
    if (from < 0) {
      for (double &arrived : arrivedNs_)
        arrived = std::max(arrived, end);
      continue;
    }
    messages_.clear();
    double bytes = static_cast<double>(graph_.value(value).bytes());
    int32_t sender = lanes_.device(from, 0);
    for (int32_t lane = 0; lane < lanes_.count(); ++lane) {
      double at = end;
      if (lane != from) {
        Route route = topology_.route(sender, lanes_.device(lane, 0));
        // Few routes differ.
        auto known = llvm::find_if(messages_, [&](const Message &message) {
          return message.latencyNs == route.latencyNs &&
                 message.bandwidth == route.bandwidth;
        });
        if (known == messages_.end()) {
          double ns = moveFactor_ *
                      static_cast<double>(route.latencyNs +
                                          route.ns(bytes / lanes_.width()));
          messages_.push_back({route.latencyNs, route.bandwidth, ns});
          known = std::prev(messages_.end());
        }
        at += known->ns;
      }
      arrivedNs_[lane] = std::max(arrivedNs_[lane], at);
    }
  }
}

void LaneSchedule::place(const Strategy &strategy, int32_t node, int64_t nodeNs,
                         Configuration &config) {
  double taskNs = static_cast<double>(nodeNs) /
                  static_cast<double>(config.degrees.numTiles());
  findArrivals(strategy, node);
  int32_t own = lanes_.laneOf(config.devices);
  if (own < 0) {
    double end = taskNs + std::max(somewhereNs_, *llvm::max_element(freeNs_));
    endNs_[node] = end;
    std::fill(freeNs_.begin(), freeNs_.end(), end);
    return;
  }
  int32_t best = 0;
  double bestNs = 0;
  for (int32_t lane = 0; lane < lanes_.count(); ++lane) {
    double ns = std::max(freeNs_[lane], arrivedNs_[lane]) + taskNs;
    if (lane == 0 || ns < bestNs) {
      bestNs = ns;
      best = lane;
    }
  }
  endNs_[node] = freeNs_[best] = bestNs;
  if (!source_.isSame(config.devices)) {
    source_ = config.devices;
    std::fill(moved_.begin(), moved_.end(), TaskDevices());
  }
  TaskDevices &moved = moved_[best];
  if (moved.empty()) {
    lanes_.move(config, own, best);
    moved = config.devices;
  } else {
    config.devices = moved;
  }
}

std::vector<bool>
detail::leadersAlone(const OperatorGraph &graph,
                     llvm::function_ref<bool(int32_t)> isPreparation) {
  // The longest ways to a node and from it, in leaders. Operands come first.
  int32_t count = graph.numNodes();
  std::vector<int32_t> before(count, 0), behind(count, 0);
  auto counts = [&](int32_t id) {
    return graph.node(id).role == NodeRole::Compute && graph.isLeader(id) &&
           !isPreparation(id);
  };
  int32_t longest = 0;
  for (int32_t id = 0; id < count; ++id) {
    for (int32_t value : graph.node(id).operands) {
      int32_t producer = graph.value(value).producer;
      before[id] = std::max(before[id], before[producer] + counts(producer));
    }
    longest = std::max(longest, before[id] + counts(id));
  }
  for (int32_t id = count; id-- > 0;)
    for (int32_t value : graph.node(id).operands) {
      int32_t producer = graph.value(value).producer;
      behind[producer] = std::max(behind[producer], behind[id] + counts(id));
    }
  // Where every leader has a depth of its own behind what it reads, a node can
  // have any depth from before[] to longest - 1 - behind[]. A node on a longest
  // way has one alone; what it depends on has lower ones, what depends on it
  // has higher ones, and of the others some can have the same.
  std::vector<int32_t> change(longest + 1, 0);
  for (int32_t id = 0; id < count; ++id)
    if (counts(id)) {
      ++change[before[id]];
      --change[longest - behind[id]];
    }
  std::vector<int32_t> atDepth;
  for (int32_t depth = 0, open = 0; depth < longest; ++depth)
    atDepth.push_back(open += change[depth]);
  std::vector<bool> result(count, false);
  for (int32_t id = 0; id < count; ++id)
    result[id] = counts(id) && before[id] + 1 + behind[id] == longest &&
                 atDepth[before[id]] == 1;
  return result;
}
