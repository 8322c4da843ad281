//===- WinogradAVX2.cpp - Winograd's algorithm with AVX2 and FMA ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_WINOGRAD_ROWS 6
#define SOAP_WINOGRAD_NAME(tile) winogradAVX2Of##tile
#include "CPU/WinogradLoops.inc"
