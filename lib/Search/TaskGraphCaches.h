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
#include "NodeTaskCache.h"
#include "PlanCache.h"
#include "ReceiptBounds.h"
#include "ValueClasses.h"
#include "ValuePlans.h"
#include "soap/Search/TaskGraph.h"
#include "llvm/ADT/bit.h"

namespace soap {

namespace detail {
/// A set of values, in memory that is kept.
class ValueSet {
public:
  explicit ValueSet(int32_t numValues) : words_((numValues + 63) / 64, 0) {}
  void add(int32_t value) {
    auto word = static_cast<size_t>(value) / 64;
    words_[word] |= uint64_t(1) << (value % 64);
    first_ = std::min(first_, word);
    end_ = std::max(end_, word + 1);
  }
  /// Appends the values in ascending order, and empties the set.
  void takeOut(llvm::SmallVectorImpl<int32_t> &values) {
    for (size_t word = first_; word < end_; ++word)
      for (uint64_t rest = std::exchange(words_[word], 0); rest != 0;
           rest &= rest - 1)
        values.push_back(
            static_cast<int32_t>(word * 64 + llvm::countr_zero(rest)));
    first_ = words_.size();
    end_ = 0;
  }

private:
  std::vector<uint64_t> words_;
  size_t first_ = words_.size(), end_ = 0; ///< Words that may have values.
};
} // namespace detail

/// Plans, bounds and costs that are known, and what makes them.
struct TaskGraph::Caches {
  /// Compiled plans are dropped when they fill this much memory.
  static constexpr size_t limitBytes = size_t(96) << 20;

  Caches(const SearchProblem &problem, const Caches *shared)
      : plans(limitBytes), nodes(problem.topology, plans.pool()),
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
        computedValues(problem.graph.numValues()),
        storedValues(problem.graph.numValues()) {
    for (int32_t id = 0; id < problem.graph.numValues(); ++id)
      isStored.push_back(problem.graph.isStored(id));
  }

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
    auto [low, high] = config.devices.hash();
    builder.add(detail::Key{low, high});
    builder.addAll(llvm::ArrayRef<int32_t>(config.regather));
    return builder.key();
  }

  detail::PlanCache plans;
  detail::NodeTaskCache nodes;
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
  /// Values that no compute node makes, and per operand of a node
  /// (operandIndex()) that is one of them, whether something of it is read.
  std::vector<int32_t> fedValues;
  std::vector<bool> readsSomething;
  /// Per value, a number for the order of its uses; 0: as they are numbered.
  std::vector<uint64_t> orderOfUses;
  std::vector<detail::Key> configKeys; ///< Per node.
  detail::KeyBuilder builder;
  std::vector<bool> isStored;                    ///< Per value.
  detail::ValueSet computedValues, storedValues; ///< Empty between uses.

  /// @{ What the change on trial replaced. Entries keep their memory.
  struct NodeBefore {
    Configuration config;
    detail::Key key;
    detail::NodeTasks tasks;
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
