//===- CostTables.cpp - Costs of operations and of pairs ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostTables.h"
#include "Placement.h"
#include "ValueClasses.h"
#include "ValuePlans.h"
#include "soap/Partition/Needs.h"
#include <map>
#include <numeric>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// What costs something
//===----------------------------------------------------------------------===//

/// Time of all tasks of a node on the busiest device.
static int64_t computeNs(const DegreesCost &cost, const Configuration &config,
                         const Topology &topology) {
  SmallVector<int64_t, 64> busy(topology.numDevices(), 0);
  for (auto [task, device] : llvm::enumerate(config.devices))
    busy[device] += cost.ns[cost.classOf[task]][topology.device(device).kind];
  return *llvm::max_element(busy);
}

namespace {
/// A value that moves to a reader: a compute node, or an output of the graph.
struct Move {
  int32_t value, use;
  /// The node whose configuration says where the value is: its producer, or
  /// what writes the parameter that it is.
  int32_t owner;
};
} // namespace

static std::vector<Move> movesOf(const OperatorGraph &graph) {
  std::vector<Move> moves;
  for (int32_t id = 0; id < graph.numValues(); ++id) {
    const GraphValue &value = graph.value(id);
    int32_t owner = value.producer;
    if (graph.node(owner).role != NodeRole::Compute) {
      const GraphValue::Use *write = graph.findWrite(id);
      if (!write)
        continue;
      owner = write->node;
    }
    for (auto [index, use] : llvm::enumerate(value.uses))
      if (NodeRole role = graph.node(use.node).role;
          role == NodeRole::Compute || role == NodeRole::Output)
        moves.push_back({id, static_cast<int32_t>(index), owner});
  }
  return moves;
}

/// The layout of a value that moves. In `strategy` the configuration of
/// `move.owner` counts alone.
static void layoutOf(const OperatorGraph &graph, const Move &move,
                     Strategy &strategy, Layout &layout) {
  int32_t producer = graph.value(move.value).producer;
  if (producer != move.owner)
    strategy.configs[producer] = placeWhereRead(graph, strategy, producer);
  detail::layoutOf(graph, strategy, move.value, layout);
}

int64_t detail::sumOfCosts(const SearchProblem &problem,
                           const Strategy &strategy) {
  const OperatorGraph &graph = problem.graph;
  int64_t sum = 0;
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Compute)
      sum += computeNs(degreesCost(problem, id, strategy.configs[id].degrees),
                       strategy.configs[id], problem.topology);
  MoveTimes times(problem.topology);
  Strategy places = strategy;
  Layout layout;
  Need need;
  for (const Move &move : movesOf(graph)) {
    ::layoutOf(graph, move, places, layout);
    detail::needOf(graph, strategy, move.value, move.use, need);
    sum += times.ns(layout, need, graph.value(move.value).elementBytes);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
struct RatedDegrees {
  const Degrees *degrees;
  bool isSimple; ///< One loop is split, or there are copies alone.
  double rating; ///< Less is better.
};
} // namespace

static Configuration onFirstDevices(const Degrees &degrees) {
  Configuration config;
  config.degrees = degrees;
  config.devices.resize(degrees.numTasks());
  llvm::MutableArrayRef<int32_t> devices = config.devices.edit();
  std::iota(devices.begin(), devices.end(), 0);
  return config;
}

/// The degrees of a group with at most one task per device, by numbers of
/// tasks. Every second number of tasks is left out, the highest never, as long
/// as there is no place for simple splits and some others of each.
static std::vector<std::vector<const Degrees *>>
byTasks(const ConfigurationSpace &space, int32_t group, size_t mostChoices) {
  std::map<int32_t, std::vector<const Degrees *>> all;
  for (const Degrees &degrees : space.degrees(group))
    if (auto tasks = static_cast<int32_t>(degrees.numTasks());
        tasks <= space.numDevices())
      all[tasks].push_back(&degrees);
  std::vector<std::vector<const Degrees *>> result;
  for (auto &[tasks, degrees] : all)
    result.push_back(std::move(degrees));
  size_t enough = space.extents(group).size() + 3;
  while (result.size() > 2 && result.size() * enough > mostChoices + enough) {
    std::vector<std::vector<const Degrees *>> fewer;
    for (size_t i = 0; i < result.size(); ++i)
      if (i == 0 || (result.size() - 1 - i) % 2 == 0)
        fewer.push_back(std::move(result[i]));
    if (fewer.size() == result.size())
      break;
    result = std::move(fewer);
  }
  return result;
}

