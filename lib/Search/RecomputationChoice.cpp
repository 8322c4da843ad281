//===- RecomputationChoice.cpp - What to make again -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/RecomputationChoice.h"
#include "soap/Search/LaunchPolicy.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <queue>

using namespace soap;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Operations of a forward pass, some of which are made again.
class Choice {
public:
  explicit Choice(ArrayRef<ForwardOperation> forward)
      : forward_(forward), isRepeated_(forward.size()),
        isKept_(forward.size()) {
    for (auto [id, op] : llvm::enumerate(forward))
      isRepeated_[id] = op.isRepeated;
    findKept();
  }

  /// Makes the operation again that costs least per byte, and what it needs.
  /// Returns the bytes that this saves; 0: nothing is left.
  int64_t takeBest() {
    int32_t best = -1;
    int64_t bestNs = 0;
    for (int32_t id = 0; id < size(); ++id) {
      int64_t bytes = forward_[id].heldBytes;
      if (!isKept_[id] || bytes <= 0)
        continue;
      int64_t ns = 0;
      for (int32_t member : chainOf(id))
        ns += forward_[member].ns;
      // The larger one of equal ones first.
      auto rank = [&](int64_t time, int32_t op) {
        return std::pair(static_cast<double>(time) /
                             static_cast<double>(forward_[op].heldBytes),
                         -forward_[op].heldBytes);
      };
      if (best < 0 || rank(ns, id) < rank(bestNs, best)) {
        best = id;
        bestNs = ns;
      }
    }
    if (best < 0)
      return 0;
    for (int32_t member : chainOf(best)) {
      isRepeated_[member] = true;
      chosen_.push_back(member);
    }
    findKept();
    return forward_[best].heldBytes;
  }

  std::vector<int32_t> takeChosen() {
    llvm::sort(chosen_);
    return std::move(chosen_);
  }

private:
  int32_t size() const { return static_cast<int32_t>(forward_.size()); }

  void findKept() {
    // What reads a copy reads it for the backward pass.
    std::vector<bool> isNeeded(forward_.size());
    for (int32_t id = size(); id-- > 0;) {
      bool needed = isNeeded[id] || forward_[id].isRead;
      isKept_[id] = needed && !isRepeated_[id];
      if (needed && isRepeated_[id])
        for (int32_t operand : forward_[id].operands)
          isNeeded[operand] = true;
    }
  }

  /// `id` and what has to be made again for it that is not made again yet.
  SmallVector<int32_t> chainOf(int32_t id) const {
    SmallVector<int32_t> chain = {id};
    llvm::DenseSet<int32_t> known = {id};
    for (size_t next = 0; next < chain.size(); ++next)
      for (int32_t operand : forward_[chain[next]].operands)
        if (!isKept_[operand] && !isRepeated_[operand] &&
            known.insert(operand).second)
          chain.push_back(operand);
    return chain;
  }

  ArrayRef<ForwardOperation> forward_;
  std::vector<bool> isRepeated_, isKept_;
  std::vector<int32_t> chosen_;
};
} // namespace

std::vector<int32_t>
soap::chooseRecomputation(ArrayRef<ForwardOperation> forward, int64_t bytes) {
  Choice choice(forward);
  while (bytes > 0) {
    int64_t saved = choice.takeBest();
    if (saved == 0)
      break;
    bytes -= saved;
  }
  return choice.takeChosen();
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

/// The launch order of `graph` that follows `keys`, lower ones first, as far as
/// operands and GraphNode::after allow.
static std::vector<int32_t> orderByKeys(const OperatorGraph &graph,
                                        ArrayRef<int64_t> keys) {
  using Entry = std::pair<int64_t, int32_t>; // Key, node.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  return dependencyOrder(
      graph, [&](int32_t id) { ready.push({keys[id], id}); },
      [&] {
        int32_t id = ready.top().second;
        ready.pop();
        return id;
      });
}

Strategy soap::transferStrategy(const OperatorGraph &from,
                                const Strategy &strategy,
                                const OperatorGraph &to,
                                const Topology &topology) {
  llvm::StringMap<int32_t> known;
  for (int32_t id = 0; id < from.numNodes(); ++id)
    known[from.node(id).name] = id;
  auto find = [&](int32_t id) {
    auto it = known.find(to.node(id).name);
    return it == known.end() ? -1 : it->second;
  };
  Strategy result;
  result.configs.resize(to.numNodes());
  std::vector<bool> given(to.numNodes());
  for (int32_t id = 0; id < to.numNodes(); ++id)
    if (int32_t same = find(id); same >= 0) {
      result.configs[id] = strategy.configs[same];
      given[id] = true;
    }
  deriveMembers(result, given, to);
  // What was part of a fused operation, and is not any more since it is made
  // again, follows what it reads.
  std::optional<Strategy> followed;
  for (int32_t id = 0; id < to.numNodes(); ++id)
    if (!given[id] && to.node(id).role == NodeRole::Compute) {
      if (!followed)
        followed = evaluationStrategy(from, strategy, to, topology);
      int32_t leader = to.group(to.node(id).group).front();
      if (given[leader])
        continue;
      result.configs[leader] = followed->configs[leader];
      given[leader] = true;
    }
  deriveMembers(result, given, to);
  deriveMissingEnds(result, given, to, topology);
  result.bucketBytes = strategy.bucketBytes;
  if (strategy.order.empty())
    return result;
  std::vector<int64_t> position(from.numNodes());
  for (auto [index, id] : llvm::enumerate(strategy.order))
    position[id] = static_cast<int64_t>(index);
  std::vector<int64_t> keys(to.numNodes(), from.numNodes());
  for (int32_t id = to.numNodes(); id-- > 0;) {
    if (int32_t same = find(id); same >= 0) {
      keys[id] = position[same];
      continue;
    }
    for (int32_t value : to.node(id).results)
      for (const GraphValue::Use &use : to.value(value).uses)
        keys[id] = std::min(keys[id], keys[use.node]);
  }
  result.order = orderByKeys(to, keys);
  return result;
}
