//===- Coverage.cpp - What a strategy exercises ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"
#include "Aim.h"
#include "soap/Search/TaskGraph.h"
#include <map>
#include <set>

using namespace soap;

using Counts = std::map<std::string, int64_t>;

/// True if every piece of a reduce-scatter is what a reader asked for.
static bool isDirect(const ValuePlan &plan, const Action &action) {
  return llvm::all_of(action.outputs, [&](int32_t output) {
    return llvm::any_of(plan.reads, [&](const Read &read) {
      return read.box == plan.shards[output].box &&
             llvm::any_of(read.pieces, [&](const Piece &piece) {
               return piece.shard == output;
             });
    });
  });
}

static void countRows(const ValuePlan &plan, int32_t host, Counts &rows) {
  rows["local"] += plan.actions.empty() && !plan.reads.empty();
  rows["local reduction"] += !plan.reductions.empty();
  for (const Action &action : plan.actions) {
    Phase phase = phaseOf(action, plan, host);
    if (phase != Phase::Step)
      ++rows[stringify(phase).str()];
    else if (action.kind == ActionKind::ReduceScatter &&
             !isDirect(plan, action))
      ++rows["home layout"];
    else
      ++rows[stringify(action.kind).str()];
  }
}

static void countUses(const OperatorGraph &graph, const Strategy &strategy,
                      Counts &uses) {
  uses["launch order"] += !strategy.order.empty();
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    const Configuration &config = strategy.configs[id];
    if (node.role == NodeRole::Input || node.role == NodeRole::Output)
      continue;
    std::set<int32_t> distinct(config.devices.begin(), config.devices.end());
    uses["regather"] += !config.regather.empty();
    uses["replicate"] += config.degrees.replicate > 1;
    uses["repeated devices"] += distinct.size() < config.devices.size();
    uses["permuted devices"] += !llvm::is_sorted(config.devices);
    bool halves = false, reduces = false;
    for (auto [loop, degree] : llvm::enumerate(config.degrees.loops)) {
      halves |= degree > 1;
      reduces |= degree > 1 && !node.spec.results.empty() &&
                 node.spec.isReduction(loop);
    }
    uses["partial results"] += reduces;
    if (node.role != NodeRole::Compute) {
      uses["split parameter"] += halves;
      for (int32_t value : node.results)
        for (const GraphValue::Use &use : graph.value(value).uses)
          for (int32_t device : strategy.configs[use.node].devices)
            if (!distinct.count(device)) {
              ++uses["parameter elsewhere"];
              break;
            }
    }
  }
}

static llvm::json::Object toObject(const Counts &counts) {
  llvm::json::Object object;
  for (const auto &[key, count] : counts)
    object[key] = count;
  return object;
}

llvm::json::Object property::coverageOf(const OperatorGraph &graph,
                                        const Strategy &strategy,
                                        const Topology &topology) {
  struct Splits {
    int64_t even = 0, uneven = 0, couldEven = 0, couldUneven = 0;
  };
  std::map<std::string, Splits> loops;
  for (int32_t id = 0; id < graph.numNodes(); ++id) {
    const GraphNode &node = graph.node(id);
    if (node.role != NodeRole::Compute)
      continue;
    for (auto [loop, degree] :
         llvm::zip(node.spec.loops, strategy.configs[id].degrees.loops)) {
      if (loop.extent < 2)
        continue;
      Splits &splits = loops[node.op + " " + loop.name.str()];
      splits.couldEven += degreeThatCuts(loop.extent, true) != 0;
      splits.couldUneven += degreeThatCuts(loop.extent, false) != 0;
      if (degree > 1)
        ++(loop.extent % degree ? splits.uneven : splits.even);
    }
  }
  Counts rows, uses;
  for (int32_t value = 0; value < graph.numValues(); ++value)
    countRows(planOf(graph, strategy, topology, value), topology.host(), rows);
  countUses(graph, strategy, uses);

  llvm::json::Object table;
  for (const auto &[loop, splits] : loops)
    table[loop] = llvm::json::Array{splits.even, splits.uneven,
                                    splits.couldEven, splits.couldUneven};
  return llvm::json::Object{{"loops", std::move(table)},
                            {"rows", toObject(rows)},
                            {"uses", toObject(uses)}};
}
