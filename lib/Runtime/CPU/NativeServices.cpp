//===- NativeServices.cpp - What the CPU backend does for kernels ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/CPUKernels.h"
#include "CPU/FewRows.h"
#include <oneapi/dnnl/dnnl.h>

using namespace soap;
using namespace soap::runtime;

static void multiplyAdd(int64_t rows, int64_t columns, int64_t sum,
                        const float *a, int64_t a_row, int64_t a_column,
                        const float *b, int64_t b_row, int64_t b_column,
                        float *c, int64_t c_row) {
  bool turnsA = a_column != 1, turnsB = b_column != 1;
  if (!turnsA && b_row == 1 &&
      multiplyFewRows({rows, columns, sum, a, a_row, b, b_column, c, c_row}))
    return;
  dnnl_status_t status = dnnl_sgemm(
      turnsA ? 'T' : 'N', turnsB ? 'T' : 'N', rows, columns, sum, 1.0f, a,
      turnsA ? a_column : a_row, b, turnsB ? b_column : b_row, 1.0f, c, c_row);
  // A kernel cannot fail; oneDNN can, where it finds no memory.
  if (status != dnnl_success)
    soap_plain_product(rows, columns, sum, a, a_row, a_column, b, b_row,
                       b_column, c, c_row);
}

const soap_native_services runtime::nativeServices = {multiplyAdd};
