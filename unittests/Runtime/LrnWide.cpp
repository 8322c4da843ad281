//===- LrnWide.cpp - Local response norms for any processor ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_LRN_NAME lrnWide
namespace soap::runtime {
struct LrnLoops;
extern const LrnLoops lrnWide;
} // namespace soap::runtime
#include "CPU/LrnLoops.inc"
