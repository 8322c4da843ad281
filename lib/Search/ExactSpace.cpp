//===- ExactSpace.cpp - What an exact search chooses from -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSpace.h"
#include "DegreesCosts.h"
#include "Followers.h"
#include "ValuePlans.h"
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

ExactSpace::ExactSpace(const SearchProblem &problem, int32_t maxTasks,
                       ExactChoices whose)
    : problem_(problem), space_(problem.graph, problem.topology, maxTasks),
      moves_(problem.topology), owners_(problem.graph.numGroups()),
      followers_(problem.graph.numGroups()), counts_(problem.graph.numGroups()),
      choices_(problem.graph.numGroups()), tables_(problem.graph.numNodes()) {
  const OperatorGraph &graph = problem.graph;
  Followers followers(graph);
  auto isComputed = [&](int32_t value) {
    int32_t producer = graph.value(value).producer;
    return graph.node(producer).role == NodeRole::Compute &&
           !followers.isPreparation(producer);
  };
  for (int32_t group : space_.groups()) {
    int32_t leader = graph.group(group).front();
    bool follows =
        whose == ExactChoices::Layers && followers.isLight(leader) &&
        1 == llvm::count_if(graph.node(leader).operands,
                            [&](int32_t value) { return isComputed(value); });
    int32_t operand = follows ? mainOperand(graph, leader) : -1;
    if (operand >= 0 && !isComputed(graph.node(leader).operands[operand]))
      operand = -1;
    owners_[group] =
        operand < 0
            ? group
            : ownerOf(
                  graph.value(graph.node(leader).operands[operand]).producer);
    followers_[owners_[group]].push_back(group);
    if (owners_[group] == group)
      groups_.push_back(group);
  }
  int32_t devices = space_.numDevices();
  for (int32_t group : groups_) {
    double count = space_.size(group);
    if (count > mostOfGroup)
      count = static_cast<double>(space_.degrees(group).size()) * devices;
    for (int32_t follower : followers_[group])
      counts_[follower] = count;
  }
  if (numPairs() > mostPairs)
    return;
  for (int32_t group : groups_) {
    if (space_.size(group) <= mostOfGroup) {
      choices_[group] = space_.all(group);
      continue;
    }
    for (const Degrees &degrees : space_.degrees(group))
      for (int32_t first = 0; first < devices; ++first) {
        Configuration config;
        config.degrees = degrees;
        for (int32_t task = 0; task < degrees.numTasks(); ++task)
          config.devices.push_back((first + task) % devices);
        choices_[group].push_back(std::move(config));
      }
  }
  addFollowers();
  leastLatencyNs_ = INT64_MAX;
  for (int32_t from = 0; from < problem.topology.numDevices(); ++from)
    for (int32_t to = 0; to < problem.topology.numDevices(); ++to)
      if (from != to)
        leastLatencyNs_ = std::min(leastLatencyNs_,
                                   problem.topology.route(from, to).latencyNs);
}

/// Where the degrees do not carry over, what follows is whole on one device.
void ExactSpace::addFollowers() {
  const OperatorGraph &graph = problem_.graph;
  Strategy scratch = singleDevice(graph, problem_.topology);
  for (int32_t owner : groups_)
    for (const Configuration &choice : choices_[owner]) {
      space_.assign(scratch, owner, choice);
      for (int32_t group : llvm::drop_begin(followers_[owner])) {
        int32_t leader = graph.group(group).front();
        Configuration config =
            followOperand(graph, scratch, leader, mainOperand(graph, leader));
        if (!space_.allows(group, config.degrees))
          config = onDevice(graph.node(leader), choice.devices.front());
        space_.assign(scratch, group, config);
        choices_[group].push_back(std::move(config));
      }
    }
}

double ExactSpace::size() const {
  double size = 1;
  for (int32_t group : groups())
    size *= counts_[group];
  return size;
}

double ExactSpace::numPairs() const {
  const OperatorGraph &graph = problem_.graph;
  double pairs = 0;
  for (const GraphNode &node : graph.nodes())
    for (int32_t value : node.operands)
      if (const GraphNode &producer = graph.node(graph.value(value).producer);
          producer.role == NodeRole::Compute && node.role == NodeRole::Compute)
        pairs += counts_[producer.group] * counts_[node.group];
  return pairs;
}

int32_t ExactSpace::find(int32_t group, const Configuration &config) const {
  auto found = llvm::find(choices_[group], config);
  return found == choices_[group].end()
             ? -1
             : static_cast<int32_t>(found - choices_[group].begin());
}

bool ExactSpace::contains(const Strategy &strategy) const {
  auto configOf = [&](int32_t group) -> const Configuration & {
    return strategy.configs[problem_.graph.group(group).front()];
  };
  return llvm::all_of(groups_, [&](int32_t owner) {
    int32_t choice = find(owner, configOf(owner));
    return choice >= 0 && llvm::all_of(followers_[owner], [&](int32_t group) {
             return choices_[group][choice] == configOf(group);
           });
  });
}

