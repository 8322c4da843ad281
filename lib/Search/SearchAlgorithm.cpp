//===- SearchAlgorithm.cpp - Choosing a strategy --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include "soap/Search/MemoryUse.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace soap;

SearchAlgorithm::~SearchAlgorithm() = default;

llvm::Error SearchProblem::check() const {
  if (llvm::Error error = topology.check())
    return error;
  if (llvm::Error error = graph.check())
    return error;
  if (llvm::none_of(graph.nodes(), [](const GraphNode &node) {
        return node.role == NodeRole::Compute;
      }))
    return llvm::createStringError(
        "expected at least one op that computes, got: none");
  return llvm::Error::success();
}

llvm::Error SearchProblem::verify(const Strategy &strategy) const {
  if (llvm::Error error = soap::verify(strategy, graph, topology))
    return error;
  TaskGraph tasks(*this);
  tasks.setStrategy(strategy);
  return checkMemory(tasks);
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
  case StopReason::Placed:
    return "all operations placed";
  case StopReason::LocalOptimum:
    return "no neighbour is better";
  case StopReason::Proved:
    return "optimum proved";
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
    {"optcnn", [] { return createOptCNN(); }},
    {"dpos", [] { return createDPOS(/*splits=*/false); }},
    {"os-dpos", [] { return createDPOS(/*splits=*/true); }},
    {"local", createLocal},
    {"exact", [] { return createExact(); }},
    {"exact-layers", [] { return createExact(/*layers=*/true); }},
    {"placement-cross-entropy",
     [] { return createPlacement(PlacementLearner::CrossEntropy); }},
    {"placement-policy-gradient",
     [] { return createPlacement(PlacementLearner::PolicyGradient); }}};

static std::unique_ptr<SearchAlgorithm> createByName(llvm::StringRef name) {
  for (const NamedAlgorithm &algorithm : algorithms)
    if (algorithm.name == name)
      return algorithm.create();
  return nullptr;
}

/// The algorithms of a list; nothing if one of them is unknown.
static std::vector<std::unique_ptr<SearchAlgorithm>>
createAll(llvm::StringRef list) {
  std::vector<std::unique_ptr<SearchAlgorithm>> result;
  for (llvm::StringRef name : llvm::split(list, ','))
    if (!result.emplace_back(createByName(name)))
      return {};
  return result;
}

std::unique_ptr<SearchAlgorithm>
soap::createSearchAlgorithm(llvm::StringRef name, llvm::StringRef starts) {
  std::unique_ptr<SearchAlgorithm> algorithm;
  if (llvm::StringRef list = name; list.consume_front("best:")) {
    auto parts = createAll(list);
    if (!parts.empty())
      algorithm = createCombinedSearch(name.str(), std::move(parts));
  } else {
    algorithm = createByName(name);
  }
  if (!algorithm || starts.empty())
    return algorithm;
  auto parts = createAll(starts);
  if (parts.empty())
    return nullptr;
  return createCombinedSearch(name.str(), std::move(parts),
                              std::move(algorithm));
}

llvm::ArrayRef<llvm::StringRef> soap::searchAlgorithmNames() {
  static const auto names =
      llvm::map_to_vector(algorithms, [](const NamedAlgorithm &algorithm) {
        return llvm::StringRef(algorithm.name);
      });
  return names;
}
