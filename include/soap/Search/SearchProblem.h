//===- SearchProblem.h - What a strategy is chosen for ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_SEARCHPROBLEM_H
#define SOAP_SEARCH_SEARCHPROBLEM_H

#include "llvm/Support/Error.h"

namespace soap {

class CostModel;
class OperatorGraph;
class Topology;
struct Strategy;

/// A model and a machine, as searches, simulations and policies see them: an
/// operator graph, the devices that it may run on, and what kernels and
/// communication cost there. The three belong together: devices of a strategy
/// and kinds of devices in the costs are those of the topology. Refers to its
/// parts, which must outlive it and everything that is made from it.
struct SearchProblem {
  const OperatorGraph &graph;
  const Topology &topology;
  const CostModel &costs;

  /// Fails with the first thing that is missing or wrong.
  llvm::Error check() const;
  /// Fails with what is wrong with a strategy, memory included.
  llvm::Error verify(const Strategy &strategy) const;
};

} // namespace soap

#endif // SOAP_SEARCH_SEARCHPROBLEM_H
