//===- NodeChoices.cpp - What a bound knows of a node ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeChoices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

ChoiceMaker::ChoiceMaker(const SearchProblem &problem, int32_t maxTasks)
    : problem_(problem), space_(problem.graph, problem.topology, maxTasks),
      maxTasks_(maxTasks > 0 ? maxTasks : problem.topology.numDevices()),
      hasKind_(problem.topology.kinds().size(), false) {
  for (const Device &device : problem.topology.devices())
    hasKind_[device.kind] = true;
  for (const GraphNode &node : problem.graph.nodes())
    for (const LoopSpec &loop : node.spec.loops)
      if (loop.extent > 1 && loop.extent <= maxTasks_)
        extents_.push_back(static_cast<int32_t>(loop.extent));
  llvm::sort(extents_);
  extents_.erase(std::unique(extents_.begin(), extents_.end()), extents_.end());
}

/// The text of all that choices and costs follow from, or nothing if the kernel
/// has no key.
static std::string describe(const OperatorGraph &graph, int32_t id,
                            llvm::ArrayRef<Degrees> degrees) {
  std::string text = describeCosts(graph, id);
  if (text.empty())
    return text;
  llvm::raw_string_ostream os(text);
  // Members of a group may have fewer degrees than their loops allow.
  os << '#' << degrees.size();
  for (const Degrees &entry : degrees)
    for (int32_t degree : entry.loops)
      os << ' ' << degree;
  return os.str();
}

Choice ChoiceMaker::price(int32_t node, Degrees degrees) const {
  DegreesCost cost = degreesCost(problem_, node, degrees);
  std::vector<int64_t> fastest;
  for (const std::vector<int64_t> &ns : cost.ns) {
    int64_t best = INT64_MAX;
    for (auto [kind, time] : llvm::enumerate(ns))
      if (hasKind_[kind])
        best = std::min(best, time);
    fastest.push_back(best);
  }
  Choice choice;
  for (int32_t number : cost.classOf)
    choice.workNs += fastest[number];
  choice.shortestNs = *llvm::min_element(fastest);
  choice.longestNs = *llvm::max_element(fastest);
  choice.lastNs = fastest[cost.classOf.back()];
  choice.degrees = std::move(degrees);
  return choice;
}

std::shared_ptr<const NodeChoices> ChoiceMaker::make(int32_t id) {
  const GraphNode &node = problem_.graph.node(id);
  size_t numLoops = node.spec.loops.size();
  Degrees whole;
  whole.loops.assign(numLoops, 1);
  std::vector<Degrees> all;
  for (const Degrees &entry : space_.degrees(node.group)) {
    if (entry.replicate > 1)
      continue;
    Degrees &degrees = all.emplace_back(whole);
    for (auto [loop, same] : llvm::enumerate(node.leaderLoops))
      if (same >= 0)
        degrees.loops[loop] = entry.loops[same];
  }
  // An update may have degrees of its own.
  if (node.update >= 0)
    for (const Degrees &entry : space_.updateDegrees(node.update)) {
      if (entry.replicate > 1)
        continue;
      Degrees &degrees = all.emplace_back(whole);
      for (auto [loop, same] : llvm::enumerate(node.updateLoops))
        if (same >= 0)
          degrees.loops[loop] = entry.loops[same];
    }
  // What named strategies make of a loop that is shorter than the devices are
  // many, and of what follows it.
  for (auto [loop, spec] : llvm::enumerate(node.spec.loops))
    for (int32_t degree : extents_)
      if (degree <= spec.extent)
        all.emplace_back(whole).loops[loop] = degree;
  llvm::sort(all, [](const Degrees &a, const Degrees &b) {
    return a.loops < b.loops;
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());

  std::string key = describe(problem_.graph, id, all);
  if (auto it = known_.find(key); !key.empty() && it != known_.end())
    return it->second;
  auto result = std::make_shared<NodeChoices>();
  for (Degrees &degrees : all)
    result->choices.push_back(price(id, std::move(degrees)));
  for (size_t loop = 0; loop < numLoops; ++loop) {
    auto &degrees = result->degrees.emplace_back();
    for (const Choice &choice : result->choices)
      degrees.push_back(choice.degrees.loops[loop]);
    llvm::sort(degrees);
    degrees.erase(std::unique(degrees.begin(), degrees.end()), degrees.end());
    for (Choice &choice : result->choices)
      choice.index.push_back(static_cast<uint8_t>(
          llvm::lower_bound(degrees, choice.degrees.loops[loop]) -
          degrees.begin()));
  }
  if (!key.empty())
    known_[key] = result;
  return result;
}
