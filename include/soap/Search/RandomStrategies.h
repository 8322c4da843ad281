//===- RandomStrategies.h - Any valid strategy ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies that tests draw: what a strategy may say, all of it.
// randomStrategy (Strategy.h) draws those that a search would start from.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_RANDOMSTRATEGIES_H
#define SOAP_SEARCH_RANDOMSTRATEGIES_H

#include "soap/Search/Strategy.h"

namespace soap {

// `devices`: as in Strategy.h.

/// Every degree vector, every assignment of tasks to devices (one device may
/// have several), for parameters and constants too, which live elsewhere than
/// they are read; some operands are gathered again; any launch order.
Strategy uniformStrategy(const OperatorGraph &graph, const Topology &topology,
                         uint64_t seed, int32_t devices = 0);

/// All operations on one set of devices, in any order, most of them on all of
/// it, many as their operand or split along one loop: strategies that make
/// collectives and halo exchanges. Now and then an operation on part of the set
/// or on a permutation, a parameter that lives elsewhere, an operand that is
/// gathered again, another launch order.
Strategy teamStrategy(const OperatorGraph &graph, const Topology &topology,
                      uint64_t seed, int32_t devices = 0);

} // namespace soap

#endif // SOAP_SEARCH_RANDOMSTRATEGIES_H
