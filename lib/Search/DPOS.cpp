//===- DPOS.cpp - Placement and order by list scheduling ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Yi et al., "Fast training of deep learning models over multiple GPUs", 2020,
// Algorithms 1 and 2.
//
//===----------------------------------------------------------------------===//

#include "SearchRun.h"
#include "TaskExpansion.h"
#include "llvm/ADT/DenseSet.h"

using namespace soap;
using namespace soap::detail;

namespace {
/// Degrees of all groups, and what Algorithm 1 makes of them.
struct Schedule {
  std::vector<Degrees> degrees;
  FinishTimes times;
  /// By the simulation, in the order that the schedule enforces; -1: not
  /// simulated, or without enough memory.
  int64_t stepNs = -1;
};

class RankSearch {
public:
  explicit RankSearch(SearchRun &run)
      : run_(run), problem_(run.problem()), expansion_(problem_),
        space_(problem_.graph, problem_.topology, run.options().maxTasks) {}

  /// Algorithm 1 on both of the paper's input graphs; returns the one whose
  /// step is shorter.
  Schedule place();
  /// Algorithm 2 from there.
  void split(Schedule schedule);

private:
  Schedule schedule(std::vector<Degrees> degrees);
  int64_t simulate(Schedule &schedule, llvm::StringRef name);
  std::vector<Degrees> replicas() const;
  std::vector<int32_t> groupsOnPath(const Schedule &schedule);
  std::vector<Degrees> splits(int32_t group, const Degrees &degrees) const;

  SearchRun &run_;
  const SearchProblem &problem_;
  TaskExpansion expansion_;
  ConfigurationSpace space_;
};

class DPOS final : public SearchAlgorithm {
public:
  explicit DPOS(bool splits) : splits_(splits) {}
  llvm::StringRef name() const override { return splits_ ? "os-dpos" : "dpos"; }

  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override {
    auto begun = SearchRun::begin(problem, options);
    if (!begun)
      return begun.takeError();
    SearchRun &run = **begun;
    RankSearch search(run);
    Schedule placed = search.place();
    if (splits_)
      search.split(std::move(placed));
    return run.finish(StopReason::Placed);
  }

private:
  bool splits_;
};
} // namespace

/// Counts parameters alone at first, since results are freed in a step; if that
/// was not enough, all results.
Schedule RankSearch::schedule(std::vector<Degrees> degrees) {
  Schedule result;
  result.degrees = std::move(degrees);
  result.times = scheduleByRank(
      expansion_.expand(result.degrees, MemoryAccount::Parameters),
      problem_.topology);
  return result;
}

int64_t RankSearch::simulate(Schedule &schedule, llvm::StringRef name) {
  Strategy strategy = expansion_.strategyOf(schedule.degrees, schedule.times);
  schedule.stepNs = name.empty() ? run_.consider(strategy)
                                 : run_.considerOrders(strategy, name);
  return schedule.stepNs;
}

/// The degrees of data parallelism, as far as they are in the space.
std::vector<Degrees> RankSearch::replicas() const {
  const OperatorGraph &graph = problem_.graph;
  Strategy parallel = dataParallel(graph, problem_.topology);
  std::vector<Degrees> degrees(graph.numGroups());
  for (int32_t group = 0; group < graph.numGroups(); ++group) {
    int32_t leader = graph.group(group).front();
    degrees[group] = parallel.configs[leader].degrees;
    if (run_.options().maxTasks > 0 &&
        degrees[group].numTasks() > run_.options().maxTasks)
      degrees[group] = onDevice(graph.node(leader), 0).degrees;
  }
  return degrees;
}

Schedule RankSearch::place() {
  const OperatorGraph &graph = problem_.graph;
  std::vector<Degrees> whole;
  for (int32_t group = 0; group < graph.numGroups(); ++group)
    whole.push_back(
        onDevice(graph.node(graph.group(group).front()), 0).degrees);
  auto name = [](llvm::StringRef what, MemoryAccount memory) {
    return ("dpos of " + what +
            (memory == MemoryAccount::Everything ? ", all memory counted" : ""))
        .str();
  };
  Schedule best;
  auto tryGraph = [&](std::vector<Degrees> degrees, llvm::StringRef what) {
    Schedule tried = schedule(std::move(degrees));
    if (simulate(tried, name(what, MemoryAccount::Parameters)) < 0) {
      tried.times = scheduleByRank(
          expansion_.expand(tried.degrees, MemoryAccount::Everything),
          problem_.topology);
      simulate(tried, name(what, MemoryAccount::Everything));
    }
    if (best.degrees.empty() ||
        (tried.stepNs >= 0 && (best.stepNs < 0 || tried.stepNs < best.stepNs)))
      best = std::move(tried);
  };
  std::vector<Degrees> copies = replicas();
  bool isSplit = copies != whole;
  if (isSplit)
    tryGraph(std::move(copies), "replicas");
  if (!isSplit || !run_.isOver())
    tryGraph(std::move(whole), "whole operations");
  // What FastT starts from, and goes back to if nothing is better.
  if (run_.options().namedStarts)
    run_.consider(dataParallel(graph, problem_.topology), "data-parallel");
  return best;
}

