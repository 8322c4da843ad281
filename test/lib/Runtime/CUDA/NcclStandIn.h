//===- NcclStandIn.h - Arithmetic of the stand-in for NCCL ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_CUDA_NCCLSTANDIN_H
#define SOAP_TEST_LIB_RUNTIME_CUDA_NCCLSTANDIN_H

#include <nccl.h>
#include <string>

namespace soap::standin {

size_t sizeOfNcclType(ncclDataType_t type);

/// Joins elements to those of `sum`, which has as many.
void joinNccl(ncclDataType_t type, ncclRedOp_t op, std::string &sum,
              const std::string &x);

} // namespace soap::standin

#endif // SOAP_TEST_LIB_RUNTIME_CUDA_NCCLSTANDIN_H
