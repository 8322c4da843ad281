//===- LinkCuts.cpp - How fast devices and machines are reached -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkCuts.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

namespace {
/// Everything that takes one of some routes passes, at the k-th hop, one of the
/// links that stand there: together they are as fast as their resources.
class Hops {
public:
  /// The end of routes from which hops are counted.
  enum class End { First, Last };
  Hops(const Topology &topology, End countFrom)
      : topology_(topology), countFrom_(countFrom) {}

  void add(const Route &route) {
    latencyNs_ = std::min(latencyNs_, route.latencyNs);
    shortest_ = std::min(shortest_, route.links.size());
    for (size_t hop = 0; hop < shortest_; ++hop) {
      int32_t id =
          route.links[countFrom_ == End::Last ? route.links.size() - 1 - hop
                                              : hop];
      const Link &link = topology_.links()[id];
      if (hop == hops_.size())
        hops_.emplace_back();
      // Of the links of one resource, the fastest.
      double &rate = hops_[hop][link.resource];
      rate = std::max(rate, link.bandwidth);
    }
  }
  /// The slowest of the cuts.
  LinkCut cut() const {
    LinkCut result;
    result.latencyNs = latencyNs_;
    result.bytesPerNs = std::numeric_limits<double>::infinity();
    for (size_t hop = 0; hop < std::min(shortest_, hops_.size()); ++hop) {
      double sum = 0;
      for (auto [resource, rate] : hops_[hop])
        sum += rate * 1e-9;
      if (sum > result.bytesPerNs)
        continue;
      result.bytesPerNs = sum;
      result.isSingle = hops_[hop].size() == 1;
    }
    return result;
  }

private:
  const Topology &topology_;
  End countFrom_;
  int64_t latencyNs_ = INT64_MAX;
  size_t shortest_ = SIZE_MAX;
  SmallVector<llvm::SmallDenseMap<int32_t, double, 4>, 4> hops_;
};
} // namespace

LinkCuts::LinkCuts(const Topology &topology) {
  std::map<int32_t, int32_t> machines; // Any number may be a node's.
  for (const Device &device : topology.devices())
    machineOf_.push_back(
        machines.try_emplace(device.node, static_cast<int32_t>(machines.size()))
            .first->second);
  numMachines_ = static_cast<int32_t>(machines.size());
  machineOf_.push_back(numMachines_);
  int32_t devices = topology.numDevices();
  std::vector<Hops> in(numMachines_, Hops(topology, Hops::End::Last)),
      out(numMachines_, Hops(topology, Hops::End::First));
  for (int32_t to = 0; to < devices; ++to) {
    Hops all(topology, Hops::End::Last), far(topology, Hops::End::Last);
    for (int32_t from = 0; from < devices; ++from) {
      if (from == to)
        continue;
      Route route = topology.route(from, to);
      all.add(route);
      if (machineOf_[from] == machineOf_[to])
        continue;
      far.add(route);
      in[machineOf_[to]].add(route);
      out[machineOf_[from]].add(route);
    }
    into_.push_back(all.cut());
    far_.push_back(far.cut());
  }
  for (int32_t machine = 0; machine < numMachines_; ++machine) {
    in_.push_back(in[machine].cut());
    out_.push_back(out[machine].cut());
  }
}
