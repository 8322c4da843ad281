//===- Transports.h - How GPUs exchange data --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_TRANSPORTS_H
#define SOAP_LIB_RUNTIME_CUDA_TRANSPORTS_H

#include "Backend/Transport.h"
#include "CUDA/Driver.h"

namespace soap::runtime::cuda {

/// A device of this process and its GPU.
struct DeviceGpu {
  uint32_t device = 0;
  const Gpu *gpu = nullptr;
};

/// Copies among the GPUs of this process, or within one that several devices
/// share, ordered by events.
std::unique_ptr<Transport> makePeerTransport(const TransportOptions &options);

/// NCCL. Throws SOAP_INVALID if the library is missing or too old.
std::unique_ptr<Transport>
makeNcclTransport(const TransportOptions &options,
                  const std::vector<DeviceGpu> &devices);

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_TRANSPORTS_H
