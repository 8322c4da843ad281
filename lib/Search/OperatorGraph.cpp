//===- OperatorGraph.cpp - The operator graph, without IR -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/OperatorGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace soap;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

using Shape = SmallVector<int64_t, 5>;

llvm::StringRef soap::stringify(NodeRole role) {
  switch (role) {
  case NodeRole::Compute:
    return "compute";
  case NodeRole::Input:
    return "input";
  case NodeRole::Output:
    return "output";
  case NodeRole::Parameter:
    return "parameter";
  case NodeRole::Constant:
    return "constant";
  }
  return "";
}

int64_t GraphValue::bytes() const {
  int64_t count = elementBytes;
  for (int64_t size : shape)
    count *= size;
  return count;
}

int32_t OperatorGraph::addNode(GraphNode node,
                               llvm::ArrayRef<Shape> resultShapes,
                               llvm::ArrayRef<int32_t> elementBytes) {
  int32_t id = numNodes();
  node.results.clear();
  for (auto [index, shape] : llvm::enumerate(resultShapes)) {
    GraphValue value;
    value.shape = shape;
    if (index < elementBytes.size())
      value.elementBytes = elementBytes[index];
    value.producer = id;
    value.result = static_cast<int32_t>(index);
    node.results.push_back(numValues());
    values_.push_back(std::move(value));
  }
  nodes_.push_back(std::move(node));
  return id;
}

/// The kinds of a group's loops are those of its leader, if it has them.
static void takeKinds(GraphNode &node, const GraphNode &leader) {
  if (leader.kinds.size() != leader.spec.loops.size())
    return;
  for (auto [loop, same] : llvm::enumerate(node.leaderLoops))
    if (same >= 0)
      node.kinds[loop] = leader.kinds[same];
}

/// Sorts nodes by the number that `member` says, which is renumbered densely,
/// and puts the one that `leads` in front. Nodes without a number get their
/// own if `all`.
static std::vector<SmallVector<int32_t, 1>>
collect(std::vector<GraphNode> &nodes, int32_t GraphNode::*member,
        bool GraphNode::*leads, bool all) {
  std::vector<SmallVector<int32_t, 1>> sets;
  llvm::DenseMap<int32_t, int32_t> numbers;
  for (auto [id, node] : llvm::enumerate(nodes)) {
    int32_t &number = node.*member;
    if (number < 0 && !all)
      continue;
    auto next = static_cast<int32_t>(sets.size());
    int32_t known =
        number < 0 ? next : numbers.try_emplace(number, next).first->second;
    if (known == next)
      sets.emplace_back();
    number = known;
    sets[number].push_back(static_cast<int32_t>(id));
  }
  for (auto &members : sets) {
    auto *leader =
        llvm::find_if(members, [&](int32_t id) { return nodes[id].*leads; });
    if (leader != members.end())
      std::rotate(members.begin(), leader, leader + 1);
  }
  return sets;
}

/// A loop of one unit cannot be split: every task of the leader's runs it.
static void dropUnitLoops(const PartitionSpec &spec,
                          SmallVectorImpl<int16_t> &leaderLoops) {
  for (auto [loop, same] : llvm::zip(spec.loops, leaderLoops))
    if (loop.extent == 1)
      same = -1;
}

void OperatorGraph::fillGroups() {
  groups_ = collect(nodes_, &GraphNode::group, &GraphNode::leads, /*all=*/true);
  for (GraphNode &node : nodes_) {
    const GraphNode &leader = leaderOf(node);
    if (node.leaderLoops.empty())
      for (const LoopSpec &loop : node.spec.loops)
        node.leaderLoops.push_back(
            static_cast<int16_t>(leader.spec.findLoop(loop.name)));
    if (&leader != &node)
      dropUnitLoops(node.spec, node.leaderLoops);
  }
}

void OperatorGraph::fillUpdates() {
  updates_ = collect(nodes_, &GraphNode::update, &GraphNode::leadsUpdate,
                     /*all=*/false);
  for (const auto &members : updates_)
    for (int32_t id : members) {
      GraphNode &node = nodes_[id];
      node.updateLoops.clear();
      for (const LoopSpec &loop : node.spec.loops)
        node.updateLoops.push_back(static_cast<int16_t>(
            nodes_[members.front()].spec.findLoop(loop.name)));
      if (id != members.front())
        dropUnitLoops(node.spec, node.updateLoops);
    }
}

