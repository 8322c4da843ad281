//===- WinogradAVX512.cpp - Winograd's algorithm with AVX-512 -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_WINOGRAD_ROWS 12
#define SOAP_WINOGRAD_NAME(tile) winogradAVX512Of##tile
#include "CPU/WinogradLoops.inc"
