//===- Nvml.cpp - NVML, which knows how GPUs are connected ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Nvml.h"
#include "CUDA/DynamicLibrary.h"
#include "Error.h"

using namespace soap::runtime;
using namespace soap::runtime::cuda;

static const DynamicLibrary nvmlLibrary = {
    "NVML", "libnvidia-ml.so.1",
    "install it with NVIDIA's driver (package libnvidia-ml1 on Debian), in the "
    "driver's version"};

static Nvml loadNvml() {
  void *handle = openLibrary(nvmlLibrary);
  Nvml nvml;
#define SOAP_NVML_FUNCTION(name)                                               \
  nvml.name = reinterpret_cast<decltype(nvml.name)>(                           \
      findFunction(nvmlLibrary, handle, #name));
  SOAP_NVML_FUNCTION(nvmlInit_v2)
  SOAP_NVML_FUNCTION(nvmlSystemGetDriverVersion)
  SOAP_NVML_FUNCTION(nvmlDeviceGetHandleByPciBusId_v2)
  SOAP_NVML_FUNCTION(nvmlDeviceGetNvLinkState)
  SOAP_NVML_FUNCTION(nvmlDeviceGetNvLinkVersion)
  SOAP_NVML_FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2)
  SOAP_NVML_FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration)
  SOAP_NVML_FUNCTION(nvmlDeviceGetCurrPcieLinkWidth)
#undef SOAP_NVML_FUNCTION
  // 9: the driver is not loaded; 18: it has another version than the library.
  if (int result = nvml.nvmlInit_v2(); result != kNvmlSuccess)
    invalid("expected NVML (", nvmlLibrary.file, ") to begin, got: its error ",
            result, "; ", nvmlLibrary.cure);
  return nvml;
}

const Nvml &cuda::nvml() {
  // If loading throws, the next call tries again.
  static const Nvml nvml = loadNvml();
  return nvml;
}

std::string cuda::nvidiaDriverVersion() {
  char version[128] = "";
  if (nvml().nvmlSystemGetDriverVersion(version, sizeof(version)) !=
      kNvmlSuccess)
    return "";
  return version;
}
