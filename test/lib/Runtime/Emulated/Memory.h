//===- Memory.h - Device memory that the host cannot touch -------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of emulated device memory has two views. Device pointers are
// addresses in the first, which nobody may read or write: an access by the host
// is a segmentation fault. Commands use the second one.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_MEMORY_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_MEMORY_H

#include "Backend/DeviceMemory.h"

namespace soap::emulated {

/// Allocates a block of a device; its bytes are 0xff, NaN in floats. Throws
/// SOAP_INVALID if there is not enough memory.
runtime::DevicePointer allocateBlock(uint32_t device, uint64_t bytes);
void freeBlock(runtime::DevicePointer block);

/// Where commands find what a pointer of this device addresses. Throws
/// SOAP_FAILED for any other address.
char *privateAddress(uint32_t device, runtime::DevicePointer pointer);
/// The same for a pointer of any device; null stays null.
char *privateAddress(runtime::DevicePointer pointer, uint32_t *device);

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_MEMORY_H
