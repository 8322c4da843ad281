//===- LowerBound.cpp - What no strategy can beat -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/LowerBound.h"
#include "NeighborReads.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

namespace {
constexpr double never = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// What it takes, at least, until bytes have come to a device of a set from
/// devices outside of it.
struct Entrance {
  int32_t devices = 0;      ///< In the largest set.
  double latencyNs = never; ///< The smallest.
  double rate = 0;          ///< Bytes/s into the set that most can come to.

  /// Adds a set. Every route into it passes the link that is chosen for it: all
  /// that comes passes the resources of these links, each of which is used by
  /// one at a time.
  void add(const Topology &topology, llvm::ArrayRef<int32_t> set) {
    llvm::SmallDenseMap<int32_t, int32_t> routesOf; // By resource.
    SmallVector<Route, 16> routes;
    for (int32_t from = 0; from < topology.numDevices(); ++from)
      for (int32_t to : set) {
        if (llvm::is_contained(set, from))
          continue;
        routes.push_back(topology.route(from, to));
        for (int32_t link : routes.back().links)
          ++routesOf[topology.links()[link].resource];
      }
    llvm::SmallDenseMap<int32_t, double> slowest, busiest;
    auto pass = [](llvm::SmallDenseMap<int32_t, double> &rates,
                   const Link &link) {
      double &rate = rates[link.resource];
      rate = std::max(rate, link.bandwidth);
    };
    double unlimited = 0;
    for (const Route &route : routes) {
      latencyNs = std::min(latencyNs, static_cast<double>(route.latencyNs));
      if (route.links.empty()) {
        unlimited = never;
        continue;
      }
      const Link *slow = nullptr, *busy = nullptr;
      for (int32_t id : route.links) {
        const Link &link = topology.links()[id];
        if (!slow || link.bandwidth < slow->bandwidth)
          slow = &link;
        if (!busy || routesOf[link.resource] > routesOf[busy->resource])
          busy = &link;
      }
      pass(slowest, *slow);
      pass(busiest, *busy);
    }
    auto sum = [&](const llvm::SmallDenseMap<int32_t, double> &rates) {
      double sum = unlimited;
      for (const auto &[resource, rate] : rates)
        sum += rate;
      return sum;
    };
    rate = std::max(rate, std::min(sum(slowest), sum(busiest)));
    devices = std::max(devices, static_cast<int32_t>(set.size()));
  }
};

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// When tasks of a node can start, at the earliest, for one of its choices.
struct Start {
  double any = 0;  ///< Every task.
  double last = 0; ///< The one that is last along every loop.
};

/// What is known of a node when the ways to it have been followed.
struct Reached {
  std::vector<Start> starts; ///< Per choice.
  /// When a device that runs all tasks of the node can start them: after the
  /// work of all nodes before it, if it runs all of them too (`alone`), or when
  /// something has come from another device (`helped`).
  double alone = 0, helped = never;
  llvm::BitVector before; ///< Nodes that it has to run if it runs alone.

  double all() const { return std::min(alone, helped); }
};

/// What it takes to move something that a bound counts.
enum class Moves { Nothing, Latencies, Bytes };

class Bound {
public:
  Bound(const SearchProblem &problem, int32_t maxTasks)
      : graph_(problem.graph), topology_(problem.topology),
        devices_(problem.topology.numDevices()), choices_(graph_.numNodes()),
        edges_(graph_.numNodes()), leastWork_(graph_.numNodes(), 0) {
    const OperatorGraph &graph = problem.graph;
    const Topology &topology = problem.topology;
    std::map<int32_t, SmallVector<int32_t, 8>> machines;
    for (int32_t device = 0; device < devices_; ++device) {
      device_.add(topology, device);
      machines[topology.device(device).node].push_back(device);
    }
    if (machines.size() > 1)
      for (const auto &[node, devices] : machines)
        machine_.add(topology, devices);
    ChoiceMaker maker(problem, maxTasks);
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      if (graph.node(id).role == NodeRole::Compute)
        choices_[id] = maker.make(id);
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      if (choices_[id]) {
        leastWork_[id] = INT64_MAX;
        for (const Choice &choice : choices_[id]->choices)
          leastWork_[id] = std::min(leastWork_[id], choice.workNs);
      }
    for (int32_t id = 0; id < graph.numNodes(); ++id)
      if (choices_[id])
        addEdges(id);
  }

  LowerBound run() {
    LowerBound bound;
    bound.workNs = whole(weigh(0));
    bound.pathNs = whole(longestWay(/*moves=*/false));
    bound.communicationNs = whole(longestWay(/*moves=*/true));
    double mixed = 0;
    constexpr int steps = 16;
    for (int step = 1; step < steps; ++step)
      mixed = std::max(mixed, weigh(static_cast<double>(step) / steps));
    bound.mixedNs = whole(mixed);
    bound.stepNs = std::max(
        {bound.workNs, bound.pathNs, bound.communicationNs, bound.mixedNs});
    return bound;
  }

private:
  /// Times are whole, so that a fraction may be rounded up; what floating point
  /// adds may not.
  static int64_t whole(double ns) {
    return static_cast<int64_t>(std::ceil(ns * (1 - 1e-12) - 1e-6));
  }

