//===- ConfigurationSpace.cpp - What a search may choose from -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/ConfigurationSpace.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

using namespace soap;
using llvm::SmallVector;

/// Calls `visit` with all degrees with a product of at most `left`, copies
/// last.
static void forEachDegrees(llvm::ArrayRef<int64_t> extents,
                           llvm::ArrayRef<int32_t> allowed, int32_t left,
                           Degrees &current,
                           llvm::function_ref<void(const Degrees &)> visit) {
  size_t loop = current.loops.size();
  int64_t limit =
      loop < extents.size() ? std::min<int64_t>(extents[loop], left) : left;
  for (int32_t degree : allowed) {
    if (degree > std::max<int64_t>(1, limit))
      break;
    if (loop == extents.size()) {
      current.replicate = degree;
      visit(current);
      continue;
    }
    current.loops.push_back(degree);
    forEachDegrees(extents, allowed, left / degree, current, visit);
    current.loops.pop_back();
  }
  current.replicate = 1;
}

static std::vector<Degrees> listDegrees(llvm::ArrayRef<int64_t> extents,
                                        llvm::ArrayRef<int32_t> allowed,
                                        int32_t maxTasks) {
  Degrees current;
  size_t count = 0;
  forEachDegrees(extents, allowed, maxTasks, current,
                 [&](const Degrees &) { ++count; });
  std::vector<Degrees> result;
  result.reserve(count);
  forEachDegrees(extents, allowed, maxTasks, current,
                 [&](const Degrees &degrees) { result.push_back(degrees); });
  return result;
}

struct ConfigurationSpace::DegreesList {
  std::once_flag once;
  std::vector<Degrees> degrees;
};

ConfigurationSpace::ConfigurationSpace(const OperatorGraph &graph,
                                       const Topology &topology,
                                       int32_t maxTasks, int32_t devices)
    : graph_(graph),
      numDevices_(devices > 0 ? std::min(devices, topology.numDevices())
                              : topology.numDevices()),
      maxTasks_(maxTasks > 0 ? maxTasks : numDevices_) {
  isAllowed_.assign(maxTasks_ + 1, false);
  for (int32_t degree = 1; degree <= maxTasks_; ++degree)
    if (maxTasks_ <= 8 || maxTasks_ % degree == 0 ||
        llvm::isPowerOf2_32(degree))
      isAllowed_[degree] = true;
  for (int32_t degree = 1; degree <= maxTasks_; ++degree)
    if (isAllowed_[degree])
      allowed_.push_back(degree);
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    mainOperands_.push_back(mainOperand(graph, id));
  std::map<SmallVector<int64_t, 6>, std::shared_ptr<DegreesList>> lists;
  lists_.resize(graph.numGroups());
  extents_.resize(graph.numGroups());
  for (int32_t group = 0; group < graph.numGroups(); ++group) {
    llvm::ArrayRef<int32_t> members = graph.group(group);
    const GraphNode &leader = graph.node(members.front());
    if (leader.role != NodeRole::Compute)
      continue;
    groups_.push_back(group);
    SmallVector<int64_t, 6> extents;
    for (const LoopSpec &loop : leader.spec.loops)
      extents.push_back(loop.extent);
    for (int32_t id : members.drop_front()) {
      const GraphNode &member = graph.node(id);
      for (auto [loop, same] :
           llvm::zip_equal(member.spec.loops, member.leaderLoops))
        if (same >= 0)
          extents[same] = std::min(extents[same], loop.extent);
    }
    std::shared_ptr<DegreesList> &list = lists[extents];
    if (!list)
      list = std::make_shared<DegreesList>();
    lists_[group] = list;
    extents_[group] = std::move(extents);
  }
}

llvm::ArrayRef<Degrees> ConfigurationSpace::degrees(int32_t group) const {
  DegreesList &list = *lists_[group];
  std::call_once(list.once, [&] {
    list.degrees = listDegrees(extents_[group], allowed_, maxTasks_);
  });
  return list.degrees;
}

bool ConfigurationSpace::fits(int32_t group, const Degrees &degrees) const {
  llvm::ArrayRef<int64_t> extents(extents_[group]);
  return degrees.loops.size() == extents.size() &&
         llvm::all_of(llvm::zip(degrees.loops, extents), [](auto entry) {
           auto [degree, extent] = entry;
           return degree <= std::max<int64_t>(1, extent);
         });
}

bool ConfigurationSpace::allows(int32_t group, const Degrees &degrees) const {
  return allows(extents_[group], degrees);
}

/// The units of a node's loops.
static SmallVector<int64_t, 6> extentsOf(const GraphNode &node) {
  SmallVector<int64_t, 6> extents;
  for (const LoopSpec &loop : node.spec.loops)
    extents.push_back(loop.extent);
  return extents;
}

