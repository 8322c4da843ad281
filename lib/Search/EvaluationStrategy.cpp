//===- EvaluationStrategy.cpp - A strategy that follows a step's ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Strategy.h"
#include "llvm/ADT/StringSet.h"

using namespace soap;

namespace {
/// How one node indexes a value.
struct Indexing {
  const GraphNode &node;
  const ValueAccess &access;
};
} // namespace

static bool sameLoops(const PartitionSpec &a, const PartitionSpec &b) {
  if (a.loops.size() != b.loops.size())
    return false;
  for (auto [loopOfA, loopOfB] : llvm::zip(a.loops, b.loops))
    if (loopOfA.name != loopOfB.name || loopOfA.extent != loopOfB.extent)
      return false;
  return true;
}

/// The configuration of `follower` that splits a value as `leader` does.
static Configuration follow(const Indexing &follower, const Indexing &leader,
                            const Configuration &config) {
  GraphNode member = follower.node;
  member.leaderLoops.assign(member.spec.loops.size(), -1);
  for (auto [own, other] :
       llvm::zip(follower.access.dims, leader.access.dims)) {
    bool both = own.loop >= 0 && other.loop >= 0 &&
                own == DimAccess::identity(own.loop) &&
                other == DimAccess::identity(other.loop);
    if (both && member.spec.loops[own.loop].extent ==
                    leader.node.spec.loops[other.loop].extent)
      member.leaderLoops[own.loop] = other.loop;
  }
  return memberConfiguration(leader.node, config, member);
}

/// The configuration of a compute node; the nodes before it have theirs.
static Configuration configurationOf(const GraphNode &node,
                                     const OperatorGraph &step,
                                     const Strategy &strategy,
                                     const OperatorGraph &evaluation,
                                     const Strategy &known) {
  int32_t same = step.find(node.name);
  if (same >= 0 && step.node(same).role == NodeRole::Compute &&
      step.value(step.valueOf(same)).shape ==
          evaluation.value(node.results[0]).shape) {
    const GraphNode &other = step.node(same);
    const Configuration &config = strategy.configs[same];
    if (other.op == node.op && sameLoops(other.spec, node.spec))
      return config;
    return follow({node, node.spec.results[0]}, {other, other.spec.results[0]},
                  config);
  }
  for (auto [index, id] : llvm::enumerate(node.operands)) {
    const GraphValue &value = evaluation.value(id);
    const GraphNode &producer = evaluation.node(value.producer);
    if (producer.role == NodeRole::Compute)
      return follow({node, node.spec.operands[index]},
                    {producer, producer.spec.results[value.result]},
                    known.configs[value.producer]);
  }
  return onDevice(node, 0);
}

/// Nodes of the evaluation gather the parameters again that those of the same
/// name do in the step, whatever operands they are.
static void gatherAgain(Strategy &result, const OperatorGraph &step,
                        const Strategy &strategy,
                        const OperatorGraph &evaluation) {
  for (int32_t id = 0; id < evaluation.numNodes(); ++id) {
    const GraphNode &node = evaluation.node(id);
    result.configs[id].regather.clear();
    int32_t same = step.find(node.name);
    if (same < 0 || node.role != NodeRole::Compute)
      continue;
    llvm::StringSet<> names;
    for (int32_t operand : strategy.configs[same].regather)
      if (int32_t value = step.node(same).operands[operand];
          step.isStored(value))
        names.insert(step.node(step.value(value).producer).name);
    for (auto [operand, value] : llvm::enumerate(node.operands))
      if (evaluation.isStored(value) &&
          names.contains(
              evaluation.node(evaluation.value(value).producer).name))
        result.configs[id].regather.push_back(static_cast<int32_t>(operand));
  }
}

Strategy soap::evaluationStrategy(const OperatorGraph &step,
                                  const Strategy &strategy,
                                  const OperatorGraph &evaluation,
                                  const Topology &topology) {
  Strategy result;
  result.configs.resize(evaluation.numNodes());
  std::vector<bool> given(evaluation.numNodes(), false);
  for (int32_t id = 0; id < evaluation.numNodes(); ++id) {
    const GraphNode &node = evaluation.node(id);
    Configuration &config = result.configs[id];
    if (node.role == NodeRole::Compute) {
      config = configurationOf(node, step, strategy, evaluation, result);
      given[id] = true;
    } else if (node.role == NodeRole::Parameter) {
      int32_t same = step.find(node.name);
      given[id] = same >= 0 && step.findWrite(step.valueOf(same));
      if (given[id])
        config = strategy.configs[same];
    }
  }
  gatherAgain(result, step, strategy, evaluation);
  deriveMissingEnds(result, given, evaluation, topology);
  return result;
}
