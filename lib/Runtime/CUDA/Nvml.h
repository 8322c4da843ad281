//===- Nvml.h - NVML, which knows how GPUs are connected --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library comes with the driver, its header with another package that a
// toolkit may lack. The few functions that are called are declared here, as
// NVIDIA's "NVML API Reference" (nvml.h of CUDA 13.0) has them; they have not
// changed since driver 418.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_NVML_H
#define SOAP_LIB_RUNTIME_CUDA_NVML_H

#include <string>

namespace soap::runtime::cuda {

struct NvmlDeviceHandle;
using NvmlDevice = NvmlDeviceHandle *;

/// nvmlPciInfo_t
struct NvmlPciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};

/// nvmlReturn_t
constexpr int kNvmlSuccess = 0;
/// NVML_NVLINK_MAX_LINKS
constexpr unsigned kMostNvlinks = 18;

/// The functions that are called; each returns an nvmlReturn_t.
struct Nvml {
  int (*nvmlInit_v2)() = nullptr;
  int (*nvmlSystemGetDriverVersion)(char *version, unsigned length) = nullptr;
  int (*nvmlDeviceGetHandleByPciBusId_v2)(const char *busId,
                                          NvmlDevice *device) = nullptr;
  /// `isActive` is an nvmlEnableState_t, 0 or 1.
  int (*nvmlDeviceGetNvLinkState)(NvmlDevice device, unsigned link,
                                  int *isActive) = nullptr;
  int (*nvmlDeviceGetNvLinkVersion)(NvmlDevice device, unsigned link,
                                    unsigned *version) = nullptr;
  int (*nvmlDeviceGetNvLinkRemotePciInfo_v2)(NvmlDevice device, unsigned link,
                                             NvmlPciInfo *info) = nullptr;
  int (*nvmlDeviceGetCurrPcieLinkGeneration)(NvmlDevice device,
                                             unsigned *generation) = nullptr;
  int (*nvmlDeviceGetCurrPcieLinkWidth)(NvmlDevice device,
                                        unsigned *lanes) = nullptr;
};

/// NVML, loaded and initialized on the first call. Throws SOAP_INVALID if it is
/// missing, too old, or does not fit the driver.
const Nvml &nvml();
/// "580.65.06", or "" if NVML does not say.
std::string nvidiaDriverVersion();

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_NVML_H