llvm::Error OperatorGraph::finish() {
  for (GraphValue &value : values_)
    value.uses.clear();
  for (int32_t id = 0; id < numNodes(); ++id)
    for (auto [operand, value] : llvm::enumerate(nodes_[id].operands))
      if (value >= 0 && value < numValues())
        values_[value].uses.push_back({id, static_cast<int32_t>(operand)});

  fillGroups();
  fillUpdates();
  if (llvm::Error error = check())
    return error;
  fillReplacements();

  for (int32_t id = 0; id < numNodes(); ++id) {
    GraphNode &node = nodes_[id];
    SmallVector<DimTraits> traits;
    SmallVector<Shape> shapes;
    for (int32_t value : node.operands) {
      traits.push_back(values_[value].traits);
      shapes.push_back(values_[value].shape);
    }
    node.kinds = inferLoopKinds(node.spec, traits, shapes);
    // A leader that stands behind its members has no kinds yet.
    takeKinds(node, leaderOf(node));
    for (auto [result, value] : llvm::enumerate(node.results)) {
      DimTraits &resultTraits = values_[value].traits;
      if (node.role == NodeRole::Input)
        resultTraits.sampleDims = node.sampleDims;
      else if (node.role == NodeRole::Parameter ||
               node.role == NodeRole::Constant)
        resultTraits.parameterOnly = true;
      else
        resultTraits = inferResultTraits(node.spec, result, node.kinds, traits);
    }
  }
  for (GraphNode &node : nodes_)
    takeKinds(node, leaderOf(node));
  return llvm::Error::success();
}

/// The values of a replacement, or none if there is none. What the partitioned
/// program makes in place follows the same rules
/// (Conversion/SOAPToSOAPRT/LowerState.cpp).
SmallVector<int32_t, 1> OperatorGraph::findReplacing(int32_t value,
                                                     int32_t parameter) const {
  auto isAlike = [&](int32_t a, int32_t b) {
    return values_[a].shape == values_[b].shape &&
           values_[a].elementBytes == values_[b].elementBytes;
  };
  SmallVector<int32_t, 1> replacing;
  for (int32_t before = value; before != parameter;) {
    value = before;
    const GraphNode &maker = nodes_[values_[value].producer];
    if (maker.role != NodeRole::Compute || !isAlike(value, parameter))
      return {};
    auto overwrites = [&](int32_t read) {
      for (auto [operand, id] : llvm::enumerate(maker.operands))
        if (id == read && (maker.overwrites == Overwrites::First
                               ? operand != 0
                               : !isAlike(maker.results.front(), read)))
          return false;
      return true;
    };
    if (maker.overwrites == Overwrites::Nothing || !overwrites(parameter))
      return {};
    replacing.push_back(value);
    if (maker.overwrites == Overwrites::PerElement)
      break;
    before = maker.operands.front();
    if (before != parameter &&
        (values_[before].uses.size() != 1 || !overwrites(before)))
      return {};
  }
  return replacing;
}

void OperatorGraph::fillReplacements() {
  replacements_.clear();
  for (GraphValue &value : values_)
    value.replacement = -1;
  for (int32_t id = 0; id < numNodes(); ++id) {
    const GraphNode &write = nodes_[id];
    if (write.writtenOperand < 0 || write.operands.size() != 2)
      continue;
    Replacement found;
    found.parameter = write.operands[write.writtenOperand];
    found.values = findReplacing(write.operands[1 - write.writtenOperand],
                                 found.parameter);
    if (found.values.empty() || values_[found.values.front()].replacement >= 0)
      continue;
    int32_t first = values_[found.values.back()].producer;
    SmallVector<int32_t> views{found.parameter};
    while (!views.empty()) {
      int32_t view = views.pop_back_val();
      for (const GraphValue::Use &use : values_[view].uses) {
        const GraphNode &reader = nodes_[use.node];
        if (use.node != id && (view != found.parameter || use.node != first))
          found.readers.push_back(use.node);
        if (reader.makesViews)
          views.append(reader.results.begin(), reader.results.end());
      }
    }
    for (int32_t value : found.values)
      values_[value].replacement = static_cast<int32_t>(replacements_.size());
    replacements_.push_back(std::move(found));
  }
}