/// Degrees of a group with the same number of tasks, the most promising first.
static std::vector<RatedDegrees> rate(const SearchProblem &problem,
                                      DegreesCosts &costs, int32_t group,
                                      ArrayRef<const Degrees *> choices) {
  const OperatorGraph &graph = problem.graph;
  ArrayRef<int32_t> members = graph.group(group);
  std::vector<RatedDegrees> result;
  for (const Degrees *degrees : choices) {
    int64_t ns = 0;
    for (int32_t id : members)
      ns += *llvm::max_element(
          id == members.front()
              ? costs.ofLastTask(id, *degrees)
              : costs.ofLastTask(
                    id, memberConfiguration(graph.node(members.front()),
                                            onFirstDevices(*degrees),
                                            graph.node(id))
                            .degrees));
    // Every further loop that is split counts like a quarter more time: it
    // mostly moves more.
    auto splits = llvm::count_if(degrees->loops,
                                 [](int32_t degree) { return degree > 1; }) +
                  (degrees->replicate > 1);
    result.push_back(
        {degrees, splits <= 1,
         static_cast<double>(ns) * (1 + 0.25 * static_cast<double>(splits))});
  }
  llvm::stable_sort(result, [](const RatedDegrees &a, const RatedDegrees &b) {
    return std::tuple(!a.isSimple, a.rating) <
           std::tuple(!b.isSimple, b.rating);
  });
  return result;
}

