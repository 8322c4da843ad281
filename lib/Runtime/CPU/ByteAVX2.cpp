//===- ByteAVX2.cpp - Products of 8-bit integers, AVX2 --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_BYTE_ROWS 5
#define SOAP_BYTE_MADD __builtin_ia32_pmaddwd256
#define SOAP_BYTE_NAME byteAVX2
#include "CPU/ByteLoops.inc"
