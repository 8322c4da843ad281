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
}

int32_t Lanes::laneOf(llvm::ArrayRef<int32_t> devices) const {
  int32_t lane = -1;
  for (int32_t device : devices) {
    if (device >= count_ * width_)
      return -1;
    int32_t own = device / block_ % count_;
    if (lane >= 0 && own != lane)
      return -1;
    lane = own;
  }
  return lane;
}

void Lanes::move(Configuration &config, int32_t lane) const {
  int32_t turn = block_ * count_;
  for (int32_t &device : config.devices.edit())
    device = device / turn * turn + lane * block_ + device % block_;
}

LaneSchedule::LaneSchedule(const OperatorGraph &graph, const Topology &topology,
                           const Lanes &lanes, double moveFactor)
    : graph_(graph), topology_(topology), lanes_(lanes),
      moveFactor_(moveFactor), freeNs_(lanes.count(), 0),
      endNs_(graph.numNodes(), 0) {}

double LaneSchedule::moveNs(int32_t value, int32_t from, int32_t to) const {
  if (from < 0 || to < 0 || from == to)
    return 0;
  Route route = topology_.route(lanes_.device(from, 0), lanes_.device(to, 0));
  double bytes = static_cast<double>(graph_.value(value).bytes());
  return moveFactor_ * static_cast<double>(route.latencyNs +
                                           route.ns(bytes / lanes_.width()));
}

void LaneSchedule::place(const Strategy &strategy, int32_t node, int64_t nodeNs,
                         Configuration &config) {
  // When all operands have arrived on a lane, or, for -1, somewhere.
  auto arrivedNs = [&](int32_t lane) {
    double ns = 0;
    for (int32_t value : graph_.node(node).operands) {
      int32_t producer = graph_.value(value).producer;
      if (graph_.node(producer).role == NodeRole::Compute)
        ns = std::max(
            ns,
            endNs_[producer] +
                moveNs(value, lanes_.laneOf(strategy.configs[producer].devices),
                       lane));
    }
    return ns;
  };
  double taskNs = static_cast<double>(nodeNs) /
                  static_cast<double>(config.degrees.numTiles());
  if (lanes_.laneOf(config.devices) < 0) {
    double end = taskNs + std::max(arrivedNs(-1), *llvm::max_element(freeNs_));
    endNs_[node] = end;
    std::fill(freeNs_.begin(), freeNs_.end(), end);
    return;
  }
  int32_t best = 0;
  double bestNs = 0;
  for (int32_t lane = 0; lane < lanes_.count(); ++lane) {
    double ns = std::max(freeNs_[lane], arrivedNs(lane)) + taskNs;
    if (lane == 0 || ns < bestNs) {
      bestNs = ns;
      best = lane;
    }
  }
  endNs_[node] = freeNs_[best] = bestNs;
  lanes_.move(config, best);
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
