//===- NamedStrategies.cpp - Strategies by their names --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/RandomStrategies.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace soap;

using Graph = OperatorGraph;
using Costs = CostModel;

static const NamedStrategy strategies[] = {
    {"single", "all on device 0", true,
     [](const Graph &graph, const Topology &topology, const Costs &, int32_t,
        uint64_t) { return singleDevice(graph, topology); }},
    {"data-parallel", "samples split", true,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices,
        uint64_t) { return dataParallel(graph, topology, devices); }},
    {"model-parallel", "one block of consecutive ops per device", true,
     [](const Graph &graph, const Topology &topology, const Costs &costs,
        int32_t devices,
        uint64_t) { return modelParallel(graph, topology, costs, devices); }},
    {"tensor-parallel", "output channels split", true,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices,
        uint64_t) { return tensorParallel(graph, topology, devices); }},
    {"spatial", "the largest dimension of space split", true,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices,
        uint64_t) { return spatial(graph, topology, devices); }},
    {"owt", "fully connected layers by channel, others by sample", true,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices,
        uint64_t) { return oneWeirdTrick(graph, topology, devices); }},
    {"expert-rnn", "samples over machines, layers over their devices", true,
     [](const Graph &graph, const Topology &topology, const Costs &costs,
        int32_t devices,
        uint64_t) { return expertRNN(graph, topology, costs, devices); }},
    {"random", "random grids", true,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices, uint64_t seed) {
       return randomStrategy(graph, topology, seed, /*structured=*/true,
                             devices);
     }},
    {"random-uniform", "any strategy", false,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices, uint64_t seed) {
       return uniformStrategy(graph, topology, seed, devices);
     }},
    {"random-team", "random collectives on one set of devices", false,
     [](const Graph &graph, const Topology &topology, const Costs &,
        int32_t devices, uint64_t seed) {
       return teamStrategy(graph, topology, seed, devices);
     }},
};

llvm::ArrayRef<NamedStrategy> soap::namedStrategies() { return strategies; }

std::string soap::namedStrategyNames(llvm::ArrayRef<llvm::StringRef> more) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const NamedStrategy &strategy : strategies)
    names.push_back(strategy.name);
  names.append(more.begin(), more.end());
  return (llvm::join(llvm::ArrayRef(names).drop_back(), ", ") + " or " +
          names.back())
      .str();
}

llvm::Expected<Strategy> soap::expertStrategy(llvm::StringRef name,
                                              const Graph &graph,
                                              const Topology &topology,
                                              const Costs &costs,
                                              uint64_t seed) {
  for (const NamedStrategy &strategy : strategies)
    if (name == strategy.name)
      return strategy.make(graph, topology, costs, /*devices=*/0, seed);
  return llvm::createStringError("expected a strategy " + namedStrategyNames() +
                                 ", got: '" + name + "'");
}
