//===- CudaBackend.cpp - GPUs of NVIDIA as a backend ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device of a model is a GPU, or a share of one. Streams run by themselves,
// device memory is none of the host's, steps may be captured.
//
//===----------------------------------------------------------------------===//

#include "CUDA/Blas.h"
#include "CUDA/Cudnn.h"
#include "CUDA/Device.h"
#include "CUDA/GpuReports.h"
#include "CUDA/Nccl.h"
#include "CUDA/Transports.h"
#include <algorithm>
#include <cstring>

using namespace soap;
using namespace soap::runtime;
using namespace soap::runtime::cuda;

namespace {
class CudaBackend final : public Backend {
public:
  BackendTraits traits() const override {
    BackendTraits traits;
    traits.captures = true;
    traits.capturedCallsWait = false;
    return traits;
  }

  std::string library() const override {
    int version = 0;
    driver().cuDriverGetVersion(&version);
    std::string result = "CUDA " + versionText(version);
    for (const std::string &library : {blasName(), cudnnName(), ncclName()})
      if (!library.empty())
        result += ", " + library;
    return result;
  }

  std::string deviceName() const override { return gpus()[0].name; }

  uint64_t availableMemory() const override {
    uint64_t bytes = 0;
    for (const Gpu &gpu : gpus()) {
      gpu.use();
      size_t free = 0, total = 0;
      check(driver().cuMemGetInfo(&free, &total), "to tell the memory of GPU ",
            gpu.ordinal);
      bytes += free;
    }
    return bytes;
  }

  DeviceReports reportDevices() const override { return reportGpus(); }

  std::unique_ptr<BackendDevice>
  makeDevice(const DevicePlace &place) const override {
    return std::make_unique<CudaDevice>(gpuOf(place), place);
  }

  std::unique_ptr<Transport>
  makeTransport(const TransportOptions &options) const override {
    using Choice = DeviceTransport;
    Choice choice = options.choice;
    if (options.isThrottled &&
        (choice == Choice::Peer || choice == Choice::Nccl))
      invalid("expected links that are not throttled, got: --link with "
              "--gpu-transport=",
              choice == Choice::Nccl ? "nccl" : "peer",
              "; use --gpu-transport=host");
    if (choice == Choice::Peer && options.peers)
      invalid("expected one process for --gpu-transport=peer, got: several; "
              "use nccl or host");
    std::vector<DeviceGpu> devices;
    bool shares = false;
    for (const DevicePlace &place : options.places) {
      const Gpu &gpu = gpuOf(place);
      shares |= place.devicesPerGpu > 1 && options.peers;
      for (const DeviceGpu &other : devices)
        shares |= other.gpu == &gpu;
      devices.push_back({place.number, &gpu});
    }
    if (choice == Choice::Auto) {
      choice = Choice::Nccl;
      if (options.isThrottled || options.devices < 2)
        choice = Choice::Host;
      else if (options.peers && shares)
        choice = Choice::Host;
      else if (!options.peers && (shares || !hasNccl()))
        choice = Choice::Peer;
    }
    if (choice == Choice::Peer)
      return makePeerTransport(options);
    if (choice == Choice::Nccl)
      return makeNcclTransport(options, devices);
    return nullptr;
  }

private:
  static const Gpu &gpuOf(const DevicePlace &place) {
    const std::vector<Gpu> &all = gpus();
    auto count = static_cast<uint32_t>(all.size());
    uint32_t perGpu = std::max(place.devicesPerGpu, 1U);
    // A launcher may show every process GPUs of its own, or all of them.
    bool seesAll = uint64_t{count} * perGpu >= place.hostDevices;
    uint32_t index = (seesAll ? place.onHost : place.inProcess) / perGpu;
    uint32_t needed = seesAll ? place.hostDevices : place.processDevices;
    if (index >= count)
      invalid("expected a GPU for each of ", needed, " devices, got: ", count,
              count == 1 ? " GPU" : " GPUs",
              "; run with --devices-per-gpu=", (needed + count - 1) / count,
              " to share them, or in more processes");
    return all[index];
  }
};
} // namespace

extern "C" const Backend *soap_backend(const char *runtime) {
  static const CudaBackend backend;
  return std::strcmp(runtime, SOAP_VERSION) == 0 ? &backend : nullptr;
}
