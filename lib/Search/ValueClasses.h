//===- ValueClasses.h - Values that are planned alike -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_VALUECLASSES_H
#define SOAP_LIB_SEARCH_VALUECLASSES_H

#include "Hashing.h"
#include "soap/Search/OperatorGraph.h"

namespace soap::detail {

/// Per value a key of all that its plan and its compiled tasks depend on
/// besides configurations and launch order: its shape and element size, how its
/// producer writes it and its consumers read it, and what roles they have.
/// Values of repeated blocks have equal keys.
std::vector<Key> classesOfValues(const OperatorGraph &graph);

/// A key of what a node is to a search: its operation, loops, accesses and
/// shapes.
Key classOfNode(const OperatorGraph &graph, int32_t node);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_VALUECLASSES_H
