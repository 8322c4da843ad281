//===- Strategy.cpp - One configuration per operation ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"
#include "Placement.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cassert>

using namespace soap;
using llvm::SmallVector;

Configuration soap::onDevice(const GraphNode &node, int32_t device) {
  Configuration config;
  config.degrees.loops.assign(node.spec.loops.size(), 1);
  config.devices.push_back(device);
  return config;
}

/// What follows for a member whose loops run along `loops` of the leader.
static Configuration followAlong(const Configuration &config,
                                 llvm::ArrayRef<int16_t> loops) {
  const Degrees &degrees = config.degrees;
  // How far tasks of the leader are apart along each of its loops.
  SmallVector<int64_t, 6> strides(degrees.loops.size());
  int64_t stride = degrees.replicate;
  for (size_t loop = degrees.loops.size(); loop-- != 0;) {
    strides[loop] = stride;
    stride *= degrees.loops[loop];
  }
  // The leader's task at a task of the member: a sum over the member's loops,
  // then over the leader's other loops, then over the leader's copies.
  Configuration result;
  SmallVector<std::pair<int32_t, int64_t>, 8> axes; // Degree, stride.
  llvm::SmallBitVector isOther(degrees.loops.size(), true);
  for (int16_t loop : loops) {
    axes.push_back(loop < 0 ? std::pair(1, int64_t(0))
                            : std::pair(degrees.loops[loop], strides[loop]));
    if (loop >= 0)
      isOther.reset(loop);
    result.degrees.loops.push_back(axes.back().first);
  }
  for (unsigned loop : isOther.set_bits()) {
    axes.push_back({degrees.loops[loop], strides[loop]});
    result.degrees.replicate *= degrees.loops[loop];
  }
  axes.push_back({degrees.replicate, 1});
  result.degrees.replicate *= degrees.replicate;

  // Mostly task by task the same devices.
  int64_t numTasks = result.degrees.numTasks(), next = 1;
  bool inOrder = !SOAP_FAULT("member-order");
  for (auto [degree, stride] : llvm::reverse(axes))
    if (degree > 1) {
      inOrder &= stride == next;
      next *= degree;
    }
  if (inOrder) {
    result.devices = config.devices;
    return result;
  }
  result.devices.reserve(numTasks);
  for (int64_t task = 0; task < numTasks; ++task) {
    int64_t rest = task, source = 0;
    for (auto [degree, stride] : llvm::reverse(axes)) {
      source += rest % degree * stride;
      rest /= degree;
    }
    result.devices.push_back(
        config.devices[SOAP_FAULT("member-order") ? task : source]);
  }
  return result;
}

Configuration
soap::memberConfiguration([[maybe_unused]] const GraphNode &leader,
                          const Configuration &config,
                          const GraphNode &member) {
  assert(config.degrees.loops.size() == leader.spec.loops.size() &&
         "a configuration of the leader");
  return followAlong(config, member.leaderLoops);
}

Configuration
soap::updateConfiguration([[maybe_unused]] const GraphNode &leader,
                          const Configuration &config,
                          const GraphNode &member) {
  assert(config.degrees.loops.size() == leader.spec.loops.size() &&
         "a configuration of the leader");
  return followAlong(config, member.updateLoops);
}

llvm::Error soap::verify(const Configuration &config, const GraphNode &node,
                         const Topology &topology) {
  auto fail = [&](const llvm::Twine &text) {
    return llvm::createStringError("node '" + node.name + "': " + text);
  };
  const Degrees &degrees = config.degrees;
  if (degrees.loops.size() != node.spec.loops.size())
    return fail("expected a degree for each of " +
                llvm::Twine(node.spec.loops.size()) +
                " loops, got: " + llvm::Twine(degrees.loops.size()));
  for (auto [loop, degree] : llvm::zip(node.spec.loops, degrees.loops))
    if (degree < 1 || degree > std::max<int64_t>(1, loop.extent))
      return fail("expected a degree of loop '" + loop.name + "' from 1 to " +
                  llvm::Twine(loop.extent) + ", got: " + llvm::Twine(degree));
  if (degrees.replicate < 1)
    return fail("expected replicate of 1 or more, got: " +
                llvm::Twine(degrees.replicate));
  if (static_cast<int64_t>(config.devices.size()) != degrees.numTasks())
    return fail("expected " + llvm::Twine(degrees.numTasks()) +
                " devices (product of degrees and replicate), got: " +
                llvm::Twine(config.devices.size()));
  bool onHost = node.role == NodeRole::Input || node.role == NodeRole::Output;
  for (int32_t device : config.devices) {
    if (onHost && device != topology.host())
      return fail("expected an " + stringify(node.role) +
                  " on the host, got: device " + llvm::Twine(device));
    if (!onHost && device == topology.host())
      return fail("expected devices that compute, got: the host");
    if (device < 0 || device > topology.host())
      return fail("expected devices from 0 to " +
                  llvm::Twine(topology.numDevices() - 1) + " of topology '" +
                  topology.name + "', got: " + llvm::Twine(device) +
                  "; use a topology with more devices or another strategy");
  }
  if (onHost && config.devices.size() != 1)
    return fail("expected one task on the host, got: " +
                llvm::Twine(config.devices.size()));
  for (auto [index, operand] : llvm::enumerate(config.regather)) {
    if (operand < 0 || operand >= static_cast<int32_t>(node.operands.size()))
      return fail("expected operand numbers below " +
                  llvm::Twine(node.operands.size()) +
                  " in regather, got: " + llvm::Twine(operand));
    if (index && config.regather[index - 1] >= operand)
      return fail("expected ascending operand numbers in regather");
  }
  return llvm::Error::success();
}