/// The groups on the critical path of the placed tasks, each once, by falling
/// time of their tasks there.
std::vector<int32_t> RankSearch::groupsOnPath(const Schedule &schedule) {
  ScheduledGraph graph =
      expansion_.expand(schedule.degrees, MemoryAccount::Parameters);
  const Topology &topology = problem_.topology;
  auto deviceOf = [&](int32_t task) {
    return schedule.times.devices[graph.tasks[task].unit];
  };
  auto nsOf = [&](int32_t task) {
    return graph.tasks[task].ns[topology.device(deviceOf(task)).kind];
  };
  // The longest way from a task to the end, and its next task.
  std::vector<int64_t> after(graph.tasks.size(), 0);
  std::vector<int32_t> next(graph.tasks.size(), -1);
  int32_t first = 0;
  int64_t longest = -1;
  for (auto id = static_cast<int32_t>(graph.tasks.size()); id-- > 0;) {
    int64_t way = after[id] + nsOf(id);
    for (const ScheduledGraph::Input &input : graph.tasks[id].inputs) {
      int64_t length = way + arrivalNs(topology, deviceOf(input.task),
                                       deviceOf(id), input.bytes);
      if (length > after[input.task] || next[input.task] < 0) {
        after[input.task] = length;
        next[input.task] = id;
      }
    }
    if (way >= longest) {
      longest = way;
      first = id;
    }
  }
  std::vector<int32_t> path;
  for (int32_t task = first; task >= 0; task = next[task])
    path.push_back(task);
  llvm::stable_sort(path,
                    [&](int32_t a, int32_t b) { return nsOf(a) > nsOf(b); });
  std::vector<int32_t> groups;
  llvm::DenseSet<int32_t> seen;
  for (int32_t task : path)
    if (int32_t group = expansion_.groupOf(task); seen.insert(group).second)
      groups.push_back(group);
  return groups;
}

/// Every loop split into n further parts, and every loop alone in n parts.
std::vector<Degrees> RankSearch::splits(int32_t group,
                                        const Degrees &degrees) const {
  int32_t devices = space_.numDevices();
  int64_t mostTasks = run_.options().maxTasks > 0 ? run_.options().maxTasks
                                                  : int64_t(4) * devices;
  std::vector<Degrees> result;
  auto add = [&](const Degrees &split) {
    if (!(split == degrees) && split.numTasks() <= mostTasks &&
        space_.fits(group, split) && !llvm::is_contained(result, split))
      result.push_back(split);
  };
  Degrees whole;
  whole.loops.assign(degrees.loops.size(), 1);
  for (size_t loop = 0; loop < degrees.loops.size(); ++loop)
    for (int32_t parts = 2; parts <= devices; ++parts) {
      if (devices > 8 && devices % parts != 0)
        continue;
      Degrees further = degrees, alone = whole;
      further.loops[loop] *= parts;
      alone.loops[loop] = parts;
      add(further);
      add(alone);
    }
  return result;
}

void RankSearch::split(Schedule schedule) {
  // The best by the estimates of Algorithm 1 are simulated.
  constexpr size_t mostSimulated = 4;
  int32_t numSplit = 0;
  for (int32_t group : groupsOnPath(schedule)) {
    std::vector<Schedule> tried;
    for (const Degrees &split : splits(group, schedule.degrees[group])) {
      if (run_.isOver())
        return;
      std::vector<Degrees> degrees = schedule.degrees;
      degrees[group] = split;
      tried.push_back(this->schedule(std::move(degrees)));
    }
    llvm::stable_sort(tried, [](const Schedule &a, const Schedule &b) {
      return a.times.finishNs < b.times.finishNs;
    });
    tried.resize(std::min(tried.size(), mostSimulated));
    Schedule *best = nullptr;
    for (Schedule &one : tried) {
      // Strategies are made of what was expanded last.
      expansion_.expand(one.degrees, MemoryAccount::Parameters);
      if (simulate(one, "") >= 0 && (!best || one.stepNs < best->stepNs))
        best = &one;
    }
    if (!best || (schedule.stepNs >= 0 && best->stepNs >= schedule.stepNs))
      break;
    schedule = std::move(*best);
    run_.countAccepted();
    ++numSplit;
  }
  if (numSplit > 0)
    run_.considerOrders(
        (expansion_.expand(schedule.degrees, MemoryAccount::Parameters),
         expansion_.strategyOf(schedule.degrees, schedule.times)),
        "os-dpos with " + std::to_string(numSplit) + " operations split");
}

std::unique_ptr<SearchAlgorithm> soap::createDPOS(bool splits) {
  return std::make_unique<DPOS>(splits);
}
