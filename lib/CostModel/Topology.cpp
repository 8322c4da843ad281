//===- Topology.cpp - Devices and the links between them ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/Topology.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

using namespace soap;

int32_t Topology::addKind(DeviceKind kind) {
  kinds_.push_back(std::move(kind));
  return static_cast<int32_t>(kinds_.size()) - 1;
}

int32_t Topology::addDevice(int32_t kind, int32_t node, int64_t memoryBytes,
                            int32_t cores) {
  int32_t id = numDevices();
  devices_.push_back({id, kind, node, memoryBytes, cores});
  return id;
}

int32_t Topology::addJunction(llvm::StringRef name) {
  junctions_.push_back(name.str());
  return -static_cast<int32_t>(junctions_.size());
}

void Topology::addLink(Link link) { links_.push_back(std::move(link)); }

void Topology::addDuplexLink(Link link) {
  addLink(link);
  std::swap(link.from, link.to);
  addLink(std::move(link));
}

std::string Topology::finish() {
  if (!finished_) {
    auto number = [&](int32_t vertex) {
      if (vertex == hostVertex)
        return host();
      return vertex < 0 ? host() - vertex : vertex;
    };
    llvm::StringMap<int32_t> shared;
    for (Link &link : links_) {
      link.from = number(link.from);
      link.to = number(link.to);
      if (link.shared.empty()) {
        link.resource = numResources_++;
        continue;
      }
      auto [it, isNew] = shared.try_emplace(link.shared, numResources_);
      link.resource = it->second;
      numResources_ += isNew;
    }
    finished_ = true;
  }
  // Routes are looked for only over links that make sense.
  int32_t numVertices = host() + 1 + static_cast<int32_t>(junctions_.size());
  for (const Link &link : links_)
    if (link.from < 0 || link.to < 0 || link.from >= numVertices ||
        link.to >= numVertices || !(link.bandwidth > 0) || link.latencyNs < 0)
      return check();
  findRoutes();
  return check();
}

void Topology::findRoutes() {
  // Dijkstra from every device. Only junctions pass traffic on. Ties: fewer
  // links, then the link that was named first.
  int32_t ends = numDevices() + 1;
  int32_t numVertices = ends + static_cast<int32_t>(junctions_.size());
  std::vector<std::vector<int32_t>> outgoing(numVertices);
  std::vector<int64_t> weight;
  for (auto [index, link] : llvm::enumerate(links_)) {
    outgoing[link.from].push_back(static_cast<int32_t>(index));
    weight.push_back(link.latencyNs +
                     static_cast<int64_t>(0x1p20 / link.bandwidth * 1e9));
  }

  struct Extent {
    size_t begin, end;
  };
  std::vector<Extent> extents;
  routes_.assign(static_cast<size_t>(ends) * ends, {});
  routeLinks_.clear();
  using Key = std::tuple<int64_t, int32_t, int32_t>; // Cost, hops, vertex.
  std::vector<std::pair<int64_t, int32_t>> best(numVertices);
  std::vector<int32_t> via(numVertices);
  for (int32_t from = 0; from < ends; ++from) {
    std::fill(best.begin(), best.end(),
              std::make_pair(std::numeric_limits<int64_t>::max(), 0));
    std::fill(via.begin(), via.end(), -1);
    std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
    best[from] = {0, 0};
    queue.push({0, 0, from});
    while (!queue.empty()) {
      auto [cost, hops, vertex] = queue.top();
      queue.pop();
      if (std::make_pair(cost, hops) != best[vertex] ||
          (vertex != from && vertex < ends))
        continue;
      for (int32_t index : outgoing[vertex]) {
        int32_t to = links_[index].to;
        std::pair<int64_t, int32_t> next{cost + weight[index], hops + 1};
        if (next >= best[to])
          continue;
        best[to] = next;
        via[to] = index;
        queue.push({next.first, next.second, to});
      }
    }
    for (int32_t to = 0; to < ends; ++to) {
      Route &route = routes_[static_cast<size_t>(from) * ends + to];
      size_t begin = routeLinks_.size();
      if (to != from && via[to] >= 0) {
        for (int32_t vertex = to; vertex != from;
             vertex = links_[via[vertex]].from)
          routeLinks_.push_back(via[vertex]);
        std::reverse(routeLinks_.begin() + begin, routeLinks_.end());
        route.bandwidth = std::numeric_limits<double>::max();
        for (size_t i = begin; i < routeLinks_.size(); ++i) {
          const Link &link = links_[routeLinks_[i]];
          route.latencyNs += link.latencyNs;
          route.bandwidth = std::min(route.bandwidth, link.bandwidth);
          if (link.occupiesReceiver) {
            double rate =
                link.copyBandwidth > 0 ? link.copyBandwidth : link.bandwidth;
            route.copyBandwidth = route.occupiesReceiver
                                      ? std::min(route.copyBandwidth, rate)
                                      : rate;
            route.occupiesReceiver = true;
          }
        }
      }
      extents.push_back({begin, routeLinks_.size()});
    }
  }
  for (auto [route, extent] : llvm::zip(routes_, extents))
    route.links = llvm::ArrayRef(routeLinks_.data() + extent.begin,
                                 extent.end - extent.begin);
}

