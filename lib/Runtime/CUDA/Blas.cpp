//===- Blas.cpp - cuBLASLt, the library of products -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Blas.h"
#include "CUDA/DynamicLibrary.h"
#include <atomic>
#include <map>
#include <mutex>

using namespace soap::runtime;
using namespace soap::runtime::cuda;

#define SOAP_TEXT(name) SOAP_TEXT_OF(name)
#define SOAP_TEXT_OF(name) #name

static const DynamicLibrary blasLibrary = {
    "cuBLASLt", "libcublasLt.so." SOAP_TEXT(CUBLAS_VER_MAJOR),
    "install cuBLAS " SOAP_TEXT(CUBLAS_VER_MAJOR) "." SOAP_TEXT(CUBLAS_VER_MINOR) " or newer (package libcublas-" SOAP_TEXT(
        CUBLAS_VER_MAJOR) "-0 of NVIDIA's repository, or nvidia-cublas of "
                          "PyPI), where the loader finds it (LD_LIBRARY_PATH)"};

static std::atomic<size_t> &loadedVersion() {
  static std::atomic<size_t> version{0};
  return version;
}

static Blas loadBlas() {
  void *handle = openLibrary(blasLibrary);
  Blas blas;
#define SOAP_CUBLAS_FUNCTION(name)                                             \
  blas.name = reinterpret_cast<decltype(blas.name)>(                           \
      findFunction(blasLibrary, handle, #name));
#include "CUDA/Blas.def"
  size_t version = blas.cublasLtGetVersion();
  // 130100 is 13.1.0.
  constexpr size_t least = CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100;
  if (version < least)
    invalid("expected cuBLASLt ", least / 10000, '.', least / 100 % 100,
            " or newer, got: ", version / 10000, '.', version / 100 % 100, "; ",
            blasLibrary.cure);
  loadedVersion() = version;
  return blas;
}

const Blas &cuda::blas() {
  // If loading throws, the next call tries again.
  static const Blas blas = loadBlas();
  return blas;
}

std::string cuda::blasName() {
  size_t version = loadedVersion();
  return version ? text("cuBLASLt ", version / 10000, '.', version / 100 % 100,
                        '.', version % 100)
                 : "";
}

void cuda::checkBlas(cublasStatus_t result, const char *what) {
  if (result != CUBLAS_STATUS_SUCCESS)
    failed("expected cuBLASLt ", what,
           ", got: ", blas().cublasLtGetStatusName(result));
}

cublasLtHandle_t cuda::blasHandle(const Gpu &gpu) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  std::lock_guard<std::mutex> lock(mutex);
  cublasLtHandle_t &handle = handles[gpu.ordinal];
  if (!handle) {
    gpu.use();
    checkBlas(blas().cublasLtCreate(&handle), "to begin");
  }
  return handle;
}
