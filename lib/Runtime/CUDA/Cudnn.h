//===- Cudnn.h - cuDNN, the library of convolutions -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_CUDNN_H
#define SOAP_LIB_RUNTIME_CUDA_CUDNN_H

#include "CUDA/Driver.h"
#include <cudnn.h>
#include <utility>

namespace soap::runtime::cuda {

/// The functions of cuDNN that are called, as cudnn.h has them.
struct Cudnn {
#define SOAP_CUDNN_FUNCTION(name) decltype(&::name) name = nullptr;
#include "CUDA/Cudnn.def"
};

/// cuDNN, loaded on the first call. Throws SOAP_INVALID if it is missing or
/// older than the one that SOAP was built with.
const Cudnn &cudnn();
/// The calling thread's handle for a GPU, made on the first call.
cudnnHandle_t cudnnHandle(const Gpu &gpu);
/// "cuDNN 9.19.0", or "" if no kernel has used it yet.
std::string cudnnName();

/// Throws SOAP_FAILED if a call of the library has failed. `what` says what it
/// was to do.
void checkCudnn(cudnnStatus_t status, const char *what);

/// A descriptor of the library's graph interface, destroyed with this.
class CudnnDescriptor {
public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor &&other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  cudnnBackendDescriptor_t get() const { return handle_; }

  /// @{ Sets an attribute; the types of elements are those that the interface
  /// has for them.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const void *elements, size_t count = 1);
  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const std::vector<T> &elements) {
    set(name, type, elements.data(), elements.size());
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor &other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &other.handle_);
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) {
    set(name, CUDNN_TYPE_INT64, &value);
  }
  void set(cudnnBackendAttributeName_t name,
           const std::vector<int64_t> &values) {
    set(name, CUDNN_TYPE_INT64, values);
  }
  /// @}
  void finalize();
  /// The same; false for what the library does not support.
  bool tryFinalize();

private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_CUDNN_H
