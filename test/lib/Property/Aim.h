//===- Aim.h - Strategies that split a given loop ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_AIM_H
#define SOAP_TEST_PROPERTY_AIM_H

#include "soap/Search/Strategy.h"
#include "llvm/Support/JSON.h"

namespace soap::property {

/// The largest degree of at most 8 that cuts a loop into equal or into unequal
/// tiles; 0 if none does.
int32_t degreeThatCuts(int64_t extent, bool equally);

/// Splits one loop of one node of `strategy`, whatever was there before, and
/// deals its tasks to the devices in turn: {"op": KIND, "loop": NAME, "even":
/// true or false}. An error if no node can be split so.
llvm::Error aimStrategy(Strategy &strategy, const llvm::json::Object &aim,
                        const OperatorGraph &graph, int32_t devices);

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_AIM_H