llvm::Error OperatorGraph::check() const {
  llvm::StringSet<> names;
  for (int32_t id = 0; id < numNodes(); ++id) {
    const GraphNode &node = nodes_[id];
    auto fail = [&](const llvm::Twine &text) {
      return llvm::createStringError("node '" + node.name + "': " + text);
    };
    if (node.name.empty())
      return llvm::createStringError(
          "expected a name on every node, got: none on node " +
          std::to_string(id));
    if (!names.insert(node.name).second)
      return fail("expected unique names, got: this one twice");
    if (node.spec.operands.size() != node.operands.size() ||
        node.spec.results.size() != node.results.size())
      return fail("expected accesses of " + llvm::Twine(node.operands.size()) +
                  " operands and " + llvm::Twine(node.results.size()) +
                  " results, got: " + llvm::Twine(node.spec.operands.size()) +
                  " and " + llvm::Twine(node.spec.results.size()));
    SmallVector<Shape> operandShapes, resultShapes;
    for (int32_t value : node.operands) {
      if (value < 0 || value >= numValues() || values_[value].producer >= id)
        return fail("expected operands that an earlier node produces, got: "
                    "value " +
                    llvm::Twine(value));
      operandShapes.push_back(values_[value].shape);
    }
    for (int32_t value : node.results)
      resultShapes.push_back(values_[value].shape);
    if (llvm::Error error = verify(node.spec, operandShapes, resultShapes))
      return fail(toString(std::move(error)));
    if (node.after >= 0 &&
        (node.after >= id || node.role != NodeRole::Compute ||
         nodes_[node.after].role != NodeRole::Compute))
      return fail("expected to be launched behind a node before it, both of "
                  "which compute, got: node " +
                  llvm::Twine(node.after));
    if (llvm::Error error = checkFollower(id))
      return fail(toString(std::move(error)));
    if (llvm::Error error = checkWrite(id))
      return fail(toString(std::move(error)));
    if (llvm::Error error = checkGroup(id))
      return fail(toString(std::move(error)));
  }
  return checkUpdates();
}

llvm::Error OperatorGraph::checkFollower(int32_t id) const {
  const GraphNode &node = nodes_[id];
  if (node.followedOperand < 0)
    return llvm::Error::success();
  if (node.followedOperand >= static_cast<int32_t>(node.operands.size()))
    return llvm::createStringError(
        "expected to follow the producer of one of " +
        std::to_string(node.operands.size()) + " operands, got: operand " +
        std::to_string(node.followedOperand));
  const GraphNode &anchor =
      nodes_[values_[node.operands[node.followedOperand]].producer];
  if (node.role != NodeRole::Compute || anchor.role != NodeRole::Compute)
    return llvm::createStringError(
        "expected to compute and to follow what computes, got: '" +
        anchor.name + "', " + stringify(anchor.role));
  return llvm::Error::success();
}

llvm::Error OperatorGraph::checkWrite(int32_t id) const {
  const GraphNode &node = nodes_[id];
  if (node.writtenOperand < 0)
    return llvm::Error::success();
  if (node.writtenOperand >= static_cast<int32_t>(node.operands.size()))
    return llvm::createStringError(
        "expected to write one of " + std::to_string(node.operands.size()) +
        " operands, got: operand " + std::to_string(node.writtenOperand));
  int32_t written = node.operands[node.writtenOperand];
  const GraphNode &source = nodes_[values_[written].producer];
  if (source.role != NodeRole::Parameter)
    return llvm::createStringError("expected to write a parameter, got: '" +
                                   source.name + "', " +
                                   stringify(source.role));
  if (source.isFixed)
    return llvm::createStringError("expected no write of '" + source.name +
                                   "', which is the same in every step");
  for (int32_t other = 0; other < numNodes(); ++other)
    for (auto [operand, value] : llvm::enumerate(nodes_[other].operands)) {
      if (value != written || other == id)
        continue;
      if (nodes_[other].writtenOperand == static_cast<int32_t>(operand))
        return llvm::createStringError("expected one node that writes '" +
                                       source.name + "', got also: '" +
                                       nodes_[other].name + "'");
      if (other > id)
        return llvm::createStringError(
            "expected to stand behind all that reads '" + source.name +
            "', got before: '" + nodes_[other].name + "'");
    }
  return llvm::Error::success();
}

