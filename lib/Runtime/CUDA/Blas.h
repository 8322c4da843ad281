//===- Blas.h - cuBLASLt, the library of products ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_BLAS_H
#define SOAP_LIB_RUNTIME_CUDA_BLAS_H

#include "CUDA/Driver.h"
#include <cublasLt.h>
#include <utility>

namespace soap::runtime::cuda {

/// The functions of cuBLASLt that are called, as cublasLt.h has them.
struct Blas {
#define SOAP_CUBLAS_FUNCTION(name) decltype(&::name) name = nullptr;
#include "CUDA/Blas.def"
};

/// cuBLASLt, loaded on the first call. Throws SOAP_INVALID if it is missing or
/// older than the one that SOAP was built with.
const Blas &blas();
/// The library's handle for a GPU, made on the first call.
cublasLtHandle_t blasHandle(const Gpu &gpu);
/// "cuBLASLt 13.1.0", or "" if no kernel has used it yet.
std::string blasName();

/// Throws SOAP_FAILED if a call of the library has failed. `what` says what it
/// was to do.
void checkBlas(cublasStatus_t result, const char *what);

/// A descriptor of the library, destroyed with this.
template <typename Handle>
class BlasObject {
public:
  using Destroy = cublasStatus_t (*)(Handle);
  BlasObject(Handle handle, Destroy destroy)
      : handle_(handle), destroy_(destroy) {}
  ~BlasObject() {
    if (handle_)
      destroy_(handle_);
  }
  BlasObject(BlasObject &&other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        destroy_(other.destroy_) {}
  Handle get() const { return handle_; }

private:
  Handle handle_;
  Destroy destroy_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_BLAS_H
