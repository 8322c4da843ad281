//===- Placement.h - Where what is read should be made ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PLACEMENT_H
#define SOAP_LIB_SEARCH_PLACEMENT_H

#include "soap/Search/Strategy.h"

namespace soap::detail {

/// A configuration of `node` that makes the tiles of its results where compute
/// nodes read them: one grid if all readers agree on it, else a whole copy on
/// every device that reads. For a compute node it may lie outside of the
/// configuration space.
Configuration placeWhereRead(const OperatorGraph &graph,
                             const Strategy &strategy, int32_t node);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PLACEMENT_H
