//===- Neighbours.cpp - Is a neighbour of the strategy better? ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Diagnostics.h"
#include "soap/Search/LocalOptimality.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace soap;

/// The degrees above one by the names of loops: "n=2 copies=2", or "whole".
static std::string degreesOf(const PartitionSpec &spec,
                             const Degrees &degrees) {
  SmallVector<std::string> parts;
  for (auto [loop, degree] : llvm::zip_equal(spec.loops, degrees.loops))
    if (degree != 1)
      parts.push_back(llvm::formatv("{0}={1}", loop.name, degree));
  if (degrees.replicate != 1)
    parts.push_back(llvm::formatv("copies={0}", degrees.replicate));
  return parts.empty() ? "whole" : llvm::join(parts, " ");
}

void Compilation::checkNeighbours(const ModuleProblem &problem,
                                  const Strategy &strategy) {
  if (!options_.checkLocalOptimality)
    return;
  const OperatorGraph &graph = problem.extracted.graph;
  SearchOptions limits;
  limits.budgetSeconds = options_.budgetSeconds;
  LocalOptimality found = checkLocalOptimality(problem.get(), strategy, limits);
  auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
  std::string what = llvm::formatv(
      "{0} neighbours of the strategy in {1:f1} s; all configurations of {2} "
      "of {3} groups of operations{4}",
      found.neighbours, found.seconds, found.completeGroups, found.groups,
      found.isFinished ? "" : ", ended by the time budget");
  llvm::json::Object object{
      {"step_ns", found.stepNs},
      {"neighbours", static_cast<int64_t>(found.neighbours)},
      {"groups", found.groups},
      {"complete_groups", found.completeGroups},
      {"finished", found.isFinished},
      {"wall_seconds", found.seconds},
      {"better", nullptr}};
  if (const auto &better = found.better) {
    // Updates have the loops of their leaders.
    int32_t node = graph.find(better->node);
    if (better->isUpdate)
      for (int32_t update = 0; update < graph.numUpdates(); ++update)
        if (graph.parameterOf(update) == node)
          node = graph.update(update).front();
    std::string degrees =
        degreesOf(graph.node(node).spec, better->config.degrees);
    SmallVector<std::string> devices;
    for (int32_t device : better->config.devices)
      devices.push_back(std::to_string(device));
    remark(llvm::formatv("local optimality: {0}; a better one takes {1:f3} ms "
                         "instead of {2:f3} (simulated): {3} '{4}' as {5} on "
                         "[{6}]",
                         what, ms(better->stepNs), ms(found.stepNs),
                         better->isUpdate ? "the update of" : "operation",
                         better->node, degrees, llvm::join(devices, ", ")));
    object["better"] = llvm::json::Object{
        {better->isUpdate ? "parameter" : "op", better->node},
        {"degrees", degrees},
        {"devices", llvm::json::Array(better->config.devices)},
        {"step_ns", better->stepNs}};
  } else {
    remark(llvm::formatv("local optimality: {0}; none is better (simulated)",
                         what));
  }
  result_.localOptimality = std::move(object);
}