std::vector<std::vector<Configuration>>
detail::chooseConfigurations(const SearchProblem &problem,
                             const ConfigurationSpace &space,
                             size_t mostChoices, DegreesCosts &costs) {
  std::vector<std::vector<Configuration>> result;
  llvm::DenseMap<Key, size_t> known; // By what a group is made of.
  for (int32_t group : space.groups()) {
    KeyBuilder builder;
    for (int32_t id : problem.graph.group(group)) {
      builder.add(classOfNode(problem.graph, id));
      builder.addAll(ArrayRef<int16_t>(problem.graph.node(id).leaderLoops));
    }
    auto [it, isNew] = known.try_emplace(builder.key(), result.size());
    if (!isNew) {
      result.push_back(result[it->second]);
      continue;
    }
    auto tasks = byTasks(space, group, mostChoices);
    // What is left is shared by the numbers of tasks that are left.
    std::vector<Configuration> &choices = result.emplace_back();
    size_t left = std::max<size_t>(1, mostChoices);
    for (auto [index, same] : llvm::enumerate(tasks)) {
      size_t share = llvm::divideCeil(left, tasks.size() - index);
      std::vector<RatedDegrees> rated = rate(problem, costs, group, same);
      for (const RatedDegrees &entry : ArrayRef(rated).take_front(share))
        choices.push_back(onFirstDevices(*entry.degrees));
      left -= std::min(share, same.size());
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

CostTables::CostTables(const SearchProblem &problem,
                       const ConfigurationSpace &space,
                       std::vector<std::vector<Configuration>> choices,
                       DegreesCosts &costs)
    : problem_(problem), space_(space), choices_(std::move(choices)),
      costs_(costs), placeOf_(problem.graph.numGroups(), -1) {
  for (auto [place, group] : llvm::enumerate(space_.groups()))
    placeOf_[group] = static_cast<int32_t>(place);
}

/// Makes a variable of every group, with what its nodes compute. Returns the
/// configurations of all nodes, by choice of their groups.
std::vector<std::vector<Configuration>> CostTables::addVariables() {
  const OperatorGraph &graph = problem_.graph;
  std::vector<std::vector<Configuration>> configs(graph.numNodes());
  own_ = MinSum();
  for (auto [place, group] : llvm::enumerate(space_.groups())) {
    std::vector<int64_t> own;
    const GraphNode &leader = graph.node(graph.group(group).front());
    for (const Configuration &choice : choices_[place]) {
      own.push_back(0);
      for (int32_t id : graph.group(group)) {
        const Configuration &config = configs[id].emplace_back(
            graph.isLeader(id)
                ? choice
                : memberConfiguration(leader, choice, graph.node(id)));
        own.back() +=
            computeNs(costs_.of(id, config.degrees), config, problem_.topology);
      }
    }
    own_.addVariable(std::move(own));
  }
  return configs;
}

namespace {
/// The layouts and needs of a value that moves, by choices.
struct Ends {
  std::vector<uint32_t> layouts, needs;
};
} // namespace

static Ends endsOf(const OperatorGraph &graph, const Move &move,
                   ArrayRef<Configuration> owners,
                   ArrayRef<Configuration> readers, Strategy &scratch,
                   MoveTable &table) {
  const GraphValue &value = graph.value(move.value);
  Ends ends;
  Layout layout;
  Need need;
  for (const Configuration &config : owners) {
    scratch.configs[move.owner] = config;
    ::layoutOf(graph, move, scratch, layout);
    ends.layouts.push_back(table.add(layout, value.elementBytes));
  }
  int32_t reader = value.uses[move.use].node;
  for (const Configuration &config : readers) {
    scratch.configs[reader] = config;
    detail::needOf(graph, scratch, move.value, move.use, need);
    ends.needs.push_back(table.add(need));
  }
  return ends;
}

/// The sums with what pairs cost: `ns` of a place in moves_.
template <typename Ns>
MinSum CostTables::withPairs(Ns ns) const {
  MinSum sums = own_;
  std::vector<int64_t> costs;
  for (const Edge &edge : edges_) {
    if (edge.from == edge.to || edge.to < 0) {
      for (auto [choice, place] : llvm::enumerate(edge.places))
        sums.add(edge.from, static_cast<int32_t>(choice), ns(place));
      continue;
    }
    costs.clear();
    for (uint32_t place : edge.places)
      costs.push_back(ns(place));
    sums.addPair(edge.from, edge.to, costs);
  }
  return sums;
}

/// After some pairs were planned.
void CostTables::rebuild() {
  // Plans mostly take some times what they take at least.
  constexpr int64_t guess = 3;
  sums_ = withPairs([&](uint32_t place) {
    return moves_.isPlanned(place) ? moves_.ns(place)
                                   : guess * moves_.leastNs(place);
  });
  least_ = withPairs([&](uint32_t place) {
    return moves_.isPlanned(place) ? moves_.ns(place) : moves_.leastNs(place);
  });
}

/// Per place in moves_: with a choice of one of two operations, how many
/// choices of the other move less; the fewest, over all that the place is of.
std::vector<size_t> CostTables::ranksOfPairs() const {
  std::vector<size_t> ranks(moves_.size(), SIZE_MAX);
  std::vector<uint32_t> places;
  auto rank = [&] {
    llvm::stable_sort(places, [&](uint32_t a, uint32_t b) {
      return moves_.leastNs(a) < moves_.leastNs(b);
    });
    for (auto [index, place] : llvm::enumerate(places))
      ranks[place] = std::min(ranks[place], index);
  };
  for (const Edge &edge : edges_) {
    bool isPair = edge.from != edge.to && edge.to >= 0;
    size_t columns = isPair ? choices_[edge.to].size() : 1;
    ArrayRef<uint32_t> left(edge.places);
    for (; !left.empty(); left = left.drop_front(columns)) {
      places = left.take_front(columns).vec();
      rank();
    }
    for (size_t column = 0; isPair && column < columns; ++column) {
      places.clear();
      for (size_t at = column; at < edge.places.size(); at += columns)
        places.push_back(edge.places[at]);
      rank();
    }
  }
  return ranks;
}

CostTables::Fill CostTables::fill(unsigned threads,
                                  llvm::function_ref<bool()> stop,
                                  size_t mostPlanned) {
  const OperatorGraph &graph = problem_.graph;
  std::vector<std::vector<Configuration>> configs = addVariables();
  Strategy scratch;
  scratch.configs.resize(graph.numNodes());
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (graph.node(id).role == NodeRole::Output)
      configs[id].push_back(onDevice(graph.node(id), problem_.topology.host()));
  for (const Move &move : movesOf(graph)) {
    if (stop())
      return Fill::Nothing;
    int32_t reader = graph.value(move.value).uses[move.use].node;
    Ends ends = endsOf(graph, move, configs[move.owner], configs[reader],
                       scratch, moves_);
    Edge &edge = edges_.emplace_back();
    edge.from = placeOf(graph.node(move.owner).group);
    edge.to = placeOf(graph.node(reader).group);
    for (auto [choice, from] : llvm::enumerate(ends.layouts))
      if (edge.from == edge.to)
        edge.places.push_back(moves_.want(from, ends.needs[choice]));
      else
        for (uint32_t to : ends.needs)
          edge.places.push_back(moves_.want(from, to));
  }
  moves_.bound(problem_.topology);
  byBound_.resize(moves_.size());
  std::iota(byBound_.begin(), byBound_.end(), 0);
  llvm::stable_sort(byBound_, [&](uint32_t a, uint32_t b) {
    return moves_.leastNs(a) < moves_.leastNs(b);
  });
  byRank_ = byBound_;
  std::vector<size_t> ranks = ranksOfPairs();
  llvm::stable_sort(
      byRank_, [&](uint32_t a, uint32_t b) { return ranks[a] < ranks[b]; });
  bool isExact = byRank_.size() <= mostPlanned;
  isExact &= moves_.plan(problem_.topology, threads,
                         ArrayRef(byRank_).take_front(mostPlanned), stop);
  rebuild();
  return isExact ? Fill::Exactly : Fill::Partly;
}

/// What pairs cost that are avoided: a day, longer than any step.
static constexpr int64_t avoidNs = int64_t(24 * 3600) * 1'000'000'000;

MinSum::Result CostTables::leastSum(ArrayRef<double> shares, Pairs unplanned,
                                    unsigned threads, double mostCombinations,
                                    llvm::function_ref<bool()> stop) {
  auto minimise = [&](const MinSum &sums) {
    std::vector<int32_t> all(sums.numVariables());
    std::iota(all.begin(), all.end(), 0);
    MinSum::Part part;
    part.variables = all;
    for (int32_t variable : all)
      part.own.emplace_back(sums.own(variable));
    auto fixed = [](int32_t) { return -1; };
    part.fixed = fixed;
    part.shares = shares;
    MinSum::Result found = sums.minimise(std::move(part), mostCombinations);
    if (found.end == MinSum::End::Done)
      found.sum = sums.sumOf(found.choices);
    return found;
  };
  ArrayRef<uint32_t> inTurn = unplanned == Pairs::Guessed ? byRank_ : byBound_;
  size_t next = 0;
  for (size_t more = 64;; more *= 2) {
    if (unplanned == Pairs::Guessed && stop())
      return minimise(withPairs([&](uint32_t place) {
        return moves_.isPlanned(place) ? moves_.ns(place) : avoidNs;
      }));
    MinSum::Result found =
        minimise(unplanned == Pairs::Guessed ? sums_ : least_);
    if (found.end != MinSum::End::Done)
      return found;
    std::vector<uint32_t> places;
    for (const Edge &edge : edges_) {
      size_t at = found.choices[edge.from];
      if (edge.from != edge.to && edge.to >= 0)
        at = at * choices_[edge.to].size() + found.choices[edge.to];
      if (!moves_.isPlanned(edge.places[at]))
        places.push_back(edge.places[at]);
    }
    if (places.empty())
      return found;
    // Where bounds are loose, many sums would follow each other that differ
    // little. So more and more pairs are planned besides.
    for (size_t left = more; left > 0 && next < inTurn.size(); ++next)
      if (!moves_.isPlanned(inTurn[next])) {
        places.push_back(inTurn[next]);
        --left;
      }
    llvm::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    bool isStopped =
        !moves_.plan(problem_.topology, threads, places, stop) || stop();
    rebuild();
    if (isStopped && unplanned == Pairs::Bounded) {
      found.end = MinSum::End::Stopped;
      return found;
    }
  }
}

int32_t CostTables::find(size_t place, const Degrees &degrees) const {
  const auto &choices = choices_[place];
  auto it = llvm::find_if(choices, [&](const Configuration &choice) {
    return choice.degrees == degrees;
  });
  return it == choices.end() ? -1 : static_cast<int32_t>(it - choices.begin());
}

Strategy CostTables::strategyOf(ArrayRef<int32_t> choices) const {
  Strategy strategy = singleDevice(problem_.graph, problem_.topology);
  for (auto [place, choice] : llvm::enumerate(choices))
    space_.assign(strategy, space_.groups()[place], choices_[place][choice]);
  deriveEnds(strategy, problem_.graph, problem_.topology);
  return strategy;
}
