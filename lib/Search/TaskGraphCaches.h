//===- TaskGraphCaches.h - What a task graph keeps --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_TASKGRAPHCACHES_H
#define SOAP_LIB_SEARCH_TASKGRAPHCACHES_H

#include "CompileTasks.h"
#include "DegreesCosts.h"
#include "PlanCache.h"
#include "ReceiptBounds.h"
#include "ValueClasses.h"
#include "ValuePlans.h"
#include "soap/Search/TaskGraph.h"

namespace soap {

/// Plans, bounds and costs that are known, and what makes them.
struct TaskGraph::Caches {
  /// Compiled plans are dropped when they fill this much memory.
  static constexpr size_t limitBytes = size_t(96) << 20;

  Caches(const SearchProblem &problem, const Caches *shared)
      : plans(limitBytes),
        degrees(shared ? shared->degrees
                       : std::make_shared<detail::DegreesCosts>(problem)),
        cuts(shared
                 ? shared->cuts
                 : std::make_shared<const detail::LinkCuts>(problem.topology)),
        planner(problem.graph, problem.topology), compiler(problem.topology),
        bounds(problem.graph, problem.topology, cuts),
        classes(detail::classesOfValues(problem.graph)),
        orderOfUses(problem.graph.numValues(), 0),
        configKeys(problem.graph.numNodes()),
        inUse(problem.topology.numDevices() + 1, 0) {}

  /// What the plan of a value is made from.
  detail::Key keyOf(const OperatorGraph &graph, int32_t id) {
    const GraphValue &value = graph.value(id);
    builder.clear();
    builder.add(classes[id]);
    builder.add(static_cast<int64_t>(orderOfUses[id]));
    builder.add(configKeys[value.producer]);
    for (const GraphValue::Use &use : value.uses)
      builder.add(configKeys[use.node]);
    return builder.key();
  }
  detail::Key keyOf(const Configuration &config) {
    builder.clear();
    builder.add(config.degrees.replicate);
    builder.addAll(llvm::ArrayRef<int32_t>(config.degrees.loops));
    builder.addAll(llvm::ArrayRef<int32_t>(config.devices));
    builder.addAll(llvm::ArrayRef<int32_t>(config.regather));
    return builder.key();
  }

  detail::PlanCache plans;
  /// @{ Shared by the task graphs of one search.
  std::shared_ptr<detail::DegreesCosts> degrees;
  std::shared_ptr<const detail::LinkCuts> cuts;
  /// @}
  /// What a bucket runs, and what that was made from.
  struct Bucket {
    detail::BucketTasks tasks;
    llvm::SmallVector<const detail::ValueTasks *, 8> values;
    uint64_t generation = 0;
  };
  std::vector<Bucket> buckets;
  /// Rises whenever compiled tasks move or are forgotten.
  uint64_t generation = 1;

  detail::ValuePlans planner;
  detail::ValueCompiler compiler;
  detail::ReceiptBounds bounds;
  std::vector<detail::Key> classes; ///< Per value.
  /// Per value, a number for the order of its uses; 0: as they are numbered.
  std::vector<uint64_t> orderOfUses;
  std::vector<detail::Key> configKeys; ///< Per node.
  std::vector<int64_t> inUse;          ///< Per device; 0 between uses.
  detail::KeyBuilder builder;

  /// @{ What the change on trial replaced. Entries keep their memory.
  struct NodeBefore {
    Configuration config;
    detail::Key key;
    NodeLists lists;
  };
  std::vector<NodeBefore> nodesBefore;
  /// Bounds that are known, by the same keys as plans. Where blocks repeat, one
  /// proposal asks for the same many times.
  detail::PlanArena boundArena{plans.pool()};
  llvm::DenseMap<detail::Key, const detail::ValueTasks *> boundTasks;
  static constexpr size_t boundBytes = size_t(4) << 20;
  std::vector<detail::UseTasks> noUseTasks; ///< For each use of any value.
  std::vector<detail::ValueTasks> noTasks;  ///< Per number of uses.
  /// Per value whose bound is not made yet.
  std::vector<detail::Key> boundKeys;
  /// @}
};

} // namespace soap

#endif // SOAP_LIB_SEARCH_TASKGRAPHCACHES_H
