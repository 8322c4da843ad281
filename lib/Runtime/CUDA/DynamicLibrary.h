//===- DynamicLibrary.h - Libraries of NVIDIA, found by name ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_DYNAMICLIBRARY_H
#define SOAP_LIB_RUNTIME_CUDA_DYNAMICLIBRARY_H

namespace soap::runtime::cuda {

/// A library that is loaded when it is first used, so that the runtime starts
/// on machines without it.
struct DynamicLibrary {
  const char *name; ///< "cuBLASLt", for errors.
  const char *file; ///< "libcublasLt.so.13", as the loader searches it.
  const char *cure; ///< How to install it.
};

/// Loads a library until the process ends. Throws SOAP_INVALID, with the cure.
void *openLibrary(const DynamicLibrary &library);

/// The address of a function of a loaded library. Throws SOAP_INVALID if it has
/// none: it is then older than the one that SOAP was built for.
void *findFunction(const DynamicLibrary &library, void *handle,
                   const char *function);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_DYNAMICLIBRARY_H
