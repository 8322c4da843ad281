//===- TaskLevelBenchmarks.cpp - The paper's algorithms -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proposals per second of Jia et al., "Beyond data and model parallelism", on
// tasks and transfers between pairs of tasks, for comparison with those of
// SearchBenchmarks.cpp: the same network and machine, the paper's proposal (any
// configuration of any operation), every one rejected.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "ExampleGraphs.h"
#include "TaskLevelGraph.h"
#include "soap/Search/ConfigurationSpace.h"
#include <benchmark/benchmark.h>

using namespace soap;
using namespace soap::test;

/// Proposes, lets `simulate` find the step time, and takes the proposal back:
/// `update` says which configurations are others now.
template <typename UpdateFn, typename SimulateFn>
static void propose(benchmark::State &state, const OperatorGraph &graph,
                    const Topology &topology, Strategy &strategy,
                    UpdateFn update, SimulateFn simulate) {
  ConfigurationSpace space(graph, topology);
  uint64_t step = 0;
  for (auto _ : state) {
    Random random(1, 0, step++);
    int32_t group = space.groups()[random.below(space.groups().size())];
    llvm::SmallVector<int32_t, 8> changed{graph.group(group).front()};
    Configuration before = strategy.configs[changed[0]];
    space.assign(strategy, group, space.sample(group, random));
    deriveEnds(strategy, graph, topology, changed[0], &changed);
    update(changed);
    benchmark::DoNotOptimize(simulate());
    changed.resize(1);
    strategy.configs[changed[0]] = before;
    deriveEnds(strategy, graph, topology, changed[0], &changed);
    update(changed);
  }
  state.counters["proposals"] = benchmark::Counter(
      static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

static Strategy startOf(int64_t kind, const OperatorGraph &graph,
                        const Topology &topology) {
  return kind == 0 ? dataParallel(graph, topology)
                   : randomStrategy(graph, topology, 1);
}

/// The size of the task graph, and how many tasks a simulation touches.
static void count(benchmark::State &state, const TaskLevelGraph &tasks) {
  state.counters["tasks"] = static_cast<double>(tasks.numTasks());
  state.counters["simulated"] =
      benchmark::Counter(static_cast<double>(tasks.statistics().simulated),
                         benchmark::Counter::kAvgIterations);
}

/// The paper's task graph of the benchmark's strategy; `isUpdated`: it is
/// updated for every proposal, else `simulate` builds it anew.
template <typename SimulateFn>
static void proposeOnTasks(benchmark::State &state, bool isUpdated,
                           SimulateFn simulate) {
  OperatorGraph graph = inception(64, 10);
  Topology topology = cluster(static_cast<int32_t>(state.range(0)));
  CostModel costs;
  Strategy strategy = startOf(state.range(1), graph, topology);
  TaskLevelGraph tasks(graph, topology, costs);
  tasks.build(strategy);
  tasks.simulateFull();
  propose(
      state, graph, topology, strategy,
      [&](llvm::ArrayRef<int32_t> changed) {
        if (isUpdated)
          tasks.update(strategy, changed);
      },
      [&] { return simulate(tasks, strategy); });
  count(state, tasks);
}

/// Algorithm 1: a new task graph for every proposal.
static void paperFull(benchmark::State &state) {
  proposeOnTasks(state, /*isUpdated=*/false,
                 [](TaskLevelGraph &tasks, const Strategy &strategy) {
                   tasks.build(strategy);
                   return tasks.simulateFull();
                 });
}

/// The task graph of Algorithm 2 with the timeline of Algorithm 1: how much of
/// what delta simulation saves is the construction of the graph.
static void paperFullOnUpdatedGraph(benchmark::State &state) {
  proposeOnTasks(state, /*isUpdated=*/true,
                 [](TaskLevelGraph &tasks, const Strategy &) {
                   return tasks.simulateFull();
                 });
}

/// Algorithm 2. What a rejected proposal leaves is simulated with the next.
static void paperDelta(benchmark::State &state) {
  proposeOnTasks(state, /*isUpdated=*/true,
                 [](TaskLevelGraph &tasks, const Strategy &) {
                   return tasks.simulateDelta();
                 });
}

/// Arguments: devices; the strategy whose operations are changed
/// (data-parallel, structured random).
static void arguments(benchmark::internal::Benchmark *benchmark) {
  benchmark->ArgNames({"devices", "random"})
      ->ArgsProduct({{4, 16, 64}, {0, 1}})
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(paperFull)->Apply(arguments);
BENCHMARK(paperFullOnUpdatedGraph)->Apply(arguments);
BENCHMARK(paperDelta)->Apply(arguments);
