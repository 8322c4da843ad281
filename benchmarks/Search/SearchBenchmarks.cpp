//===- SearchBenchmarks.cpp - Simulations and proposals per second --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On an Inception-like network of ten modules (about 150 ops): full simulations
// of planned strategies, and proposals, which replan what changed and simulate.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "ExampleGraphs.h"
#include "soap/Search/ConfigurationSpace.h"
#include "soap/Search/LowerBound.h"
#include "soap/Search/SearchAlgorithm.h"
#include <benchmark/benchmark.h>

using namespace soap;
using namespace soap::test;

static Strategy strategyOf(int64_t kind, const OperatorGraph &graph,
                           const Topology &topology) {
  switch (kind) {
  case 0:
    return dataParallel(graph, topology);
  case 1:
    return tensorParallel(graph, topology);
  case 2:
    return spatial(graph, topology);
  default:
    return randomStrategy(graph, topology, 1);
  }
}

/// Arguments: devices; strategy (data-parallel, tensor-parallel, spatial,
/// structured random).
static void fullSimulation(benchmark::State &state) {
  OperatorGraph graph = inception(64, 10);
  Topology topology = cluster(static_cast<int32_t>(state.range(0)));
  CostModel costs;
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(strategyOf(state.range(1), graph, topology));
  FullSimulator simulator(tasks);
  for (auto _ : state)
    benchmark::DoNotOptimize(simulator.stepNs());
  state.counters["sims"] = benchmark::Counter(
      static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["nodes"] = static_cast<double>(tasks.nodes().size());
}
BENCHMARK(fullSimulation)
    ->ArgNames({"devices", "strategy"})
    ->ArgsProduct({{4, 16, 64}, {0, 1, 2, 3}})
    ->Unit(benchmark::kMicrosecond);

/// One changed configuration: replan, simulate.
static void proposal(benchmark::State &state) {
  OperatorGraph graph = inception(64, 10);
  Topology topology = cluster(static_cast<int32_t>(state.range(0)));
  CostModel costs;
  ConfigurationSpace space(graph, topology);
  Strategy strategy = dataParallel(graph, topology);
  TaskGraph tasks({graph, topology, costs});
  tasks.setStrategy(strategy);
  FullSimulator simulator(tasks);
  uint64_t step = 0;
  for (auto _ : state) {
    Random random(1, 0, step++);
    int32_t group = space.groups()[random.below(space.groups().size())];
    llvm::SmallVector<int32_t, 8> changed{graph.group(group).front()};
    Configuration before = strategy.configs[changed[0]];
    space.assign(strategy, group, space.sampleStructured(group, random));
    deriveEnds(strategy, graph, topology, changed[0], &changed);
    tasks.update(strategy, changed);
    benchmark::DoNotOptimize(simulator.stepNs());
    changed.resize(1);
    strategy.configs[changed[0]] = before;
    deriveEnds(strategy, graph, topology, changed[0], &changed);
    tasks.update(strategy, changed);
  }
  state.counters["proposals"] = benchmark::Counter(
      static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(proposal)->ArgName("devices")->Arg(4)->Arg(16)->Arg(64)->Unit(
    benchmark::kMicrosecond);

/// The bound of a large network.
static void bound(benchmark::State &state) {
  OperatorGraph graph = inception(1, 10);
  Topology topology = cluster(static_cast<int32_t>(state.range(0)));
  CostModel costs;
  LowerBound bound;
  for (auto _ : state)
    bound = lowerBound({graph, topology, costs});
  state.counters["ms"] = static_cast<double>(bound.stepNs) / 1e6;
}
BENCHMARK(bound)->ArgName("devices")->Arg(4)->Arg(16)->Arg(64)->Unit(
    benchmark::kMillisecond);

/// How far the bound is from the optimum of tiny graphs on two to four devices,
/// found by trying all strategies: median, 90th percentile and largest gap in
/// percent.
static void boundGap(benchmark::State &state) {
  CostModel costs;
  std::vector<double> gaps;
  for (auto _ : state) {
    gaps.clear();
    for (uint64_t seed = 0; seed < 600; ++seed) {
      OperatorGraph graph = randomLayers(seed);
      Topology machine = randomMachine(seed);
      SearchOptions options;
      options.maxTasks = fewTasks(graph, machine, 50'000);
      if (options.maxTasks < 2)
        continue; // Nothing may be split.
      SearchResult optimum = llvm::cantFail(
          createExhaustive()->run({graph, machine, costs}, options));
      gaps.push_back(100 * lowerBound({graph, machine, costs}, options.maxTasks)
                               .gap(optimum.stepNs));
    }
  }
  llvm::sort(gaps);
  state.counters["graphs"] = static_cast<double>(gaps.size());
  state.counters["median"] = gaps[gaps.size() / 2];
  state.counters["p90"] = gaps[gaps.size() * 9 / 10];
  state.counters["max"] = gaps.back();
}
BENCHMARK(boundGap)->Iterations(1)->Unit(benchmark::kSecond);
