//===- Routes.cpp - Shortest paths of a topology --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the routes between all pairs of up to about a thousand devices.
//
//===----------------------------------------------------------------------===//

#include "soap/Topology/Topology.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

using namespace soap;

/// Numbers the rates of routes while they are found. Equal links make equal
/// routes longer, so that a route's rates are looked up, not computed.
class Topology::RatesTable {
public:
  RatesTable(llvm::ArrayRef<Link> links, std::vector<Rates> &rates)
      : rates_(rates) {
    // Entry 0 stands for no links; all other routes are longer.
    rates_.assign(1, {});
    using Sort = std::tuple<int64_t, double, bool, double, bool>;
    std::map<Sort, uint32_t> sorts;
    for (const Link &link : links) {
      Sort sort{link.latencyNs, link.bandwidth, link.occupiesReceiver,
                link.copyBandwidth, link.sharesMemory};
      sortOf_.push_back(
          sorts.try_emplace(sort, static_cast<uint32_t>(sorts.size()))
              .first->second);
    }
  }

  /// The rates of a route with the rates `before` that goes on over a link.
  uint32_t extend(uint32_t before, int32_t index, const Link &link) {
    auto [it, isNew] = next_.try_emplace({before, sortOf_[index]}, 0);
    if (!isNew)
      return it->second;
    it->second = static_cast<uint32_t>(rates_.size());
    Rates rates = rates_[before];
    rates.bandwidth = rates.numLinks ? std::min(rates.bandwidth, link.bandwidth)
                                     : link.bandwidth;
    rates.sharesMemory =
        link.sharesMemory && (rates.numLinks == 0 || rates.sharesMemory);
    ++rates.numLinks;
    rates.latencyNs += link.latencyNs;
    if (link.occupiesReceiver) {
      double rate =
          link.copyBandwidth > 0 ? link.copyBandwidth : link.bandwidth;
      rates.copyBandwidth =
          rates.occupiesReceiver ? std::min(rates.copyBandwidth, rate) : rate;
      rates.occupiesReceiver = true;
    }
    rates.cost =
        rates.latencyNs + static_cast<int64_t>(0x1p20 / rates.bandwidth * 1e9);
    rates_.push_back(rates);
    return it->second;
  }

private:
  std::vector<Rates> &rates_;
  std::vector<uint32_t> sortOf_; ///< Of every link; equal links, equal sorts.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> next_;
};

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

  auto routes = std::make_shared<Routes>();
  RatesTable table(links_, routes->rates);
  routes->ways.assign(static_cast<size_t>(ends) * ends, {0, 0});
  std::vector<int32_t> &routeLinks = routes->links;
  using Key = std::tuple<int64_t, int32_t, int32_t>; // Cost, hops, vertex.
  std::vector<std::pair<int64_t, int32_t>> best(numVertices);
  std::vector<int32_t> via(numVertices);
  std::vector<uint32_t> rates(numVertices);
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
  for (int32_t from = 0; from < ends; ++from) {
    std::fill(best.begin(), best.end(),
              std::make_pair(std::numeric_limits<int64_t>::max(), 0));
    std::fill(via.begin(), via.end(), -1);
    best[from] = {0, 0};
    rates[from] = 0;
    auto ratesOf = [&](int32_t vertex) {
      const Link &last = links_[via[vertex]];
      return table.extend(rates[last.from], via[vertex], last);
    };
    queue.push({0, 0, from});
    while (!queue.empty()) {
      auto [cost, hops, vertex] = queue.top();
      queue.pop();
      if (std::make_pair(cost, hops) != best[vertex])
        continue;
      if (vertex != from)
        rates[vertex] = ratesOf(vertex);
      for (int32_t index : outgoing[vertex]) {
        int32_t to = links_[index].to;
        std::pair<int64_t, int32_t> next{cost + weight[index], hops + 1};
        if (next >= best[to])
          continue;
        best[to] = next;
        via[to] = index;
        if (to >= ends)
          queue.push({next.first, next.second, to});
      }
    }
    for (int32_t to = 0; to < ends; ++to) {
      if (to == from || via[to] < 0)
        continue;
      size_t begin = routeLinks.size();
      routes->ways[static_cast<size_t>(from) * ends + to] = {
          static_cast<uint32_t>(begin), ratesOf(to)};
      routeLinks.resize(begin + best[to].second);
      int32_t vertex = to;
      for (size_t i = routeLinks.size(); i > begin;
           vertex = links_[via[vertex]].from)
        routeLinks[--i] = via[vertex];
    }
  }
  routeLinks.shrink_to_fit();
  routes_ = std::move(routes);
}