  void addEdges(int32_t id) {
    const GraphNode &node = graph_.node(id);
    for (auto [operand, value] : llvm::enumerate(node.operands)) {
      int32_t producer = graph_.value(value).producer;
      const ValueAccess &access = node.spec.operands[operand];
      if (choices_[producer] && !access.firstOnly && !access.unreduced)
        edges_[id].emplace_back(graph_, id, static_cast<int32_t>(operand),
                                *choices_[id], *choices_[producer]);
    }
  }

  /// Of what moves over an edge. Collectives with priority do not wait for
  /// links: several may pass one at once.
  Moves countedOf(const Edge &edge, bool moves) const {
    if (!moves)
      return Moves::Nothing;
    return topology_.prioritizes(edge.valueBytes()) ? Moves::Latencies
                                                    : Moves::Bytes;
  }

  /// When a task that reads something of a task outside of its set of devices
  /// has it, if the producer's tasks can start at 0.
  double fromOutside(const Reads &reads, double taskNs, const Entrance &set,
                     Moves moves) const {
    if (set.devices == 0 || set.devices == devices_)
      return never;
    if (moves == Moves::Nothing)
      return taskNs;
    if (moves == Moves::Latencies)
      return taskNs + set.latencyNs;
    // Large groups pass on pieces of the mean size. The times of messages are
    // rounded, each by half a nanosecond at most.
    double scale = 1e9 / set.rate * (devices_ > 32 ? 0.96 : 1);
    double rounded = 16 + devices_;
    double earliest = taskNs + set.latencyNs;
    // k tasks of the set take a share of k * taskNs on one of its devices; what
    // they do not make comes after the latency. The best k need not be whole.
    double share = taskNs / set.devices;
    double all = std::max(0.0, earliest + reads.bytes * scale - rounded);
    double saved = reads.overlapBytes * scale;
    double most = reads.tasks - 1;
    double time = share + saved > 0 ? all * share / (share + saved) : 0;
    if (time > most * share)
      time = all - most * saved;
    return std::max(earliest, time);
  }

  /// When a task has what it reads of one operand.
  double arrival(const Reads &reads, const Reached &producer, size_t index,
                 const Choice &choice, Moves moves) const {
    double start = producer.starts[index].any;
    auto taskNs = static_cast<double>(choice.shortestNs);
    double here = start + reads.tasks * taskNs;
    if (reads.tasks >= static_cast<double>(choice.degrees.numTiles()))
      here =
          std::max(here, producer.all() + static_cast<double>(choice.workNs));
    double time =
        std::min(here, start + fromOutside(reads, taskNs, device_, moves));
    if (machine_.devices == 0)
      return time;
    // The same argument holds for all devices of a machine together.
    double inMachine = std::max(1.0, reads.tasks / machine_.devices) * taskNs;
    return std::max(
        time, start + std::min(inMachine,
                               fromOutside(reads, taskNs, machine_, moves)));
  }

  /// Bounds of starts, node by node. With `moves`, a task that reads more than
  /// its device computes waits for the links.
  double longestWay(bool moves) {
    std::vector<Reached> reached(graph_.numNodes());
    double end = 0;
    for (int32_t id = 0; id < graph_.numNodes(); ++id) {
      if (!choices_[id])
        continue;
      const std::vector<Choice> &choices = choices_[id]->choices;
      Reached &node = reached[id];
      node.starts.resize(choices.size());
      for (const Edge &edge : edges_[id])
        follow(edge, choices, reached[edge.producer()], node,
               countedOf(edge, moves));
      startAll(id, reached, moves);
      // The first choice is one task.
      node.starts[0].any = std::max(node.starts[0].any, node.all());
      node.starts[0].last = std::max(node.starts[0].last, node.all());
      double earliest = never;
      for (auto [choice, start] : llvm::zip_equal(choices, node.starts)) {
        double longest =
            std::max(static_cast<double>(choice.longestNs),
                     static_cast<double>(choice.workNs) / devices_);
        earliest =
            std::min(earliest,
                     std::max(start.any + longest,
                              start.last + static_cast<double>(choice.lastNs)));
      }
      end = std::max(end, earliest);
    }
    return end;
  }

