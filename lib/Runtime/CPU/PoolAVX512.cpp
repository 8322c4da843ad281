//===- PoolAVX512.cpp - Pools with AVX-512 --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_POOL_NAME poolAVX512
#include "CPU/PoolLoops.inc"
