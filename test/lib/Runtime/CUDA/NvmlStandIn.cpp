//===- NvmlStandIn.cpp - libnvidia-ml without a GPU -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of the name of NVML, for tests, that knows the GPUs of the stand-in
// for the driver: each pair of them is connected by two NVLinks, and one more
// goes to a switch. SOAP_NVML_ERROR is what nvmlInit_v2 returns.
//
//===----------------------------------------------------------------------===//

#include "CUDA/Nvml.h"
#include <cstdio>
#include <cstdlib>

using namespace soap::runtime::cuda;

struct soap::runtime::cuda::NvmlDeviceHandle {
  unsigned bus;
};

static constexpr int kInvalid = 2, kNotFound = 6;

extern "C" {
int nvmlInit_v2() {
  const char *error = std::getenv("SOAP_NVML_ERROR");
  return error ? std::atoi(error) : kNvmlSuccess;
}
int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  std::snprintf(version, length, "999.1");
  return kNvmlSuccess;
}
/// The stand-in for the driver puts GPU i on bus i + 1.
int nvmlDeviceGetHandleByPciBusId_v2(const char *busId, NvmlDevice *device) {
  static NvmlDeviceHandle handles[256];
  unsigned domain = 0, bus = 0;
  if (std::sscanf(busId, "%x:%x:", &domain, &bus) != 2 || bus > 255)
    return kNotFound;
  handles[bus].bus = bus;
  *device = &handles[bus];
  return kNvmlSuccess;
}
int nvmlDeviceGetNvLinkState(NvmlDevice, unsigned link, int *isActive) {
  if (link > 3)
    return kInvalid;
  *isActive = link != 2;
  return kNvmlSuccess;
}
int nvmlDeviceGetNvLinkVersion(NvmlDevice, unsigned, unsigned *version) {
  *version = 4;
  return kNvmlSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned link,
                                        NvmlPciInfo *info) {
  unsigned other = (device->bus - 1) / 2 * 2 + device->bus % 2 + 1;
  std::snprintf(info->busId, sizeof(info->busId), "00000000:%02X:00.0",
                link == 3 ? 0xE0 : other);
  return kNvmlSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice, unsigned *generation) {
  *generation = 5;
  return kNvmlSuccess;
}
int nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice, unsigned *lanes) {
  *lanes = 16;
  return kNvmlSuccess;
}
}
