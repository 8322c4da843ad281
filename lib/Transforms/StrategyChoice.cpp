//===- StrategyChoice.cpp - The strategy of a module ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Transforms/StrategyChoice.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Search/LaunchPolicy.h"
#include "soap/Support/JSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

#define DEBUG_TYPE "soap-strategy"

using namespace mlir;
using namespace soap;

bool soap::isConfigured(const ExtractedGraph &extracted) {
  for (auto [index, op] : llvm::enumerate(extracted.ops))
    if (extracted.graph.node(static_cast<int32_t>(index)).role ==
            NodeRole::Compute &&
        soapir::getConfig(op))
      return true;
  return false;
}

std::vector<int32_t> soap::usedDevices(const Strategy &strategy,
                                       const OperatorGraph &graph) {
  std::set<int32_t> used;
  for (int32_t node = 0; node != graph.numNodes(); ++node)
    if (graph.node(node).role == NodeRole::Compute)
      used.insert(strategy.configs[node].devices.begin(),
                  strategy.configs[node].devices.end());
  return {used.begin(), used.end()};
}

static llvm::Expected<Strategy> importStrategy(const ModuleProblem &problem,
                                               StringRef file) {
  auto buffer = readRegularFile(file);
  if (!buffer)
    return llvm::createStringError("expected to read '" + file + "', got: " +
                                   llvm::toString(buffer.takeError()));
  return parseStrategy((*buffer)->getBuffer(), problem.get());
}

static llvm::Expected<SearchResult>
searchStrategy(const ModuleProblem &problem, const StrategyRequest &request,
               std::optional<Strategy> own) {
  std::unique_ptr<SearchAlgorithm> algorithm =
      createSearchAlgorithm(request.algorithm, request.startAlgorithms);
  if (!algorithm)
    return llvm::createStringError("unknown search algorithm '" +
                                   request.algorithm + "'; choose one of " +
                                   llvm::join(searchAlgorithmNames(), ", "));
  Topology machine = problem.topology;
  for (auto [device, bytes] : request.reservedBytes)
    machine.reserveMemory(device, bytes);
  SearchOptions options = request.search;
  if (own)
    options.starts.push_back(std::move(*own));
  return algorithm->run({problem.extracted.graph, machine, problem.costs},
                        options);
}

/// Chooses everything but the launch order.
static FailureOr<ChosenStrategy>
chooseConfigurations(const ModuleProblem &problem,
                     const StrategyRequest &request, Location loc) {
  const OperatorGraph &graph = problem.extracted.graph;
  StringRef name(request.name);
  ChosenStrategy chosen;
  // In a model of constants there is nothing to search.
  if (name == "search" && llvm::none_of(graph.nodes(), [](const auto &node) {
        return node.role == NodeRole::Compute;
      }))
    name = "single";
  bool searches = name == "search";
  std::optional<Strategy> own;
  if (name.empty() || (searches && isConfigured(problem.extracted))) {
    FailureOr<Strategy> read =
        readStrategy(problem.extracted, problem.topology);
    if (failed(read)) {
      if (searches)
        emitRemark(loc, "the configurations that operations have are a start "
                        "of the search; correct them, or remove them all");
      return failure();
    }
    own = std::move(*read);
  }
  if (name.empty()) {
    chosen.strategy = std::move(*own);
    return chosen;
  }
  if (searches) {
    llvm::Expected<SearchResult> result =
        searchStrategy(problem, request, std::move(own));
    if (!result)
      return emitError(loc, llvm::toString(result.takeError()));
    chosen.strategy = result->strategy;
    chosen.search = std::move(*result);
    return chosen;
  }
  llvm::Expected<Strategy> strategy =
      name.ends_with(".json")
          ? importStrategy(problem, name)
          : expertStrategy(name, problem.get(), request.search.seed);
  if (!strategy)
    return emitError(loc, llvm::toString(strategy.takeError()));
  chosen.strategy = std::move(*strategy);
  return chosen;
}

FailureOr<ChosenStrategy> soap::chooseStrategy(const ModuleProblem &problem,
                                               const StrategyRequest &request,
                                               Location loc) {
  const OperatorGraph &graph = problem.extracted.graph;
  FailureOr<ChosenStrategy> chosen =
      chooseConfigurations(problem, request, loc);
  if (failed(chosen))
    return failure();
  Strategy &strategy = chosen->strategy;
  if (strategy.order.empty() && request.takesOrder) {
    // The order that the model asks for, whatever the configurations.
    FailureOr<std::vector<int32_t>> order = readLaunchOrder(problem.extracted);
    if (failed(order))
      return failure();
    strategy.order = std::move(*order);
    if (llvm::Error error = verify(strategy, graph, problem.topology))
      return emitError(loc, toString(std::move(error)));
  }
  if (!request.schedule.empty())
    strategy.order = launchOrder(request.schedule, problem.get(), strategy);
  LLVM_DEBUG({
    llvm::dbgs() << "strategy '" << request.name << "'";
    if (chosen->search)
      llvm::dbgs() << ", " << chosen->search->proposals << " proposals";
    llvm::dbgs() << "\n";
    for (const GraphNode &node : graph.nodes()) {
      const Configuration &config = strategy.configs[graph.find(node.name)];
      llvm::dbgs() << "  '" << node.name << "': " << config.degrees.numTasks()
                   << " tasks from device " << config.devices.front() << "\n";
    }
  });
  return chosen;
}

FailureOr<ChosenStrategy>
soap::configure(ModuleOp module, StrategyRequest request, StringRef costFile) {
  request.takesOrder = false;
  FailureOr<ModuleProblem> problem = readProblem(module, costFile);
  if (failed(problem))
    return failure();
  FailureOr<ChosenStrategy> chosen =
      chooseStrategy(*problem, request, module.getLoc());
  if (succeeded(chosen))
    writeStrategy(problem->extracted, chosen->strategy, problem->topology);
  return chosen;
}
