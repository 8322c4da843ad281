//===- Coverage.h - What a strategy exercises -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_COVERAGE_H
#define SOAP_TEST_PROPERTY_COVERAGE_H

#include "soap/Search/Strategy.h"
#include "llvm/Support/JSON.h"

namespace soap::property {

/// {"loops": {"nn.conv h": [nodes, even, uneven]}, "rows": {"halo_exchange":
/// n}, "uses": {"regather": n, ...}}: per loop that has units to share, how
/// many nodes could split it and how many did, evenly and not; which rows of
/// the table of the communication plan occurred; which other freedoms of a
/// strategy it used.
llvm::json::Object coverageOf(const OperatorGraph &graph,
                              const Strategy &strategy,
                              const Topology &topology);

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_COVERAGE_H
