//===- LockedMemory.h - Memory of the host that is locked -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_CUDA_LOCKEDMEMORY_H
#define SOAP_TEST_LIB_RUNTIME_CUDA_LOCKEDMEMORY_H

#include <cstddef>

namespace soap::emulated {

/// Says that so many bytes are locked from there on; 0: no longer.
void setLocked(const void *host, size_t bytes);
bool isLocked(const void *host);

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_CUDA_LOCKEDMEMORY_H
