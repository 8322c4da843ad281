//===- DynamicLibrary.cpp - Libraries of NVIDIA, found by name ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/DynamicLibrary.h"
#include "Error.h"
#include <dlfcn.h>

using namespace soap::runtime;

void *cuda::openLibrary(const DynamicLibrary &library) {
  void *handle = dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    invalid("expected ", library.name, " (", library.file,
            "), got: ", reason ? reason : "no reason", "; ", library.cure);
  }
  return handle;
}

void *cuda::findFunction(const DynamicLibrary &library, void *handle,
                         const char *function) {
  void *address = dlsym(handle, function);
  if (!address)
    invalid("expected ", library.name, " (", library.file, ") with ", function,
            ", got: an older one; ", library.cure);
  return address;
}
