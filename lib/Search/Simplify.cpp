//===- Simplify.cpp - Remove what a random walk left behind ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"
#include "soap/Search/Simulator.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

void detail::simplify(const ProposalContext &context, const CostModel &costs,
                      Strategy &strategy) {
  const OperatorGraph &graph = context.graph;
  const ConfigurationSpace &space = context.space;
  TaskGraph tasks(graph, context.topology, costs);
  tasks.setStrategy(strategy);
  FullSimulator simulator(tasks);
  auto measure = [&] {
    return std::tuple(simulator.stepNs(), tasks.bytes(Phase::Step),
                      tasks.totalComputeNs());
  };
  auto best = measure();

  auto attempt = [&](int32_t group, const Configuration &config) {
    if (!llvm::is_contained(space.degrees(group), config.degrees))
      return false;
    SmallVector<int32_t, 32> changed;
    Undo undo;
    if (!change(context, strategy, group, config, changed, undo))
      return false;
    tasks.update(strategy, changed);
    if (auto measured = measure();
        measured < best && tasks.checkMemory().empty()) {
      best = measured;
      return true;
    }
    for (auto &[node, before] : llvm::reverse(undo))
      strategy.configs[node] = std::move(before);
    tasks.update(strategy, changed);
    return false;
  };

  // A few sweeps: what one group does may free the next.
  for (int sweep = 0; sweep < 4; ++sweep) {
    bool improved = false;
    for (int32_t group : space.groups()) {
      int32_t node = graph.group(group).front();
      if (int32_t operand = mainOperand(graph, node); operand >= 0)
        improved |=
            attempt(group, followOperand(graph, strategy, node, operand));
      for (int32_t other : neighbours(graph, group))
        if (auto same = space.sameAs(
                group, other, strategy.configs[graph.group(other).front()]))
          improved |= attempt(group, *same);
      improved |= attempt(
          group, onDevice(graph.node(node), strategy.configs[node].devices[0]));
    }
    if (!improved)
      return;
  }
}
