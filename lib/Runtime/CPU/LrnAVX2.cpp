//===- LrnAVX2.cpp - Local response norms with AVX2 -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_LRN_NAME lrnAVX2
#include "CPU/LrnLoops.inc"
