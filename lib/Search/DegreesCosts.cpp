//===- DegreesCosts.cpp - Costs of the tasks of a node --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DegreesCosts.h"
#include "CompileTasks.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

using namespace soap;
using detail::FollowerCost;
using llvm::SmallVector;

std::vector<std::vector<int64_t>>
detail::nodeCosts(const SearchProblem &problem) {
  const OperatorGraph &graph = problem.graph;
  std::vector<std::vector<int64_t>> result;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    result.emplace_back(problem.topology.kinds().size(), 0);
    const GraphNode &node = graph.node(id);
    if (node.role == NodeRole::Compute)
      result.back() =
          degreesCost(problem, id, onDevice(node, 0).degrees).ns.front();
  }
  return result;
}

/// What one task costs, by kind of device.
static std::vector<int64_t>
taskCost(const SearchProblem &problem, int32_t id, const Degrees &degrees,
         int64_t task, FollowerCost follower = FollowerCost::Joined) {
  if (problem.graph.node(id).followedOperand >= 0 &&
      follower == FollowerCost::Joined)
    return std::vector<int64_t>(problem.topology.kinds().size(), 0);
  bool wantsKey =
      llvm::any_of(problem.topology.kinds(), [&](const DeviceKind &kind) {
        return problem.costs.wantsKeys(kind);
      });
  TaskWork work = problem.graph.taskWork(id, degrees, task, wantsKey);
  KernelQuery query =
      detail::describeTask(problem.graph, id, degrees, task, work);
  std::vector<int64_t> ns;
  for (const DeviceKind &kind : problem.topology.kinds())
    ns.push_back(problem.costs.kernelNs(query, kind));
  return ns;
}

detail::DegreesCost detail::degreesCost(const SearchProblem &problem,
                                        int32_t id, const Degrees &degrees,
                                        FollowerCost follower) {
  const OperatorGraph &graph = problem.graph;
  const GraphNode &node = graph.node(id);
  DegreesCost cost;
  // Tiles of a loop have one of two sizes. Whether a task is at 0 in the
  // reductions says whether it reads a bias.
  size_t numLoops = degrees.loops.size();
  SmallVector<SmallVector<bool, 16>, 6> isLarge(numLoops);
  uint64_t reductions = 0;
  for (size_t loop = 0; loop < numLoops; ++loop) {
    int64_t extent = node.spec.loops[loop].extent;
    int64_t smallest = extent / degrees.loops[loop];
    for (int32_t i = 0; i < degrees.loops[loop]; ++i)
      isLarge[loop].push_back(tileRange(extent, degrees.loops[loop], i).size() >
                              smallest);
    if (!node.spec.results.empty() && node.spec.isReduction(loop))
      reductions |= uint64_t(1) << loop;
  }
  SmallVector<uint64_t, 8> classes; // Keys; few.
  SmallVector<int32_t, 6> at(numLoops, 0);
  for (int64_t tile = 0, tiles = degrees.numTiles(); tile < tiles; ++tile) {
    uint64_t key = 0, elsewhere = 0;
    for (size_t loop = 0; loop < numLoops; ++loop) {
      key |= uint64_t(isLarge[loop][at[loop]]) << loop;
      elsewhere |= uint64_t(at[loop] != 0) << loop;
    }
    key = key << 1 | ((elsewhere & reductions) == 0);
    auto known = llvm::find(classes, key);
    auto number = static_cast<int32_t>(known - classes.begin());
    cost.classOf.insert(cost.classOf.end(), degrees.replicate, number);
    if (known == classes.end()) {
      classes.push_back(key);
      cost.ns.push_back(
          taskCost(problem, id, degrees, tile * degrees.replicate, follower));
    }
    for (size_t loop = numLoops; loop-- != 0;) {
      if (++at[loop] != degrees.loops[loop])
        break;
      at[loop] = 0;
    }
  }
  return cost;
}

