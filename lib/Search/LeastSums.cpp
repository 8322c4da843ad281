//===- LeastSums.cpp - Strategies with the least sum of costs -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeastSums.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Search/Simulator.h"

using namespace soap;
using namespace soap::detail;
using Clock = std::chrono::steady_clock;

std::vector<double> detail::lostNs(const TaskGraph &tasks) {
  const OperatorGraph &graph = tasks.graph();
  SimulationResult step = FullSimulator(tasks).run();
  std::vector<double> lost(graph.numNodes(), 0);
  std::vector<int64_t> free(tasks.topology().numDevices() + 1, 0);
  auto add = [&](int32_t node, int64_t ns) {
    if (size_t count = tasks.nodeTasks(node).devices.size())
      lost[node] += static_cast<double>(ns) / static_cast<double>(count);
  };
  for (auto [node, times] : llvm::zip_equal(step.nodes, step.times)) {
    if (node.kind == TaskNode::Kind::Move)
      continue;
    for (auto [device, start, end] :
         llvm::zip_equal(node.devices, times.start, times.end)) {
      int64_t waited = start - free[device];
      free[device] = end;
      switch (node.kind) {
      case TaskNode::Kind::Compute:
        add(node.node, waited);
        break;
      case TaskNode::Kind::Unpack:
        add(node.node, waited + end - start);
        break;
      default:
        for (const GraphValue::Use &use : graph.value(node.value).uses)
          add(use.node, end - start);
      }
    }
  }
  return lost;
}

namespace {
/// Finds the least sums of one part of a machine.
class LeastSumFinder {
public:
  LeastSumFinder(const SearchProblem &problem, CostTables &tables,
                 const TaskGraph &costs, const LeastSumLimits &limits)
      : graph_(problem.graph), tables_(tables), limits_(limits),
        tasks_(problem, &costs) {}

  /// Adds the strategy with the least sum where the pairs of edge e count
  /// shares[e]. False if there is none or it is known.
  bool add(llvm::ArrayRef<double> shares, std::string name);
  /// What pairs should count after the strategy that was added last.
  void adapt(std::vector<double> &shares) const;
  std::vector<LeastSum> take();

private:
  const OperatorGraph &graph_;
  CostTables &tables_;
  const LeastSumLimits &limits_;
  TaskGraph tasks_;              ///< Of the strategy that was added last,
  std::vector<int32_t> choices_; ///< and its choices.
  std::vector<std::vector<int32_t>> known_;
  std::vector<LeastSum> found_;
};
} // namespace

bool LeastSumFinder::add(llvm::ArrayRef<double> shares, std::string name) {
  constexpr double mostCombinations = 7e5;
  MinSum::Result found = tables_.leastSum(
      shares, CostTables::Pairs::Guessed, limits_.threads, mostCombinations,
      [&] { return Clock::now() >= limits_.planEnd; });
  if (found.end != MinSum::End::Done)
    return false;
  if (found.choices == choices_)
    return true; // What it lost is the same.
  if (llvm::is_contained(known_, found.choices))
    return false;
  choices_ = found.choices;
  known_.push_back(std::move(found.choices));

  Strategy strategy = tables_.strategyOf(choices_);
  tasks_.setStrategy(strategy);
  FullSimulator simulator(tasks_);
  int64_t stepNs = simulator.stepNs();
  std::vector<int32_t> order = criticalPathOrder(tasks_);
  tasks_.setOrder(order);
  if (int64_t inOrder = simulator.stepNs(); inOrder < stepNs) {
    stepNs = inOrder;
    strategy.order = std::move(order);
  }
  found_.push_back({std::move(name), std::move(strategy), stepNs});
  return true;
}

void LeastSumFinder::adapt(std::vector<double> &shares) const {
  const MinSum &sums = tables_.sums();
  std::vector<double> lost = lostNs(tasks_), ofEdges(sums.numEdges(), 0);
  for (int32_t id = 0; id < graph_.numNodes(); ++id) {
    if (lost[id] == 0)
      continue;
    // What a node lost is shared by what moves to it.
    llvm::SmallVector<std::pair<int32_t, double>, 4> edges;
    double sum = 0;
    int32_t place = tables_.placeOf(graph_.node(id).group);
    for (int32_t value : graph_.node(id).operands) {
      const GraphNode &producer = graph_.node(graph_.value(value).producer);
      int32_t edge = sums.findEdge(tables_.placeOf(producer.group), place);
      if (edge < 0)
        continue;
      auto ns = static_cast<double>(sums.pairCost(edge, choices_));
      edges.push_back({edge, ns});
      sum += ns;
    }
    for (auto [edge, ns] : edges)
      if (ns > 0)
        ofEdges[edge] += lost[id] * ns / sum;
  }
  // Half of it at once: with less weight in the sum, more moves, and it hides
  // less well.
  constexpr double least = 0.02;
  for (size_t edge = 0; edge < shares.size(); ++edge)
    if (auto ns = static_cast<double>(
            sums.pairCost(static_cast<int32_t>(edge), choices_));
        ns > 0)
      shares[edge] =
          (shares[edge] + std::clamp(ofEdges[edge] / ns, least, 1.0)) / 2;
}

std::vector<LeastSum> LeastSumFinder::take() {
  llvm::stable_sort(found_, [](const LeastSum &a, const LeastSum &b) {
    return a.stepNs < b.stepNs;
  });
  return std::move(found_);
}

std::vector<LeastSum> detail::leastSums(const SearchProblem &problem,
                                        CostTables &tables,
                                        const TaskGraph &costs,
                                        const LeastSumLimits &limits) {
  LeastSumFinder finder(problem, tables, costs, limits);
  auto isOver = [&] { return Clock::now() >= limits.end; };
  auto add = [&](int percent, std::vector<double> &shares) {
    shares.assign(tables.sums().numEdges(), percent / 100.0);
    return !isOver() && finder.add(shares, "least sum with moves at " +
                                               std::to_string(percent) + "%");
  };
  // What is between two shares is found by adapting the last of these.
  std::vector<double> shares;
  if (!add(100, shares))
    return {};
  add(25, shares);
  for (int round = 1; round <= limits.rounds && !isOver(); ++round) {
    finder.adapt(shares);
    if (!finder.add(shares, "least sum adapted " + std::to_string(round)))
      break;
  }
  return finder.take();
}
