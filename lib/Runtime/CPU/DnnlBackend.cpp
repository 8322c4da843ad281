//===- DnnlBackend.cpp - oneDNN as a plug-in ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Backend.h"
#include "CPU/DnnlKernel.h"
#include <cstring>
#include <dlfcn.h>

using namespace soap;
using namespace soap::runtime;

namespace {
class DnnlBackend final : public LibraryBackend {
public:
  std::string version() const override {
    const dnnl_version_t *version = dnnl_version();
    return text("oneDNN ", version->major, ".", version->minor, ".",
                version->patch);
  }

  void setThreads(size_t count) const override {
    // Whichever OpenMP runtime oneDNN came with, if any.
    using Setter = void (*)(int);
    static auto setter =
        reinterpret_cast<Setter>(dlsym(self(), "omp_set_num_threads"));
    if (setter)
      setter(static_cast<int>(count));
  }

  std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                     const std::vector<bool> &constant,
                                     bool allowReference) const override {
    return makeDnnlKernel(kernel, constant, allowReference);
  }

private:
  /// A handle to oneDNN, in which its dependencies are found too.
  static void *self() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&dnnl_version), &info))
      return RTLD_DEFAULT;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? handle : RTLD_DEFAULT;
  }
};
} // namespace

extern "C" const LibraryBackend *soap_cpu_backend(const char *runtime) {
  static const DnnlBackend backend;
  return std::strcmp(runtime, SOAP_VERSION) == 0 ? &backend : nullptr;
}