llvm::Error OperatorGraph::checkGroup(int32_t id) const {
  const GraphNode &node = nodes_[id];
  if (groups_.empty()) // Not finished.
    return llvm::Error::success();
  const GraphNode &leader = leaderOf(node);
  if (node.role != leader.role)
    return llvm::createStringError(
        "expected the role of its group's leader '" + leader.name + "', " +
        stringify(leader.role) + ", got: " + stringify(node.role));
  if (node.leaderLoops.size() != node.spec.loops.size())
    return llvm::createStringError(
        "expected a loop of its group's leader, or none, for each of " +
        std::to_string(node.spec.loops.size()) +
        " loops, got: " + std::to_string(node.leaderLoops.size()));
  llvm::SmallBitVector taken(leader.spec.loops.size());
  for (auto [loop, same] : llvm::zip_equal(node.spec.loops, node.leaderLoops)) {
    if (same < 0)
      continue;
    if (static_cast<size_t>(same) >= taken.size() || taken.test(same))
      return llvm::createStringError(
          "expected loops of its group's leader '" + leader.name +
          "', each of them once, got: loop " + llvm::Twine(same) + " for '" +
          loop.name + "'");
    taken.set(same);
  }
  return llvm::Error::success();
}

llvm::Error OperatorGraph::checkUpdates() const {
  for (auto [update, members] : llvm::enumerate(updates_)) {
    const GraphNode &leader = nodes_[members.front()];
    auto fail = [&](const GraphNode &node, const llvm::Twine &text) {
      return llvm::createStringError("node '" + node.name + "': " + text);
    };
    if (!leader.leadsUpdate)
      return fail(leader, "expected a leader of its update, got: none");
    for (int32_t id : llvm::ArrayRef(members).drop_front()) {
      if (nodes_[id].leadsUpdate)
        return fail(nodes_[id], "expected one leader of its update, got also: "
                                "'" +
                                    leader.name + "'");
      if (nodes_[id].group != leader.group)
        return fail(nodes_[id],
                    "expected to be in the group of its update's leader, '" +
                        leader.name + "'");
    }
    if (parameterOf(static_cast<int32_t>(update)) < 0)
      return fail(leader, "expected an update to read a parameter that it "
                          "writes, got: none");
  }
  return llvm::Error::success();
}

int32_t OperatorGraph::parameterOf(int32_t update) const {
  for (int32_t value : nodes_[updates_[update].front()].operands)
    for (int32_t id : updates_[update])
      if (int32_t written = nodes_[id].writtenOperand;
          written >= 0 && nodes_[id].operands[written] == value)
        return values_[value].producer;
  return -1;
}

int32_t OperatorGraph::find(llvm::StringRef name) const {
  auto it = llvm::find_if(
      nodes_, [&](const GraphNode &node) { return name == node.name; });
  return it == nodes_.end() ? -1 : static_cast<int32_t>(it - nodes_.begin());
}

TaskWork OperatorGraph::taskWork(int32_t id, const Degrees &degrees,
                                 int64_t task, bool wantsKey) const {
  if (work_) {
    TaskWork work = work_(id, degrees, task);
    if (key_ && wantsKey)
      work.key = key_(id, degrees, task);
    return work;
  }
  const GraphNode &node = nodes_[id];
  double units = 1;
  for (Range range : tileOfTask(node.spec, degrees, task))
    units *= static_cast<double>(range.size());
  double window = 1;
  bool reduces = false;
  for (auto [loop, spec] : llvm::enumerate(node.spec.loops))
    reduces |= !node.spec.results.empty() && spec.extent > 1 &&
               node.spec.isReduction(loop);
  for (const ValueAccess &access : node.spec.operands) {
    double size = 1;
    for (const DimAccess &dim : access.dims)
      size *= static_cast<double>(
          std::max<int64_t>(1, (dim.hi - dim.lo) / dim.div + 1));
    window = std::max(window, size);
  }
  return {"", units * window * (reduces || window > 1 ? 2 : 1)};
}
