//===- Adapt.h - Strategies of graphs that shrink ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_ADAPT_H
#define SOAP_TEST_PROPERTY_ADAPT_H

#include "soap/Search/Strategy.h"
#include "llvm/Support/JSON.h"

namespace soap::property {

/// What a strategy file of a larger graph says of this one: entries of nodes
/// that are not there go, nodes without an entry that fits run on device 0, the
/// launch order is the graph's.
llvm::json::Object adaptStrategy(const llvm::json::Object &file,
                                 const OperatorGraph &graph,
                                 const Topology &topology);

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_ADAPT_H
