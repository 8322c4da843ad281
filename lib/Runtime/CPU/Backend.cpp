//===- Backend.cpp - Loads the kernel library -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Backend.h"
#include <dlfcn.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// The folder of the runtime's own file.
static std::string runtimeFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&runtimeFolder), &info) ||
      !info.dli_fname)
    return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

static const LibraryBackend &loadBackend() {
  std::string path = runtimeFolder() + "/libSOAPBackendCPU.so";
  if (access(path.c_str(), F_OK) != 0)
    invalid("expected the CPU backend '", path,
            "', got: no such file; install it beside libSOAPRuntime.so");
  // Kept until the process ends: kernels' threads may outlive any model.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    invalid("expected the CPU backend '", path, "' to load, got: ", dlerror(),
            "; install oneDNN 2 (package libdnnl2 on Debian)");
  auto entry =
      reinterpret_cast<BackendEntry>(dlsym(handle, "soap_cpu_backend"));
  const LibraryBackend *backend = entry ? entry(soap_version()) : nullptr;
  if (!backend)
    invalid("expected the CPU backend '", path, "' of SOAP ", soap_version(),
            ", got: another version's; install SOAP again");
  return *backend;
}

const LibraryBackend &runtime::libraryBackend() {
  // If it throws, the next call tries again.
  static const LibraryBackend &backend = loadBackend();
  return backend;
}
