//===- RowsAVX2.cpp - Products of a few rows with AVX2 -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_ROWS 4
#define SOAP_COLUMNS 3
#define SOAP_FEWER_ROWS 0
#define SOAP_ROWS_AHEAD 0
#define SOAP_ROWS_NAME rowsAVX2
#include "CPU/RowsLoops.inc"