void ExactSpace::assign(Strategy &strategy, int32_t group, int32_t choice,
                        llvm::SmallVectorImpl<int32_t> &changed) const {
  const OperatorGraph &graph = problem_.graph;
  for (int32_t member : followers_[group])
    space_.assign(strategy, member, choices_[member][choice]);
  for (int32_t member : followers_[group])
    for (int32_t node : graph.group(member)) {
      changed.push_back(node);
      // Parameters follow whoever reads them now.
      deriveEnds(strategy, graph, problem_.topology, node, &changed);
    }
  llvm::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
}

/// Loads and tiles of a node, whose group's choices are known.
void ExactSpace::describe(int32_t id) {
  const OperatorGraph &graph = problem_.graph;
  const GraphNode &node = graph.node(id);
  NodeTable &table = tables_[id];
  table.leastWorkNs = INT64_MAX;
  std::map<std::vector<int32_t>, DegreesCost> costs;
  for (const Configuration &choice : choices_[node.group]) {
    Configuration config =
        graph.isLeader(id)
            ? choice
            : memberConfiguration(graph.leaderOf(node), choice, node);
    const Degrees &degrees = config.degrees;
    std::vector<int32_t> key(degrees.loops.begin(), degrees.loops.end());
    key.push_back(degrees.replicate);
    auto [known, isNew] = costs.try_emplace(std::move(key));
    if (isNew)
      known->second = degreesCost(problem_, id, degrees);
    std::map<int32_t, int64_t> loads;
    std::vector<SmallVector<int32_t, 4>> tiles(degrees.numTiles());
    std::vector<int64_t> tileNs(tiles.size(), INT64_MAX);
    int64_t work = 0;
    for (auto [task, device] : llvm::enumerate(config.devices)) {
      int64_t ns = known->second.ns[known->second.classOf[task]]
                                   [problem_.topology.device(device).kind];
      size_t tile = task / degrees.replicate;
      tiles[tile].push_back(device);
      tileNs[tile] = std::min(tileNs[tile], ns);
      loads[device] += ns;
      work += ns;
    }
    table.loads.emplace_back(loads.begin(), loads.end());
    table.tiles.push_back(std::move(tiles));
    table.tileNs.push_back(std::move(tileNs));
    table.workNs.push_back(work);
    table.leastWorkNs = std::min(table.leastWorkNs, work);
    table.configs.push_back(std::move(config));
  }
  table.tails.assign(table.configs.size(), 0);
}

/// How much later than the producer's last tile the reader's last tile ends, at
/// least. The last tile may be any; the tasks that read it come after it, and
/// after a message if they are on none of its devices. What the message carries
/// is not counted. -1 if some tile is read by none.
int64_t ExactSpace::delayOf(int32_t id, int32_t operand, int32_t reader,
                            int32_t from, int32_t to) const {
  const OperatorGraph &graph = problem_.graph;
  const GraphValue &value = graph.value(id);
  const GraphNode &producer = graph.node(value.producer);
  const GraphNode &consumer = graph.node(reader);
  const NodeTable &made = tables_[value.producer], &read = tables_[reader];
  const Degrees &madeDegrees = made.configs[from].degrees,
                &readDegrees = read.configs[to].degrees;
  int64_t least = INT64_MAX;
  for (auto [tile, devices] : llvm::enumerate(made.tiles[from])) {
    Box box = resultBox(producer.spec, value.result, madeDegrees,
                        static_cast<int64_t>(tile) * madeDegrees.replicate,
                        value.shape);
    int64_t longest = -1; // Nobody reads it.
    for (auto [other, readers] : llvm::enumerate(read.tiles[to])) {
      Box needed = operandBox(
          consumer.spec, operand, readDegrees,
          static_cast<int64_t>(other) * readDegrees.replicate, value.shape);
      if (!needed.empty() && isEmpty(intersect(box, needed)))
        continue;
      bool isNear =
          llvm::any_of(readers, [&, &holders = devices](int32_t device) {
            return llvm::is_contained(holders, device);
          });
      longest = std::max(longest, read.tileNs[to][other] +
                                      (isNear ? 0 : leastLatencyNs_));
    }
    least = std::min(least, longest);
  }
  return least;
}

/// False if `stop` ended that.
bool ExactSpace::addEdge(int32_t node, int32_t operand,
                         llvm::function_ref<bool()> stop) {
  const OperatorGraph &graph = problem_.graph;
  const GraphNode &reader = graph.node(node);
  int32_t id = reader.operands[operand];
  const GraphValue &value = graph.value(id);
  const GraphNode &producer = graph.node(value.producer);
  // A task may take a part of a sum, or one of equal copies.
  if (producer.role != NodeRole::Compute ||
      reader.spec.operands[operand].unreduced ||
      producer.spec.results[value.result].combine == Combine::Same)
    return true;
  Edge edge{value.producer, node, id, operand, {}, {}, {}, {}};
  bool isSameOwner = ownerOf(edge.from) == ownerOf(edge.to);
  edge.delays.reserve(numChoices(edge.from) * numChoices(edge.to));
  for (size_t from = 0; from < numChoices(edge.from); ++from) {
    if (stop())
      return false;
    for (size_t to = 0; to < numChoices(edge.to); ++to)
      edge.delays.push_back(isSameOwner && from != to
                                ? -1
                                : delayOf(id, operand, node,
                                          static_cast<int32_t>(from),
                                          static_cast<int32_t>(to)));
  }
  // With one reader, the plan of a value is that of the pair alone.
  if (value.uses.size() == 1 && reader.writtenOperand < 0)
    addPlaces(edge);
  tables_[node].inputs.push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back(std::move(edge));
  return true;
}

