//===- Backend.h - The kernel library as a plug-in --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of a vendor's library come from a plug-in that lies beside the
// runtime (libSOAPBackendCPU.so: oneDNN) and is loaded when it is first needed.
// So the runtime starts where the library is missing, and says so.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_BACKEND_H
#define SOAP_LIB_RUNTIME_CPU_BACKEND_H

#include "CPU/Kernel.h"

namespace soap::runtime {

/// A vendor's library. Its functions may be called by any thread.
class LibraryBackend {
public:
  virtual ~LibraryBackend() = default;
  /// Name and version: "oneDNN 2.6.3".
  virtual std::string version() const = 0;
  /// Lets the kernels of the calling thread use `count` threads.
  virtual void setThreads(size_t count) const = 0;
  /// Null if the library has nothing (or only its reference implementation,
  /// `allowReference` apart) for this kernel.
  virtual std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                             const std::vector<bool> &constant,
                                             bool allowReference) const = 0;
};

/// The plug-in, loaded on the first call. Throws SOAP_INVALID, with what is
/// missing and how to install it.
const LibraryBackend &libraryBackend();

/// What the plug-in exports, by the name `soap_cpu_backend`: the backend, if
/// `runtime` is the version that the plug-in was built with, else null.
using BackendEntry = const LibraryBackend *(*)(const char *runtime);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_BACKEND_H
