//===- Driver.h - The driver of NVIDIA's GPUs -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_DRIVER_H
#define SOAP_LIB_RUNTIME_CUDA_DRIVER_H

#include "Error.h"
#include <algorithm>
#include <cuda.h>
#include <vector>

namespace soap::runtime::cuda {

/// The functions of libcuda.so.1, by the names that cuda.h has for them.
struct Driver {
#define SOAP_CUDA_FUNCTION(name) decltype(&::name) name = nullptr;
#include "CUDA/Driver.def"
};

/// The driver, loaded and initialized on the first call. Throws SOAP_INVALID if
/// it is missing, too old or finds no GPU, with the cure.
const Driver &driver();

/// The least version of the driver's interface, as cuDriverGetVersion counts:
/// 1000 * major + 10 * minor. Libraries of a major version of CUDA need a
/// driver for it.
constexpr int kLeastDriver = std::max(12080, CUDA_VERSION / 1000 * 1000);

/// "12.4" of 12040.
std::string versionText(int version);

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string errorText(CUresult result);

/// Throws SOAP_FAILED if a call of the driver has failed. `what` says what it
/// was to do: "to copy 64 bytes to GPU 0".
template <typename... Ts>
void check(CUresult result, const Ts &...what) {
  if (result != CUDA_SUCCESS)
    failed("expected the CUDA driver ", what..., ", got: ", errorText(result));
}

/// A GPU that this process sees. It is never released: threads of libraries
/// may use it until the process ends.
struct Gpu {
  int ordinal = 0;
  CUdevice device = 0;
  CUcontext context = nullptr; ///< The primary one.
  std::string name;            ///< "NVIDIA H200"
  std::string busId;           ///< "0000:3b:00.0"
  int major = 0, minor = 0;    ///< Compute capability.
  int processors = 0;          ///< Streaming multiprocessors.
  uint64_t memoryBytes = 0;

  /// Makes its context that of the calling thread.
  void use() const;
  /// Lets copies and kernels of this GPU read and write the memory of another
  /// one directly, if the machine can. Else the driver copies through the host.
  void reach(const Gpu &other) const;
};

/// All GPUs that this process sees, with their contexts.
const std::vector<Gpu> &gpus();

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_DRIVER_H
