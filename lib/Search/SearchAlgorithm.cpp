//===- SearchAlgorithm.cpp - Choosing a strategy --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/MemoryUse.h"
#include "llvm/ADT/SmallVectorExtras.h"

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
  case StopReason::LeastSum:
    return "least sum of costs";
  case StopReason::Exhausted:
    return "all strategies seen";
  case StopReason::Cancelled:
    return "cancelled";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// All algorithms
//===----------------------------------------------------------------------===//

namespace {
struct NamedAlgorithm {
  llvm::StringLiteral name; ///< What SearchAlgorithm::name() returns.
  std::unique_ptr<SearchAlgorithm> (*create)();
};
} // namespace

static constexpr NamedAlgorithm algorithms[] = {
    {"mcmc", createMCMC},
    {"exhaustive", [] { return createExhaustive(); }},
    {"optcnn", [] { return createOptCNN(); }}};

std::unique_ptr<SearchAlgorithm>
soap::createSearchAlgorithm(llvm::StringRef name) {
  for (const NamedAlgorithm &algorithm : algorithms)
    if (algorithm.name == name)
      return algorithm.create();
  return nullptr;
}

llvm::ArrayRef<llvm::StringRef> soap::searchAlgorithmNames() {
  static const auto names =
      llvm::map_to_vector(algorithms, [](const NamedAlgorithm &algorithm) {
        return llvm::StringRef(algorithm.name);
      });
  return names;
}