std::string Topology::check() const {
  auto text = [](const llvm::Twine &twine) { return twine.str(); };
  if (devices_.empty())
    return "expected at least one device, got: none";
  if (!finished_)
    return "expected finish() before the topology is used";
  for (const DeviceKind &kind : kinds_) {
    if (!(kind.peakFlops > 0) || !(kind.memoryBandwidth > 0))
      return text("device kind '" + kind.name +
                  "': expected positive peak_flops and "
                  "memory_bandwidth_bytes_per_s");
    if (kind.halfRows < 0 || kind.halfColumns < 0 || kind.halfDepth < 0 ||
        kind.launchNs < 0)
      return text("device kind '" + kind.name +
                  "': expected sizes and launch cost of 0 or more");
  }
  for (const Device &device : devices_) {
    if (device.kind < 0 || device.kind >= static_cast<int32_t>(kinds_.size()))
      return text("device " + llvm::Twine(device.id) +
                  ": expected a kind that the topology describes");
    if (device.memoryBytes < 0)
      return text("device " + llvm::Twine(device.id) +
                  ": expected memory_bytes of 0 (unlimited) or more, got: " +
                  llvm::Twine(device.memoryBytes));
  }
  int32_t numVertices = host() + 1 + static_cast<int32_t>(junctions_.size());
  for (auto [index, link] : llvm::enumerate(links_)) {
    std::string where = "link " + std::to_string(index) + ": ";
    for (int32_t vertex : {link.from, link.to})
      if (vertex < 0 || vertex >= numVertices)
        return where +
               "expected ends that are devices or junctions of the topology";
    if (link.from == link.to)
      return where + "expected two different ends, got: the same twice";
    if (!(link.bandwidth > 0))
      return where + "expected a positive bandwidth_bytes_per_s";
    if (link.latencyNs < 0)
      return where + "expected a latency_s of 0 or more";
  }
  int32_t ends = numDevices() + 1;
  auto endName = [&](int32_t id) {
    return id == host() ? std::string("the host")
                        : "device " + std::to_string(id);
  };
  for (int32_t from = 0; from < ends; ++from)
    for (int32_t to = 0; to < ends; ++to)
      if (from != to && route(from, to).links.empty())
        return "expected a route from " + endName(from) + " to " + endName(to) +
               ", got: none; add a link, or links through a junction";
  return "";
}

int64_t Topology::routeCost(int32_t from, int32_t to) const {
  if (from == to)
    return 0;
  const Route &way = route(from, to);
  return way.latencyNs + static_cast<int64_t>(0x1p20 / way.bandwidth * 1e9);
}

Topology Topology::machine(int32_t count, const DeviceKind &kind,
                           double copyBandwidth, int64_t latencyNs,
                           int64_t memoryBytes, int32_t coresPerDevice,
                           bool occupiesReceiver) {
  Topology topology;
  topology.name = "machine-" + std::to_string(count);
  int32_t kindIndex = topology.addKind(kind);
  for (int32_t id = 0; id < count; ++id)
    topology.addDevice(kindIndex, 0, memoryBytes, coresPerDevice);
  // The receiver copies, one thing at a time: what enters a device shares one
  // resource.
  auto connect = [&](int32_t from, int32_t to, const llvm::Twine &shared) {
    topology.addLink({from, to, copyBandwidth, latencyNs, shared.str(), -1,
                      occupiesReceiver});
  };
  for (int32_t to = 0; to < count; ++to) {
    for (int32_t from = 0; from < count; ++from)
      if (from != to)
        connect(from, to, "into-" + llvm::Twine(to));
    connect(hostVertex, to, "into-" + llvm::Twine(to));
    connect(to, hostVertex, "into-host");
  }
  topology.finish();
  return topology;
}

int64_t Route::copyNs(double bytes) const {
  return occupiesReceiver ? std::llround(bytes / copyBandwidth * 1e9) : 0;
}

void Topology::throttle(const LinkSpeed &speed) {
  name += "-link";
  for (Link &link : links_) {
    if (link.from >= numDevices() || link.to >= numDevices())
      continue;
    link.copyBandwidth =
        std::min(link.bandwidth, link.copyBandwidth > 0
                                     ? link.copyBandwidth
                                     : std::numeric_limits<double>::infinity());
    link.bandwidth = speed.bandwidth;
    link.latencyNs += speed.latencyNs;
    link.shared.clear();
    link.resource = numResources_++;
  }
  findRoutes();
}

Topology::Topology(const Topology &other)
    : name(other.name), kinds_(other.kinds_), devices_(other.devices_),
      junctions_(other.junctions_), links_(other.links_),
      numResources_(other.numResources_), finished_(other.finished_) {
  if (finished_ && !other.routes_.empty())
    findRoutes();
}

Topology &Topology::operator=(const Topology &other) {
  if (this != &other)
    *this = Topology(other);
  return *this;
}
