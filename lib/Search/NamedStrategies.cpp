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

using Problem = SearchProblem;

static const NamedStrategy strategies[] = {
    {"single", "all on device 0", true, false,
     [](const Problem &problem, int32_t, uint64_t) {
       return singleDevice(problem.graph, problem.topology);
     }},
    {"data-parallel", "samples split", true, false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return dataParallel(problem.graph, problem.topology, devices);
     }},
    {"zero-1", "data-parallel, parameters and optimizer state sharded", true,
     true,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return zero(problem.graph, problem.topology, devices);
     }},
    {"fsdp", "zero-1, parameters gathered again for the backward pass", true,
     true,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return fullySharded(problem.graph, problem.topology, devices);
     }},
    {"model-parallel", "one block of consecutive ops per device", true, false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return modelParallel(problem, devices);
     }},
    {"tensor-parallel", "output channels split", true, false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return tensorParallel(problem.graph, problem.topology, devices);
     }},
    {"spatial", "the largest dimension of space split", true, false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return spatial(problem.graph, problem.topology, devices);
     }},
    {"owt", "fully connected layers by channel, others by sample", true, false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return oneWeirdTrick(problem.graph, problem.topology, devices);
     }},
    {"expert-rnn", "samples over machines, layers over their devices", true,
     false,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return expertRNN(problem, devices);
     }},
    {"random", "random grids", true, false,
     [](const Problem &problem, int32_t devices, uint64_t seed) {
       return randomStrategy(problem.graph, problem.topology, seed,
                             /*structured=*/true, devices);
     }},
    {"zero-2", "the same: gradients are reduced to the shards alone", false,
     true,
     [](const Problem &problem, int32_t devices, uint64_t) {
       return zero(problem.graph, problem.topology, devices);
     }},
    {"random-uniform", "any strategy", false, false,
     [](const Problem &problem, int32_t devices, uint64_t seed) {
       return uniformStrategy(problem.graph, problem.topology, seed, devices);
     }},
    {"random-team", "random collectives on one set of devices", false, false,
     [](const Problem &problem, int32_t devices, uint64_t seed) {
       return teamStrategy(problem.graph, problem.topology, seed, devices);
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
                                              const SearchProblem &problem,
                                              uint64_t seed) {
  for (const NamedStrategy &strategy : strategies)
    if (name == strategy.name)
      return strategy.make(problem, /*devices=*/0, seed);
  return llvm::createStringError("expected a strategy " + namedStrategyNames() +
                                 ", got: '" + name + "'");
}
