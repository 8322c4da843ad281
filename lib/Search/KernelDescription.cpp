//===- KernelDescription.cpp - What a task is to the cost model -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/KernelDescription.h"
#include "CompileTasks.h"
#include <algorithm>
#include <cmath>

using namespace soap;

/// Does the task multiply two tensors and add up? Then small tiles are
/// inefficient; all else is bound by memory.
static bool isContraction(const KernelAccess &access, const TaskWork &work) {
  if (work.flops <= 0)
    return false;
  const PartitionSpec &spec = access.spec;
  int large = 0;
  for (const Box &box : access.operands)
    large += box.size() >= 2;
  if (large < 2 || spec.results.empty())
    return false;
  for (size_t loop = 0; loop < spec.loops.size(); ++loop)
    if (spec.isReduction(loop))
      return true;
  // A convolution in groups: whole channels of a group on both sides.
  return llvm::any_of(spec.operands[0].dims, [](const DimAccess &dim) {
    return dim.loop >= 0 && dim.hi - dim.lo > 0;
  });
}

KernelQuery soap::describeKernel(const KernelAccess &access,
                                 const TaskWork &work) {
  KernelQuery query;
  query.key = work.key;
  query.flops = work.flops;
  double boxes = 0;
  for (auto [box, bytes] :
       llvm::zip_equal(access.operands, access.operandBytes))
    if (!isEmpty(box))
      boxes += static_cast<double>(volume(box)) * bytes;
  int64_t results = 1;
  for (auto [index, box] : llvm::enumerate(access.results)) {
    boxes += static_cast<double>(volume(box)) * access.resultBytes[index];
    if (index == 0)
      results = std::max<int64_t>(1, volume(box));
  }
  double touched = work.bytes.value_or(boxes);
  query.bytes = std::min(touched, boxes);
  query.bytesAgain = std::max(0.0, touched - boxes);
  if (!isContraction(access, work))
    return query;

  query.precision = work.precision;

  // Columns are what the weights add to the result; without weights, its last
  // loop.
  int64_t columns = 1, last = 1;
  bool hasParameter = false;
  for (const DimAccess &dim : access.spec.results[0].dims) {
    if (dim.loop < 0)
      continue;
    int64_t size = access.tile[dim.loop].size() * (dim.hi - dim.lo + 1);
    last = size;
    if (access.kinds[dim.loop] == LoopKind::Parameter) {
      columns *= size;
      hasParameter = true;
    }
  }
  query.columns = std::max<int64_t>(1, hasParameter ? columns : last);
  query.rows = std::max<int64_t>(1, results / query.columns);
  query.depth = std::max<int64_t>(
      1, std::llround(work.flops / (2.0 * query.rows * query.columns)));
  return query;
}

KernelQuery detail::describeTask(const OperatorGraph &graph, int32_t id,
                                 const Degrees &degrees, int64_t task,
                                 const TaskWork &work) {
  const GraphNode &node = graph.node(id);
  KernelAccess access{
      node.spec, node.kinds, tileOfTask(node.spec, degrees, task), {}, {},
      {},        {}};
  for (auto [index, valueId] : llvm::enumerate(node.operands)) {
    const GraphValue &value = graph.value(valueId);
    access.operands.push_back(
        operandBox(node.spec, index, degrees, task, value.shape));
    access.operandBytes.push_back(value.elementBytes);
  }
  for (auto [index, valueId] : llvm::enumerate(node.results)) {
    const GraphValue &value = graph.value(valueId);
    access.results.push_back(
        resultBox(node.spec, index, degrees, task, value.shape));
    access.resultBytes.push_back(value.elementBytes);
  }
  return describeKernel(access, work);
}

/// True if a task of a node is part of the kernel of the node that it follows:
/// this made the whole tile that the task reads, on the same device.
static bool isJoined(const OperatorGraph &graph, const Strategy &strategy,
                     int32_t id, int64_t task) {
  const GraphNode &node = graph.node(id);
  if (node.followedOperand < 0)
    return false;
  const GraphValue &value = graph.value(node.operands[node.followedOperand]);
  const PartitionSpec &spec = graph.node(value.producer).spec;
  const Configuration &own = strategy.configs[id],
                      &anchor = strategy.configs[value.producer];
  for (size_t loop = 0; loop < spec.loops.size(); ++loop)
    if (anchor.degrees.loops[loop] > 1 && spec.isReduction(loop))
      return false;
  Box box = operandBox(node.spec, node.followedOperand, own.degrees, task,
                       value.shape);
  for (auto [other, device] : llvm::enumerate(anchor.devices))
    if (device == own.devices[task] &&
        resultBox(spec, value.result, anchor.degrees,
                  static_cast<int64_t>(other), value.shape) == box)
      return true;
  return false;
}

std::map<std::string, KernelWork> soap::kernelsOf(const OperatorGraph &graph,
                                                  const Strategy &strategy) {
  std::map<std::string, KernelWork> result;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    if (graph.node(id).role != NodeRole::Compute)
      continue;
    const Degrees &degrees = strategy.configs[id].degrees;
    for (int64_t task = 0; task < degrees.numTasks(); ++task) {
      if (isJoined(graph, strategy, id, task))
        continue;
      TaskWork work = graph.taskWork(id, degrees, task);
      KernelQuery query = detail::describeTask(graph, id, degrees, task, work);
      if (!work.key.empty() && (query.flops > 0 || query.bytes > 0))
        result.try_emplace(work.key, query);
    }
  }
  return result;
}
