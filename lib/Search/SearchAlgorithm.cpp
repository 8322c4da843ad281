//===- SearchAlgorithm.cpp - Choosing a strategy --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/MemoryUse.h"

using namespace soap;

SearchAlgorithm::~SearchAlgorithm() = default;

std::string SearchProblem::check() const {
  if (std::string error = topology.check(); !error.empty())
    return error;
  if (std::string error = graph.check(); !error.empty())
    return error;
  if (llvm::none_of(graph.nodes(), [](const GraphNode &node) {
        return node.role == NodeRole::Compute;
      }))
    return "expected at least one op that computes, got: none";
  return "";
}

std::string SearchProblem::verify(const Strategy &strategy) const {
  if (std::string error = soap::verify(strategy, graph, topology);
      !error.empty())
    return error;
  TaskGraph tasks(*this);
  tasks.setStrategy(strategy);
  return explainMemory(tasks);
}

llvm::StringRef soap::stringify(StopReason reason) {
  switch (reason) {
  case StopReason::Proposals:
    return "number of proposals";
  case StopReason::Budget:
    return "time budget";
  case StopReason::NoImprovement:
    return "no better strategy for long";
  case StopReason::Exhausted:
    return "all strategies seen";
  case StopReason::Cancelled:
    return "cancelled";
  }
  return "";
}

std::unique_ptr<SearchAlgorithm>
soap::createSearchAlgorithm(llvm::StringRef name) {
  if (name == "mcmc")
    return createMCMC();
  if (name == "exhaustive")
    return createExhaustive();
  return nullptr;
}

llvm::ArrayRef<llvm::StringRef> soap::searchAlgorithmNames() {
  static const llvm::StringRef names[] = {"mcmc", "exhaustive"};
  return names;
}
