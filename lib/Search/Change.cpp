//===- Change.cpp - A change of a strategy that is being made -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Change.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

void Change::set(int32_t group, const Configuration &config) {
  const Configuration &own = configOf(group);
  if (isChanged_.test(group) ||
      (own.devices == config.devices && own.degrees == config.degrees))
    return;
  isChanged_.set(group);
  llvm::ArrayRef<int32_t> nodes = graph_.group(group);
  auto assign = [&] { space_.assign(strategy_, group, config); };
  if (nodes.size() > 1)
    return record(nodes, assign);
  edit_.add(nodes.front(), own);
  assign();
}

void Change::setUpdate(int32_t update, const Configuration &config) {
  record(graph_.update(update),
         [&] { assignUpdate(strategy_, graph_, update, config); });
}

void Change::setRegathered(int32_t update, bool isRegathered) {
  SmallVector<std::pair<int32_t, Configuration>, 2> before;
  int32_t value = graph_.valueOf(graph_.parameterOf(update));
  for (const GraphValue::Use &use : graph_.value(value).uses)
    before.push_back({use.node, strategy_.configs[use.node]});
  soap::setRegathered(strategy_, graph_, update, isRegathered);
  // A node may read several parameters.
  for (auto &[node, config] : before)
    if (config != strategy_.configs[node] &&
        !llvm::is_contained(edit_.nodes, node))
      edit_.add(node, std::move(config));
}

void Change::record(llvm::ArrayRef<int32_t> nodes,
                    llvm::function_ref<void()> assign) {
  SmallVector<Configuration, 16> before;
  for (int32_t node : nodes)
    before.push_back(strategy_.configs[node]);
  assign();
  // Parts of an update may stay as they are.
  for (auto [node, config] : llvm::zip_equal(nodes, before))
    if (graph_.node(node).update < 0 || config != strategy_.configs[node])
      edit_.add(node, std::move(config));
}

std::optional<Configuration> Change::whereMainIs(int32_t group) const {
  int32_t node = leader(group);
  int32_t operand = space_.mainOperandOf(node);
  if (operand < 0)
    return std::nullopt;
  Configuration config = followOperand(graph_, strategy_, node, operand);
  if (!allows(group, config))
    return std::nullopt;
  return config;
}

bool Change::followMain(int32_t group) {
  std::optional<Configuration> config = whereMainIs(group);
  if (config)
    set(group, *config);
  return config.has_value();
}

std::optional<Configuration> detail::splitFurther(const Configuration &config,
                                                  size_t loop, bool keepsFirst,
                                                  int32_t devices) {
  SmallVector<int32_t, 8> left;
  for (int32_t device = 0; device < devices; ++device)
    if (!llvm::is_contained(config.devices, device))
      left.push_back(device);
  size_t tasks = config.devices.size();
  if (left.size() < tasks)
    return std::nullopt;
  Configuration result = config;
  result.degrees.loops[loop] *= 2;
  result.devices.resize(2 * tasks);
  llvm::MutableArrayRef<int32_t> places = result.devices.edit();
  // Tasks are row-major: those of a loop are `stride` apart.
  size_t stride = config.degrees.replicate;
  for (size_t i = loop + 1; i < config.degrees.loops.size(); ++i)
    stride *= config.degrees.loops[i];
  for (size_t task = 0; task < tasks; ++task) {
    size_t first = task / stride * 2 * stride + task % stride;
    places[first] = keepsFirst ? config.devices[task] : left[task];
    places[first + stride] = keepsFirst ? left[task] : config.devices[task];
  }
  return result;
}

SmallVector<int32_t, 8> detail::neighbours(const OperatorGraph &graph,
                                           int32_t group) {
  SmallVector<int32_t, 8> result;
  auto add = [&](int32_t node) {
    int32_t other = graph.node(node).group;
    if (graph.node(node).role == NodeRole::Compute && other != group &&
        !llvm::is_contained(result, other))
      result.push_back(other);
  };
  for (int32_t node : graph.group(group)) {
    for (int32_t value : graph.node(node).operands)
      add(graph.value(value).producer);
    for (int32_t value : graph.node(node).results)
      for (const GraphValue::Use &use : graph.value(value).uses)
        add(use.node);
  }
  return result;
}

bool detail::change(const ProposalContext &context, Strategy &strategy,
                    int32_t group, const Configuration &config, Edit &edit) {
  Change(context, strategy, edit).set(group, config);
  if (edit.nodes.empty())
    return false;
  deriveEnds(context, strategy, edit);
  return true;
}

void detail::deriveEnds(const ProposalContext &context, Strategy &strategy,
                        Edit &edit) {
  const OperatorGraph &graph = context.graph;
  SmallVector<int32_t, 32> ends;
  for (int32_t node : edit.nodes)
    for (int32_t value : graph.node(node).operands) {
      int32_t producer = graph.value(value).producer;
      NodeRole role = graph.node(producer).role;
      if (role == NodeRole::Parameter || role == NodeRole::Constant)
        ends.push_back(producer);
    }
  llvm::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (int32_t node : ends)
    if (std::optional<Configuration> config =
            deriveEnd(strategy, graph, context.topology, node)) {
      std::swap(strategy.configs[node], *config);
      edit.add(node, std::move(*config));
    }
}