std::vector<Degrees> ConfigurationSpace::updateDegrees(int32_t update) const {
  return listDegrees(extentsOf(graph_.node(graph_.update(update).front())),
                     allowed_, maxTasks_);
}

bool ConfigurationSpace::allowsUpdate(int32_t update,
                                      const Degrees &degrees) const {
  return allows(extentsOf(graph_.node(graph_.update(update).front())), degrees);
}

bool ConfigurationSpace::allows(llvm::ArrayRef<int64_t> extents,
                                const Degrees &degrees) const {
  if (degrees.loops.size() != extents.size())
    return false;
  int32_t left = maxTasks_;
  auto fits = [&](int32_t degree, int64_t limit) {
    if (degree < 1 ||
        degree > std::max<int64_t>(1, std::min<int64_t>(limit, left)) ||
        !isAllowed_[degree])
      return false;
    left /= degree;
    return true;
  };
  for (auto [degree, extent] : llvm::zip_equal(degrees.loops, extents))
    if (!fits(degree, extent))
      return false;
  return fits(degrees.replicate, left);
}

double ConfigurationSpace::size(int32_t group) const {
  double sum = 0;
  for (const Degrees &degrees : degrees(group))
    sum += std::pow(numDevices_, degrees.numTasks());
  return sum;
}

std::vector<Configuration> ConfigurationSpace::all(int32_t group) const {
  std::vector<Configuration> result;
  for (const Degrees &degrees : degrees(group)) {
    Configuration config;
    config.degrees = degrees;
    config.devices.assign(degrees.numTasks(), 0);
    for (;;) {
      result.push_back(config);
      size_t task = 0;
      llvm::MutableArrayRef<int32_t> devices = config.devices.edit();
      while (task < devices.size() && ++devices[task] == numDevices_)
        devices[task++] = 0;
      if (task == devices.size())
        break;
    }
  }
  return result;
}

Configuration ConfigurationSpace::sample(int32_t group, Random &random) const {
  Configuration config;
  llvm::ArrayRef<Degrees> choices = degrees(group);
  config.degrees = choices[random.below(choices.size())];
  config.devices.resize(config.degrees.numTasks());
  for (int32_t &device : config.devices.edit())
    device = static_cast<int32_t>(random.below(numDevices_));
  return config;
}

Configuration ConfigurationSpace::sampleStructured(int32_t group,
                                                   Random &random) const {
  // Draw until the number of tasks divides the number of devices: such grids
  // tile the machine. One task always does.
  llvm::ArrayRef<Degrees> choices = degrees(group);
  Configuration config;
  for (int tries = 0; tries < 8; ++tries) {
    config.degrees = choices[random.below(choices.size())];
    if (numDevices_ % config.degrees.numTasks() == 0)
      break;
  }
  placeInARow(config, random);
  return config;
}

Configuration ConfigurationSpace::sampleSimple(int32_t group,
                                               Random &random) const {
  const PartitionSpec &spec = graph_.node(graph_.group(group).front()).spec;
  Configuration config;
  config.degrees.loops.assign(spec.loops.size(), 1);
  size_t loop = random.below(spec.loops.size() + 1);
  int32_t &degree = loop < spec.loops.size() ? config.degrees.loops[loop]
                                             : config.degrees.replicate;
  // All devices, half of them, a quarter, ...: as many as the loop has units.
  degree = maxTasks_;
  for (int halvings = 0; halvings < 12; ++halvings) {
    bool fits = allows(group, config.degrees);
    if (fits && random.below(2) == 0)
      break;
    degree = std::max(1, degree / 2);
  }
  if (!allows(group, config.degrees))
    degree = 1;
  placeInARow(config, random);
  return config;
}

void ConfigurationSpace::placeInARow(Configuration &config,
                                     Random &random) const {
  int32_t devices = numDevices_;
  auto tasks = static_cast<int32_t>(config.degrees.numTasks());
  // Aligned sets keep to the machines of a cluster; others start anywhere.
  auto start = static_cast<int32_t>(random.below(devices));
  if (devices % tasks == 0 && random.below(4) != 0)
    start -= start % tasks;
  config.devices.resize(tasks);
  for (auto [task, device] : llvm::enumerate(config.devices.edit()))
    device = (start + static_cast<int32_t>(task)) % devices;
}

