//===- PoolAVX2.cpp - Pools with AVX2 -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_POOL_NAME poolAVX2
#include "CPU/PoolLoops.inc"
