//===- RowsAVX512.cpp - Products of a few rows with AVX-512 ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_ROWS 8
#define SOAP_COLUMNS 3
#define SOAP_FEWER_ROWS 6
#define SOAP_ROWS_AHEAD 1024
#define SOAP_ROWS_NAME rowsAVX512
#include "CPU/RowsLoops.inc"
