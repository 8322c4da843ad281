//===- GpuReports.cpp - The GPUs of a machine and their links -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/GpuReports.h"
#include "CUDA/Blas.h"
#include "CUDA/Cudnn.h"
#include "CUDA/Driver.h"
#include "CUDA/Nccl.h"
#include "CUDA/Nvml.h"
#include <algorithm>
#include <cctype>
#include <map>

using namespace soap::runtime;
using namespace soap::runtime::cuda;

/// The driver writes four digits of a PCI domain, NVML eight, in either case.
static std::string commonBusId(const std::string &busId) {
  size_t colon = busId.find(':');
  std::string domain = busId.substr(0, colon);
  domain.erase(0, std::min(domain.find_first_not_of('0'), domain.size()));
  std::string result =
      domain + (colon == std::string::npos ? "" : busId.substr(colon));
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// What is at the other end of an NVLink: a GPU, or what is none, a switch.
static std::string endOf(const NvmlPciInfo &remote) {
  std::string busId = commonBusId(remote.busId);
  for (const Gpu &gpu : gpus())
    if (commonBusId(gpu.busId) == busId)
      return text("GPU ", gpu.ordinal);
  return "switch";
}

static std::vector<DeviceLink> linksOf(const Gpu &gpu) {
  const Nvml &library = nvml();
  NvmlDevice device = nullptr;
  std::vector<DeviceLink> links;
  if (library.nvmlDeviceGetHandleByPciBusId_v2(gpu.busId.c_str(), &device) !=
      kNvmlSuccess)
    return links;
  std::map<std::pair<std::string, uint32_t>, uint32_t> nvlinks;
  for (unsigned link = 0; link != kMostNvlinks; ++link) {
    int isActive = 0;
    unsigned version = 0;
    NvmlPciInfo remote{};
    // A GPU without NVLink, or with fewer of them, knows no such link.
    if (library.nvmlDeviceGetNvLinkState(device, link, &isActive) !=
            kNvmlSuccess ||
        !isActive)
      continue;
    (void)library.nvmlDeviceGetNvLinkVersion(device, link, &version);
    bool isKnown = library.nvmlDeviceGetNvLinkRemotePciInfo_v2(
                       device, link, &remote) == kNvmlSuccess;
    ++nvlinks[{isKnown ? endOf(remote) : "unknown", version}];
  }
  for (const auto &[end, count] : nvlinks)
    links.push_back({"nvlink", end.first, count, end.second});
  unsigned generation = 0, lanes = 0;
  if (library.nvmlDeviceGetCurrPcieLinkGeneration(device, &generation) ==
          kNvmlSuccess &&
      library.nvmlDeviceGetCurrPcieLinkWidth(device, &lanes) == kNvmlSuccess)
    links.push_back({"pcie", "host", lanes, generation});
  return links;
}

static DeviceReport reportOf(const Gpu &gpu) {
  DeviceReport report;
  report.name = gpu.name;
  report.place = gpu.busId;
  report.version = text(gpu.major, '.', gpu.minor);
  report.cores = static_cast<uint32_t>(gpu.processors);
  gpu.use();
  size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "to tell the memory of GPU ",
        gpu.ordinal);
  report.memoryBytes = gpu.memoryBytes;
  report.freeBytes = free;
  for (const Gpu &other : gpus()) {
    int can = 0;
    if (&other != &gpu &&
        driver().cuDeviceCanAccessPeer(&can, gpu.device, other.device) ==
            CUDA_SUCCESS &&
        can)
      report.peers.push_back(static_cast<uint32_t>(other.ordinal));
  }
  return report;
}

/// A library of which `name` is known once `load` has loaded it.
template <typename Load>
static LibraryReport reportOf(Load load, std::string (*name)()) {
  try {
    (void)load();
    return {name(), ""};
  } catch (const Error &error) {
    return {"", error.what()};
  }
}

DeviceReports cuda::reportGpus() {
  DeviceReports reports;
  reports.libraries = {reportOf(blas, blasName), reportOf(cudnn, cudnnName),
                       reportOf(nccl, ncclName)};
  for (const Gpu &gpu : gpus())
    reports.devices.push_back(reportOf(gpu));
  try {
    reports.driver = nvidiaDriverVersion();
    for (const Gpu &gpu : gpus())
      reports.devices[static_cast<size_t>(gpu.ordinal)].links = linksOf(gpu);
  } catch (const Error &error) {
    reports.missing = error.what();
  }
  return reports;
}