/// Members of groups follow their leaders, and those of an update that has a
/// configuration of its own follow the update's.
static llvm::Error verifyMembers(const Strategy &strategy,
                                 const OperatorGraph &graph) {
  std::vector<bool> isApart;
  for (int32_t update = 0; update < graph.numUpdates(); ++update)
    isApart.push_back(isUpdateApart(strategy, graph, update));
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    bool apart = node.update >= 0 && isApart[node.update];
    if (graph.isLeader(id) || (apart && node.leadsUpdate))
      continue;
    int32_t leader = apart ? graph.update(node.update).front()
                           : graph.group(node.group).front();
    Configuration expected =
        (apart ? updateConfiguration : memberConfiguration)(
            graph.node(leader), strategy.configs[leader], node);
    expected.regather = strategy.configs[id].regather;
    if (expected != strategy.configs[id])
      return llvm::createStringError(
          "node '" + node.name +
          "': expected the configuration that follows from that of its " +
          (apart ? "update's" : "group's") + " leader, '" +
          graph.node(leader).name + "'; leave it out, or change the leader's");
  }
  return llvm::Error::success();
}

llvm::Error soap::verify(const Strategy &strategy, const OperatorGraph &graph,
                         const Topology &topology) {
  if (static_cast<int32_t>(strategy.configs.size()) != graph.numNodes())
    return llvm::createStringError(
        "expected a configuration for each of " +
        llvm::Twine(graph.numNodes()) +
        " nodes, got: " + llvm::Twine(strategy.configs.size()));
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (llvm::Error error =
            verify(strategy.configs[id], graph.node(id), topology))
      return error;

  if (llvm::Error error = verifyMembers(strategy, graph))
    return error;

  for (int32_t value = 0; value < graph.numValues(); ++value) {
    int32_t id = graph.value(value).producer;
    const GraphValue::Use *write = graph.findWrite(value);
    if (write && llvm::is_contained(strategy.configs[write->node].regather,
                                    write->operand))
      return llvm::createStringError(
          "node '" + graph.node(write->node).name +
          "': expected what is written not to be gathered again, got: "
          "operand " +
          std::to_string(write->operand));
    if (!write ||
        strategy.configs[id] == detail::placeWhereRead(graph, strategy, id))
      continue;
    return llvm::createStringError(
        "node '" + graph.node(id).name +
        "': expected a parameter that is written to live where it is "
        "written; leave its configuration out");
  }

  if (strategy.order.empty())
    return llvm::Error::success();
  std::vector<int32_t> position(graph.numNodes(), -1);
  for (auto [index, id] : llvm::enumerate(strategy.order)) {
    if (id < 0 || id >= graph.numNodes() || position[id] >= 0)
      return llvm::createStringError(
          "expected a launch order that names every node once");
    position[id] = static_cast<int32_t>(index);
  }
  if (static_cast<int32_t>(strategy.order.size()) != graph.numNodes())
    return llvm::createStringError(
        "expected a launch order that names every node once");
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    for (int32_t value : graph.node(id).operands)
      if (int32_t producer = graph.value(value).producer;
          position[producer] > position[id])
        return llvm::createStringError(
            "node '" + graph.node(id).name +
            "': expected a launch order in which operands come first, got: "
            "'" +
            graph.node(producer).name + "' later");
  for (int32_t id = 0; id < graph.numNodes(); ++id)
    if (int32_t after = graph.node(id).after;
        after >= 0 && position[after] > position[id])
      return llvm::createStringError(
          "node '" + graph.node(id).name +
          "': expected a launch order in which it stands behind '" +
          graph.node(after).name + "', where what it makes is needed, got: '" +
          graph.node(after).name + "' later");
  for (int32_t value = 0; value < graph.numValues(); ++value)
    if (const GraphValue::Use *write = graph.findWrite(value))
      for (const GraphValue::Use &use : graph.value(value).uses)
        if (position[use.node] > position[write->node])
          return llvm::createStringError(
              "node '" + graph.node(write->node).name +
              "': expected a launch order in which it stands behind all "
              "that reads what it writes, got: '" +
              graph.node(use.node).name + "' later");
  return llvm::Error::success();
}

void soap::deriveMembers(Strategy &strategy, std::vector<bool> &given,
                         const OperatorGraph &graph) {
  for (int32_t update = 0; update < graph.numUpdates(); ++update) {
    llvm::ArrayRef<int32_t> members = graph.update(update);
    int32_t leader = members.front();
    if (!given[leader] ||
        !given[graph.group(graph.node(leader).group).front()] ||
        !isUpdateApart(strategy, graph, update))
      continue;
    for (int32_t id : members.drop_front()) {
      if (given[id])
        continue;
      strategy.configs[id] = updateConfiguration(
          graph.node(leader), strategy.configs[leader], graph.node(id));
      given[id] = true;
    }
  }
  for (int32_t group = 0; group < graph.numGroups(); ++group) {
    int32_t leader = graph.group(group).front();
    for (int32_t id : graph.group(group).drop_front()) {
      if (given[id] || !given[leader])
        continue;
      strategy.configs[id] = memberConfiguration(
          graph.node(leader), strategy.configs[leader], graph.node(id));
      given[id] = true;
    }
  }
}
