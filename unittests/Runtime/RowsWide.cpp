//===- RowsWide.cpp - Products of a few rows with wide vectors ------------===//
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
#define SOAP_ROWS 8
#define SOAP_COLUMNS 3
#define SOAP_FEWER_ROWS 6
#define SOAP_ROWS_AHEAD 1024
#define SOAP_ROWS_NAME rowsWide
namespace soap::runtime {
struct RowsLoops;
extern const RowsLoops rowsWide;
} // namespace soap::runtime
#include "CPU/RowsLoops.inc"