  /// Delays the starts of a consumer by what one operand needs, for the best
  /// choice of its producer.
  void follow(const Edge &edge, const std::vector<Choice> &consumers,
              const Reached &from, Reached &to, Moves moves) {
    const std::vector<Choice> &producers = choices_[edge.producer()]->choices;
    // No later start than this can come of a choice; the best come first, so
    // that the others need not be looked at.
    std::vector<double> least;
    for (auto [choice, start] : llvm::zip_equal(producers, from.starts))
      least.push_back(edge.readsAlways()
                          ? start.any + static_cast<double>(choice.shortestNs)
                          : 0);
    std::vector<int32_t> order(producers.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(
        order, [&](int32_t a, int32_t b) { return least[a] < least[b]; });
    for (auto [consumer, start] : llvm::zip_equal(consumers, to.starts)) {
      if (pairs_ > maxPairs) {
        start.any = std::max(start.any, least[order[0]]);
        start.last = std::max(start.last, least[order[0]]);
        continue;
      }
      Start best{never, never};
      for (int32_t index : order) {
        if (least[index] >= std::max(best.any, best.last))
          break;
        ++pairs_;
        const Choice &producer = producers[index];
        Reads reads = edge.reads(consumer, producer);
        Start found;
        if (reads.bytes > 0) {
          found.any = arrival(reads, from, index, producer, moves);
          found.last = found.any;
        }
        if (reads.last)
          found.last = std::max(found.last,
                                from.starts[index].any +
                                    static_cast<double>(producer.shortestNs));
        if (reads.lastOfLast)
          found.last =
              std::max(found.last, from.starts[index].last +
                                       static_cast<double>(producer.lastNs));
        best.any = std::min(best.any, found.any);
        best.last = std::min(best.last, found.last);
      }
      start.any = std::max(start.any, best.any);
      start.last = std::max(start.last, best.last);
    }
  }

  /// When a device can start a node that it runs all tasks of.
  void startAll(int32_t id, std::vector<Reached> &reached, bool moves) {
    Reached &node = reached[id];
    node.before.resize(graph_.numNodes());
    double arrived = 0;
    for (const Edge &edge : edges_[id]) {
      const Reached &producer = reached[edge.producer()];
      Moves counted = countedOf(edge, moves);
      const std::vector<Choice> &producers = choices_[edge.producer()]->choices;
      const Choice &whole = choices_[id]->choices.front();
      double elsewhere = never, first = never;
      bool readsAll = true;
      for (auto [index, choice] : llvm::enumerate(producers)) {
        Reads reads = edge.reads(whole, choice);
        bool some = reads.bytes > 0;
        readsAll &= some && reads.tasks >=
                                static_cast<double>(choice.degrees.numTiles());
        double start = producer.starts[index].any;
        elsewhere = std::min(
            elsewhere,
            some ? start + fromOutside(reads,
                                       static_cast<double>(choice.shortestNs),
                                       device_, counted)
                 : 0);
        first = std::min(
            first, some ? arrival(reads, producer, index, choice, counted) : 0);
      }
      arrived = std::max(arrived, first);
      if (!readsAll)
        continue; // The device need not run all of the producer.
      node.before.set(edge.producer());
      node.before |= producer.before;
      node.helped = std::min(
          {node.helped, elsewhere,
           producer.helped + static_cast<double>(leastWork_[edge.producer()])});
    }
    for (unsigned other : node.before.set_bits())
      node.alone += static_cast<double>(leastWork_[other]);
    node.alone = std::max(node.alone, arrived);
    node.helped = std::max(node.helped, arrived);
  }

  /// `share` of the longest way and the rest of the work over the devices: each
  /// node at the degrees where its part of the sum is smallest.
  double weigh(double share) const {
    std::vector<double> ends(graph_.numNodes(), 0);
    double sum = 0, longest = 0;
    for (int32_t id = 0; id < graph_.numNodes(); ++id) {
      if (!choices_[id])
        continue;
      double off = never, on = never, before = 0;
      for (const Choice &choice : choices_[id]->choices) {
        double work =
            (1 - share) * static_cast<double>(choice.workNs) / devices_;
        off = std::min(off, work);
        on =
            std::min(on, work + share * static_cast<double>(choice.shortestNs));
      }
      for (const Edge &edge : edges_[id])
        if (edge.readsAlways())
          before = std::max(before, ends[edge.producer()]);
      sum += off;
      ends[id] = before + on - off;
      longest = std::max(longest, ends[id]);
    }
    return sum + longest;
  }

  /// Pairs of choices that may be looked at: well below a second.
  static constexpr int64_t maxPairs = 20'000'000;

  const OperatorGraph &graph_;
  const Topology &topology_;
  int32_t devices_;
  Entrance device_, machine_; ///< Of sets of one device, and of machines.
  std::vector<std::shared_ptr<const NodeChoices>> choices_; ///< Per node.
  std::vector<std::vector<Edge>> edges_;                    ///< Per node.
  std::vector<int64_t> leastWork_;                          ///< Per node.
  int64_t pairs_ = 0;
};
} // namespace

LowerBound soap::lowerBound(const SearchProblem &problem, int32_t maxTasks) {
  return Bound(problem, maxTasks).run();
}