std::string detail::describeCosts(const OperatorGraph &graph, int32_t id) {
  const GraphNode &node = graph.node(id);
  Degrees whole;
  whole.loops.assign(node.spec.loops.size(), 1);
  TaskWork work = graph.taskWork(id, whole, 0);
  std::string text;
  if (work.key.empty())
    return text;
  llvm::raw_string_ostream os(text);
  os << work.key << ';' << node.followedOperand;
  for (auto [loop, kind] : llvm::zip_equal(node.spec.loops, node.kinds))
    os << ';' << loop.name << ' ' << loop.extent << ' '
       << static_cast<int>(kind);
  auto access = [&](const ValueAccess &access, int32_t value) {
    os << ';' << static_cast<int>(access.combine) << access.firstOnly
       << access.unreduced << ' ' << graph.value(value).elementBytes;
    for (auto [dim, size] :
         llvm::zip_equal(access.dims, graph.value(value).shape))
      os << ',' << size << ' ' << dim.loop << ' ' << dim.mul << ' ' << dim.lo
         << ' ' << dim.hi << ' ' << dim.div;
  };
  for (auto [operand, value] :
       llvm::zip_equal(node.spec.operands, node.operands))
    access(operand, value);
  os << '>';
  for (auto [result, value] : llvm::zip_equal(node.spec.results, node.results))
    access(result, value);
  return os.str();
}

int32_t detail::DegreesCosts::classOf(int32_t node) {
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (classOf_[node] >= 0)
      return classOf_[node];
  }
  std::string text = describeCosts(problem_.graph, node);
  std::unique_lock<std::shared_mutex> lock(mutex_);
  int32_t &number = classOf_[node];
  if (number >= 0)
    return number; // Another thread was faster.
  if (text.empty())
    number = numClasses_++;
  else if (auto [it, isNew] = classes_.try_emplace(text, numClasses_); isNew)
    number = numClasses_++;
  else
    number = it->second;
  return number;
}

static detail::Key keyOf(const Degrees &degrees) {
  detail::KeyBuilder builder;
  builder.add(degrees.replicate);
  builder.addAll(llvm::ArrayRef<int32_t>(degrees.loops));
  return builder.key();
}

/// What `entries` has of a key; if there is nothing, what `make` gives, which
/// several threads may ask at the same time.
template <typename Map, typename Make>
static const auto &findOrMake(std::shared_mutex &mutex, Map &entries,
                              detail::Key key, Make make) {
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    if (auto it = entries.find(key); it != entries.end())
      return *it->second;
  }
  auto made = make();
  std::unique_lock<std::shared_mutex> lock(mutex);
  return *entries.try_emplace(key, std::move(made)).first->second;
}

const detail::DegreesCost &detail::DegreesCosts::of(int32_t node,
                                                    const Degrees &degrees) {
  return findOrMake(mutex_, entries_[classOf(node)], keyOf(degrees), [&] {
    if (degrees.replicate == 1)
      return std::make_unique<const DegreesCost>(
          degreesCost(problem_, node, degrees));
    // Copies cost what the task costs that they are copies of.
    Degrees once = degrees;
    once.replicate = 1;
    const DegreesCost &tiles = of(node, once);
    DegreesCost cost{{}, tiles.ns};
    cost.classOf.reserve(tiles.classOf.size() * degrees.replicate);
    for (int32_t number : tiles.classOf)
      cost.classOf.insert(cost.classOf.end(), degrees.replicate, number);
    return std::make_unique<const DegreesCost>(std::move(cost));
  });
}

const detail::DegreesCost &
detail::DegreesCosts::ofApart(int32_t node, const Degrees &degrees) {
  return findOrMake(mutex_, apart_[classOf(node)], keyOf(degrees), [&] {
    return std::make_unique<const DegreesCost>(
        degreesCost(problem_, node, degrees, FollowerCost::Apart));
  });
}

llvm::ArrayRef<int64_t>
detail::DegreesCosts::ofLastTask(int32_t node, const Degrees &degrees) {
  // Copies cost what the task costs that they are copies of.
  Degrees once = degrees;
  once.replicate = 1;
  return findOrMake(mutex_, lastTasks_[classOf(node)], keyOf(once), [&] {
    return std::make_unique<const std::vector<int64_t>>(
        taskCost(problem_, node, once, once.numTasks() - 1));
  });
}