std::optional<Configuration>
ConfigurationSpace::sameAs(int32_t group, int32_t other,
                           const Configuration &config) const {
  const PartitionSpec &spec = graph_.node(graph_.group(group).front()).spec;
  const PartitionSpec &source = graph_.node(graph_.group(other).front()).spec;
  Configuration result;
  result.degrees.loops.assign(spec.loops.size(), 1);
  result.degrees.replicate = config.degrees.replicate;
  int last = -1;
  for (auto [loop, degree] : llvm::zip(source.loops, config.degrees.loops)) {
    if (degree == 1)
      continue;
    int same = spec.findLoop(loop.name);
    // Devices carry over only if the split loops stand in the same order.
    if (same < 0 || same < last)
      return std::nullopt;
    last = same;
    result.degrees.loops[same] = degree;
  }
  if (!allows(group, result.degrees))
    return std::nullopt;
  result.devices = config.devices;
  return result;
}

void ConfigurationSpace::assign(Strategy &strategy, int32_t group,
                                const Configuration &config) const {
  llvm::ArrayRef<int32_t> members = graph_.group(group);
  llvm::SmallVector<int32_t, 4> sharded;
  for (int32_t member : members)
    if (const GraphNode &node = graph_.node(member);
        node.leadsUpdate && !strategy.configs[member].devices.empty() &&
        isUpdateSharded(strategy, graph_, node.update))
      sharded.push_back(node.update);
  // What is gathered again is a decision of its own.
  auto set = [&](int32_t node, const Configuration &own) {
    strategy.configs[node].degrees = own.degrees;
    strategy.configs[node].devices = own.devices;
  };
  set(members.front(), config);
  for (int32_t member : members.drop_front())
    set(member, memberConfiguration(graph_.node(members.front()), config,
                                    graph_.node(member)));
  for (int32_t update : sharded)
    if (std::optional<Configuration> shards =
            shardedUpdate(strategy, graph_, update))
      assignUpdate(strategy, graph_, update, *shards);
}

int32_t soap::mainOperand(const OperatorGraph &graph, int32_t node) {
  int32_t best = -1;
  int64_t bytes = -1;
  for (auto [index, value] : llvm::enumerate(graph.node(node).operands)) {
    const GraphValue &candidate = graph.value(value);
    if (graph.node(candidate.producer).role == NodeRole::Compute &&
        candidate.bytes() > bytes) {
      best = static_cast<int32_t>(index);
      bytes = candidate.bytes();
    }
  }
  return best;
}

Configuration soap::followOperand(const OperatorGraph &graph,
                                  const Strategy &strategy, int32_t node,
                                  int32_t operand) {
  const GraphNode &consumer = graph.node(node);
  const GraphValue &value = graph.value(consumer.operands[operand]);
  const GraphNode &producer = graph.node(value.producer);
  const Configuration &source = strategy.configs[value.producer];
  const ValueAccess &written = producer.spec.results[value.result];
  const ValueAccess &read = consumer.spec.operands[operand];

  Configuration config;
  config.degrees.loops.assign(consumer.spec.loops.size(), 1);
  SmallVector<int32_t, 6> loopOf(producer.spec.loops.size(), -1);
  for (auto [from, to] : llvm::zip(written.dims, read.dims)) {
    if (from.loop < 0 || to.loop < 0)
      continue;
    int32_t degree = source.degrees.loops[from.loop];
    if (degree == 1 || config.degrees.loops[to.loop] != 1 ||
        degree > consumer.spec.loops[to.loop].extent)
      continue;
    config.degrees.loops[to.loop] = degree;
    loopOf[from.loop] = to.loop;
  }
  // Copies of the producer's tasks stay copies. Per loop of the consumer, how
  // far its tasks are apart among the producer's.
  int32_t replicate = config.degrees.replicate = source.degrees.replicate;
  size_t numLoops = config.degrees.loops.size();
  SmallVector<int32_t, 6> strides(numLoops, 0), at(numLoops, 0);
  int32_t stride = replicate;
  for (size_t loop = loopOf.size(); loop-- != 0;) {
    if (loopOf[loop] >= 0)
      strides[loopOf[loop]] = stride;
    stride *= source.degrees.loops[loop];
  }
  // Mostly task by task the same devices.
  int32_t next = replicate;
  bool inOrder = true;
  for (size_t loop = numLoops; loop-- != 0;)
    if (int32_t degree = config.degrees.loops[loop]; degree > 1) {
      inOrder &= strides[loop] == next;
      next *= degree;
    }
  if (inOrder && next == static_cast<int32_t>(source.devices.size())) {
    config.devices = source.devices;
    return config;
  }
  config.devices.reserve(config.degrees.numTasks());
  const int32_t *devices = source.devices.begin();
  for (int64_t tile = config.degrees.numTiles(); tile > 0; --tile) {
    config.devices.append(devices, devices + replicate);
    for (size_t loop = numLoops; loop-- != 0;) {
      devices += strides[loop];
      if (++at[loop] != config.degrees.loops[loop])
        break;
      devices -= strides[loop] * at[loop];
      at[loop] = 0;
    }
  }
  return config;
}
