//===- Proposals.h - Changes that a search tries ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PROPOSALS_H
#define SOAP_LIB_SEARCH_PROPOSALS_H

#include "soap/Search/ConfigurationSpace.h"

namespace soap::detail {

struct ProposalContext {
  const OperatorGraph &graph;
  const Topology &topology;
  const ConfigurationSpace &space;
};

/// Configurations as they were, in the order in which they were replaced.
using Undo = llvm::SmallVector<std::pair<int32_t, Configuration>, 16>;

/// Changes `strategy`: one group gets a random configuration (uniform or a
/// grid), adopts its neighbour's, or a stretch of the graph changes together.
/// Appends the nodes that changed, ends of the graph included. False if the
/// draw came out as what is there already.
bool propose(const ProposalContext &context, Strategy &strategy, Random &random,
             llvm::SmallVectorImpl<int32_t> &changed, Undo &undo);

/// Gives one group a configuration, ends of the graph included. False if it has
/// it already.
bool change(const ProposalContext &context, Strategy &strategy, int32_t group,
            const Configuration &config,
            llvm::SmallVectorImpl<int32_t> &changed, Undo &undo);

/// Groups that produce or consume values of a group, each once.
llvm::SmallVector<int32_t, 8> neighbours(const OperatorGraph &graph,
                                         int32_t group);

/// Makes a strategy simpler where that does not make it slower: group by group,
/// a neighbour's configuration, the main operand's place or one device is taken
/// if the step time, then the bytes moved, then the time computed get smaller.
void simplify(const ProposalContext &context, const CostModel &costs,
              Strategy &strategy);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PROPOSALS_H
