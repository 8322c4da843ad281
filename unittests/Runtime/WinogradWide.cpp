//===- WinogradWide.cpp - Winograd's loops with wide vectors --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors as wide as those of AVX-512, for any processor: the compiler takes
// several narrow ones in place of each.
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_WINOGRAD_ROWS 12
#define SOAP_WINOGRAD_NAME(tile) winogradWideOf##tile
namespace soap::runtime {
struct WinogradLoops;
extern const WinogradLoops winogradWideOf2, winogradWideOf4;
} // namespace soap::runtime
#include "CPU/WinogradLoops.inc"
