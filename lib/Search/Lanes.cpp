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
  for (int32_t &device : config.devices)
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
