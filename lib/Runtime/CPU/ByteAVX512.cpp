//===- ByteAVX512.cpp - Products of 8-bit integers, AVX-512 ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_BYTE_ROWS 12
#define SOAP_BYTE_MADD __builtin_ia32_pmaddwd512
#define SOAP_BYTE_NAME byteAVX512
#include "CPU/ByteLoops.inc"
