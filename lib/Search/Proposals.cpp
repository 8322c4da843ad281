//===- Proposals.cpp - Changes that a search tries ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposals.h"

using namespace soap;
using namespace soap::detail;
using llvm::SmallVector;

namespace {
class Proposal {
public:
  Proposal(const ProposalContext &context, Strategy &strategy, Random &random,
           llvm::SmallVectorImpl<int32_t> &changed, Undo &undo)
      : graph_(context.graph), topology_(context.topology),
        space_(context.space), strategy_(strategy), random_(random),
        changed_(changed), undo_(undo) {}

  bool make() {
    llvm::ArrayRef<int32_t> groups = space_.groups();
    size_t index = random_.below(groups.size());
    int32_t group = groups[index];
    uint64_t kind = random_.below(10);
    if (kind < 3)
      set(group, space_.sample(group, random_));
    else if (kind < 6)
      set(group, space_.sampleStructured(group, random_));
    else if (kind < 8)
      adopt(group);
    else
      stretch(index);
    derive();
    return !changed_.empty();
  }

  bool change(int32_t group, const Configuration &config) {
    set(group, config);
    derive();
    return !changed_.empty();
  }

private:
  int32_t leader(int32_t group) const { return graph_.group(group).front(); }
  const Configuration &configOf(int32_t group) const {
    return strategy_.configs[leader(group)];
  }

  void set(int32_t group, const Configuration &config) {
    if (configOf(group).degrees == config.degrees &&
        configOf(group).devices == config.devices)
      return;
    for (int32_t node : graph_.group(group)) {
      undo_.push_back({node, strategy_.configs[node]});
      changed_.push_back(node);
    }
    space_.assign(strategy_, group, config);
  }

  bool allows(int32_t group, const Configuration &config) const {
    return llvm::is_contained(space_.degrees(group), config.degrees);
  }

  /// The configuration that keeps a group where its main operand is.
  bool followMain(int32_t group) {
    int32_t node = leader(group);
    int32_t operand = mainOperand(graph_, node);
    if (operand < 0)
      return false;
    Configuration config = followOperand(graph_, strategy_, node, operand);
    if (!allows(group, config))
      return false;
    set(group, config);
    return true;
  }

  /// What a neighbour does, one way or another.
  void adopt(int32_t group) {
    int32_t node = leader(group);
    SmallVector<int32_t, 8> neighbours = detail::neighbours(graph_, group);
    if (random_.below(2) == 0 && followMain(group))
      return;
    if (neighbours.empty())
      return;
    int32_t other = neighbours[random_.below(neighbours.size())];
    if (auto config = space_.sameAs(group, other, configOf(other)))
      return set(group, *config);
    // Its devices at least, if the number of tasks is the same or one.
    Configuration config = configOf(group);
    const Configuration &source = configOf(other);
    if (config.devices.size() == source.devices.size())
      config.devices = source.devices;
    else
      config = onDevice(graph_.node(node), source.devices[0]);
    set(group, config);
  }

  /// One grid for a stretch of the graph: those that have the same loops split
  /// them, the others stay where their operands are.
  void stretch(size_t index) {
    llvm::ArrayRef<int32_t> groups = space_.groups();
    int32_t first = groups[index];
    size_t length = 1;
    while (length < groups.size() && random_.below(8) != 0)
      ++length;
    Configuration config = random_.below(4) == 0
                               ? configOf(first)
                               : space_.sampleStructured(first, random_);
    set(first, config);
    for (size_t i = index + 1; i < std::min(groups.size(), index + length);
         ++i) {
      if (auto same = space_.sameAs(groups[i], first, config))
        set(groups[i], *same);
      else
        followMain(groups[i]);
    }
  }

  /// Parameters move with what reads them.
  void derive() {
    SmallVector<int32_t, 16> computing(changed_.begin(), changed_.end());
    SmallVector<int32_t, 16> ends;
    for (int32_t node : computing)
      for (int32_t value : graph_.node(node).operands) {
        int32_t producer = graph_.value(value).producer;
        NodeRole role = graph_.node(producer).role;
        if (role == NodeRole::Parameter || role == NodeRole::Constant)
          ends.push_back(producer);
      }
    llvm::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    SmallVector<std::pair<int32_t, Configuration>, 16> before;
    for (int32_t node : ends)
      before.push_back({node, strategy_.configs[node]});
    SmallVector<int32_t, 16> moved;
    for (int32_t node : computing)
      deriveEnds(strategy_, graph_, topology_, node, &moved);
    for (auto &[node, config] : before)
      if (llvm::is_contained(moved, node)) {
        changed_.push_back(node);
        undo_.push_back({node, std::move(config)});
      }
  }

  const OperatorGraph &graph_;
  const Topology &topology_;
  const ConfigurationSpace &space_;
  Strategy &strategy_;
  Random &random_;
  llvm::SmallVectorImpl<int32_t> &changed_;
  Undo &undo_;
};
} // namespace

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
                    int32_t group, const Configuration &config,
                    llvm::SmallVectorImpl<int32_t> &changed, Undo &undo) {
  Random unused(0, 0, 0);
  return Proposal(context, strategy, unused, changed, undo)
      .change(group, config);
}

bool detail::propose(const ProposalContext &context, Strategy &strategy,
                     Random &random, llvm::SmallVectorImpl<int32_t> &changed,
                     Undo &undo) {
  return Proposal(context, strategy, random, changed, undo).make();
}