void ExactSpace::addPlaces(Edge &edge) const {
  const OperatorGraph &graph = problem_.graph;
  Strategy scratch = singleDevice(graph, problem_.topology);
  for (const Configuration &config : tables_[edge.from].configs) {
    scratch.configs[edge.from] = config;
    layoutOf(graph, scratch, edge.value, edge.layouts.emplace_back());
  }
  for (const Configuration &config : tables_[edge.to].configs) {
    scratch.configs[edge.to] = config;
    needOf(graph, scratch, edge.value, 0, edge.needs.emplace_back());
  }
  edge.isPlanned.assign(edge.delays.size(), false);
}

int64_t ExactSpace::plannedDelay(int32_t number, int32_t from, int32_t to) {
  Edge &edge = edges_[number];
  size_t place = from * numChoices(edge.to) + to;
  int64_t &delay = edge.delays[place];
  if (delay >= 0 && !edge.isPlanned.empty() && !edge.isPlanned[place]) {
    edge.isPlanned[place] = true;
    delay = std::max(delay, plannedDelayOf(edge, from, to));
  }
  return delay;
}

/// The last tile may be any, and its device has then ended. As it has no copy,
/// all that the plan does with it comes behind it.
int64_t ExactSpace::plannedDelayOf(const Edge &edge, int32_t from, int32_t to) {
  const Layout &layout = edge.layouts[from];
  const Need &need = edge.needs[to];
  const NodeTable &read = tables_[edge.to];
  if (tables_[edge.from].configs[from].degrees.replicate > 1 ||
      need.parts > 1 || need.devices.empty())
    return 0;
  auto eachOnce = [](llvm::ArrayRef<int32_t> devices) {
    SmallVector<int32_t, 8> result(devices);
    llvm::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  };
  SmallVector<int32_t, 8> writers = eachOnce(layout.devices),
                          readers = eachOnce(need.devices);
  auto delays = moves_.delays(layout, need,
                              problem_.graph.value(edge.value).elementBytes);
  int64_t least = INT64_MAX;
  for (const auto &holders : tables_[edge.from].tiles[from]) {
    auto writer = llvm::find(writers, holders.front());
    if (writer == writers.end())
      return 0;
    int64_t longest = 0;
    for (auto [tile, devices] : llvm::enumerate(read.tiles[to])) {
      int64_t first = INT64_MAX; // Of the copies of the reader's tile.
      for (int32_t device : devices) {
        auto reader = llvm::find(readers, device);
        first = std::min(
            first,
            reader == readers.end()
                ? 0
                : delays[writer - writers.begin()][reader - readers.begin()] +
                      read.tileNs[to][tile]);
      }
      longest = std::max(longest, first);
    }
    least = std::min(least, longest);
  }
  return least;
}

/// How long a step goes on behind one choice, over the choices of a reader: the
/// least. Plans are made in the order of what they could be best for.
int64_t ExactSpace::leastBehind(int32_t number, int32_t from) {
  const Edge &edge = edges_[number];
  bool isSameOwner = ownerOf(edge.from) == ownerOf(edge.to);
  auto count = static_cast<int32_t>(numChoices(edge.to));
  std::vector<std::pair<int64_t, int32_t>> choices;
  auto behind = [&](int64_t delay, int32_t to) {
    return delay < 0 ? 0 : delay + tailNs(edge.to, to);
  };
  for (int32_t to = isSameOwner ? from : 0,
               end = isSameOwner ? from + 1 : count;
       to < end; ++to)
    choices.push_back({behind(delay(edge, from, to), to), to});
  llvm::sort(choices);
  int64_t least = INT64_MAX;
  for (auto [ns, to] : choices) {
    if (ns >= least)
      break;
    least = std::min(least, behind(plannedDelay(number, from, to), to));
  }
  return least;
}

bool ExactSpace::prepare(llvm::function_ref<bool()> stop) {
  const OperatorGraph &graph = problem_.graph;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    describe(id);
    for (size_t operand = 0; operand < graph.node(id).operands.size();
         ++operand)
      if (!addEdge(id, static_cast<int32_t>(operand), stop))
        return false;
  }
  // Readers stand behind what they read, so their tails are known first.
  for (size_t index = edges_.size(); index-- > 0;) {
    auto number = static_cast<int32_t>(index);
    std::vector<int64_t> &tails = tables_[edges_[index].from].tails;
    for (size_t from = 0; from < tails.size(); ++from) {
      if (stop())
        return false;
      tails[from] = std::max(tails[from],
                             leastBehind(number, static_cast<int32_t>(from)));
    }
  }
  return true;
}
