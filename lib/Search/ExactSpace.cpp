//===- ExactSpace.cpp - What an exact search chooses from -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSpace.h"
#include "DegreesCosts.h"
#include <map>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

ExactSpace::ExactSpace(const SearchProblem &problem, int32_t maxTasks)
    : problem_(problem), space_(problem.graph, problem.topology, maxTasks),
      choices_(problem.graph.numGroups()), tables_(problem.graph.numNodes()) {
  for (int32_t group : space_.groups()) {
    if (space_.size(group) <= mostOfGroup) {
      choices_[group] = space_.all(group);
      continue;
    }
    int32_t devices = space_.numDevices();
    for (const Degrees &degrees : space_.degrees(group))
      for (int32_t first = 0; first < devices; ++first) {
        Configuration config;
        config.degrees = degrees;
        for (int32_t task = 0; task < degrees.numTasks(); ++task)
          config.devices.push_back((first + task) % devices);
        choices_[group].push_back(std::move(config));
      }
  }
  leastLatencyNs_ = INT64_MAX;
  for (int32_t from = 0; from < problem.topology.numDevices(); ++from)
    for (int32_t to = 0; to < problem.topology.numDevices(); ++to)
      if (from != to)
        leastLatencyNs_ = std::min(leastLatencyNs_,
                                   problem.topology.route(from, to).latencyNs);
}

double ExactSpace::size() const {
  double size = 1;
  for (int32_t group : groups())
    size *= static_cast<double>(choices_[group].size());
  return size;
}

double ExactSpace::numPairs() const {
  const OperatorGraph &graph = problem_.graph;
  double pairs = 0;
  for (const GraphNode &node : graph.nodes())
    for (int32_t value : node.operands)
      if (const GraphNode &producer = graph.node(graph.value(value).producer);
          producer.role == NodeRole::Compute && node.role == NodeRole::Compute)
        pairs += static_cast<double>(choices_[producer.group].size()) *
                 static_cast<double>(choices_[node.group].size());
  return pairs;
}

int32_t ExactSpace::find(int32_t group, const Configuration &config) const {
  auto found = llvm::find(choices_[group], config);
  return found == choices_[group].end()
             ? -1
             : static_cast<int32_t>(found - choices_[group].begin());
}

void ExactSpace::assign(Strategy &strategy, int32_t group, int32_t choice,
                        llvm::SmallVectorImpl<int32_t> &changed) const {
  const OperatorGraph &graph = problem_.graph;
  space_.assign(strategy, group, choices_[group][choice]);
  for (int32_t node : graph.group(group)) {
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

void ExactSpace::addEdge(int32_t node, int32_t operand) {
  const OperatorGraph &graph = problem_.graph;
  const GraphNode &reader = graph.node(node);
  int32_t id = reader.operands[operand];
  const GraphValue &value = graph.value(id);
  const GraphNode &producer = graph.node(value.producer);
  // A task may take a part of a sum, or one of equal copies.
  if (producer.role != NodeRole::Compute ||
      reader.spec.operands[operand].unreduced ||
      producer.spec.results[value.result].combine == Combine::Same)
    return;
  Edge edge{value.producer, node, {}};
  edge.delays.reserve(numChoices(edge.from) * numChoices(edge.to));
  for (size_t from = 0; from < numChoices(edge.from); ++from)
    for (size_t to = 0; to < numChoices(edge.to); ++to)
      // Members of one group have the same choice.
      edge.delays.push_back(producer.group == reader.group && from != to
                                ? -1
                                : delayOf(id, operand, node,
                                          static_cast<int32_t>(from),
                                          static_cast<int32_t>(to)));
  tables_[node].inputs.push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back(std::move(edge));
}

bool ExactSpace::prepare(llvm::function_ref<bool()> stop) {
  const OperatorGraph &graph = problem_.graph;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    describe(id);
    for (size_t operand = 0; operand < graph.node(id).operands.size();
         ++operand) {
      if (stop())
        return false;
      addEdge(id, static_cast<int32_t>(operand));
    }
  }
  // Readers stand behind what they read, so their tails are known first.
  for (size_t index = edges_.size(); index-- > 0;) {
    const Edge &edge = edges_[index];
    std::vector<int64_t> &tails = tables_[edge.from].tails;
    bool isSameGroup = graph.node(edge.from).group == graph.node(edge.to).group;
    for (size_t from = 0; from < tails.size(); ++from) {
      int64_t least = INT64_MAX;
      for (size_t to = 0; to < numChoices(edge.to); ++to) {
        if (isSameGroup && from != to)
          continue;
        int64_t after =
            delay(edge, static_cast<int32_t>(from), static_cast<int32_t>(to));
        least = std::min(
            least,
            after < 0 ? 0 : after + tailNs(edge.to, static_cast<int32_t>(to)));
      }
      tails[from] = std::max(tails[from], least);
    }
  }
  return true;
}
