//===- Backend.cpp - Loads the kernel library -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Backend.h"
#include "Plugin.h"

using namespace soap;
using namespace soap::runtime;

static const LibraryBackend &loadBackend() {
  auto entry = reinterpret_cast<BackendEntry>(
      loadPlugin({"libSOAPBackendCPU.so", "the CPU backend", "soap_cpu_backend",
                  "install oneDNN 2 (package libdnnl2 on Debian)"}));
  const LibraryBackend *backend = entry(soap_version());
  if (!backend)
    invalid("expected the CPU backend of SOAP ", soap_version(),
            ", got: another version's; install SOAP again");
  return *backend;
}

const LibraryBackend &runtime::libraryBackend() {
  // If it throws, the next call tries again.
  static const LibraryBackend &backend = loadBackend();
  return backend;
}
