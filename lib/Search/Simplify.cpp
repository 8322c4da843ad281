//===- Simplify.cpp - Remove what a random walk left behind ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"
#include "soap/Search/DeltaSimulator.h"
#include "soap/Search/Simulator.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

void detail::simplify(const ProposalContext &context, TaskGraph &tasks,
                      Strategy &strategy, llvm::function_ref<bool()> stop) {
  const OperatorGraph &graph = context.graph;
  const ConfigurationSpace &space = context.space;
  tasks.setStrategy(strategy);
  DeltaSimulator simulator(tasks);
  using Measure = std::tuple<int64_t, int64_t, int64_t>;
  Measure best{simulator.reset(), tasks.bytes(Phase::Step),
               tasks.totalComputeNs()};

  auto attempt = [&](int32_t group, const Configuration &config) {
    if (!space.allows(group, config.degrees))
      return false;
    Edit edit;
    if (!change(context, strategy, group, config, edit))
      return false;
    tasks.propose(strategy, edit.nodes);
    int64_t longest = std::get<0>(best);
    bool exact = tasks.bound();
    int64_t step = simulator.simulate(longest);
    if (step <= longest && !exact) {
      tasks.plan();
      step = simulator.simulate(longest);
    }
    if (step <= longest) {
      Measure measured{step, tasks.bytes(Phase::Step), tasks.totalComputeNs()};
      if (measured < best && tasks.fitsMemory()) {
        best = measured;
        simulator.accept();
        tasks.accept();
        return true;
      }
    }
    simulator.reject();
    tasks.reject();
    edit.takeBack(strategy);
    return false;
  };

  // A few sweeps: what one group does may free the next.
  for (int sweep = 0; sweep < 4; ++sweep) {
    bool improved = false;
    for (int32_t group : space.groups()) {
      if (stop())
        return;
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
