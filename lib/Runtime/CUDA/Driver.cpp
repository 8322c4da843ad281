//===- Driver.cpp - The driver of NVIDIA's GPUs ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Driver.h"
#include "CUDA/DynamicLibrary.h"

using namespace soap::runtime;
using namespace soap::runtime::cuda;

#define SOAP_TEXT(name) SOAP_TEXT_OF(name)
#define SOAP_TEXT_OF(name) #name

static const DynamicLibrary driverLibrary = {
    "the CUDA driver", "libcuda.so.1",
    kLeastDriver < 13000
        ? "install NVIDIA's driver 570 or newer (package nvidia-driver on "
          "Debian) on a machine with an NVIDIA GPU"
        : "install NVIDIA's driver 580 or newer (package nvidia-driver on "
          "Debian) on a machine with an NVIDIA GPU"};

std::string cuda::versionText(int version) {
  return text(version / 1000, '.', version % 1000 / 10);
}

static Driver loadDriver() {
  void *handle = openLibrary(driverLibrary);
  Driver driver;
  // The macros of cuda.h turn a name into that of its newest version, here and
  // where the function is called.
#define SOAP_CUDA_FUNCTION(name)                                               \
  driver.name = reinterpret_cast<decltype(driver.name)>(                       \
      findFunction(driverLibrary, handle, SOAP_TEXT(name)));
#include "CUDA/Driver.def"
  int version = 0;
  driver.cuDriverGetVersion(&version);
  if (version < kLeastDriver)
    invalid("expected a driver for CUDA ", versionText(kLeastDriver),
            " or newer, got: one for CUDA ", versionText(version), "; ",
            driverLibrary.cure);
  CUresult result = driver.cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char *name = nullptr;
    driver.cuGetErrorName(result, &name);
    invalid(
        "expected a GPU that the CUDA driver can use, got: ",
        name ? name : "an unknown error",
        result == CUDA_ERROR_NO_DEVICE
            ? "; see whether `nvidia-smi` lists one, and CUDA_VISIBLE_DEVICES"
            : "; see what `nvidia-smi` says");
  }
  return driver;
}

const Driver &cuda::driver() {
  // If loading throws, the next call tries again.
  static const Driver driver = loadDriver();
  return driver;
}

std::string cuda::errorText(CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  return runtime::text(name ? name : "error " + std::to_string(result), " (",
                       text ? text : "unknown to the driver", ')');
}

void Gpu::use() const {
  check(driver().cuCtxSetCurrent(context), "to use GPU ", ordinal);
}

void Gpu::reach(const Gpu &other) const {
  int can = 0;
  check(driver().cuDeviceCanAccessPeer(&can, device, other.device),
        "to tell whether GPU ", ordinal, " reaches GPU ", other.ordinal);
  if (!can)
    return;
  use();
  CUresult result = driver().cuCtxEnablePeerAccess(other.context, 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    check(result, "to let GPU ", ordinal, " reach GPU ", other.ordinal);
}

static std::vector<Gpu> findGpus() {
  const Driver &d = driver();
  int count = 0;
  check(d.cuDeviceGetCount(&count), "to count GPUs");
  if (count == 0)
    invalid("expected a GPU, got: none that this process sees; see "
            "CUDA_VISIBLE_DEVICES");
  std::vector<Gpu> gpus(static_cast<size_t>(count));
  for (int i = 0; i != count; ++i) {
    Gpu &gpu = gpus[static_cast<size_t>(i)];
    gpu.ordinal = i;
    check(d.cuDeviceGet(&gpu.device, i), "to find GPU ", i);
    char name[256] = "";
    check(d.cuDeviceGetName(name, sizeof(name), gpu.device),
          "to tell the name of GPU ", i);
    gpu.name = name;
    check(d.cuDeviceGetPCIBusId(name, sizeof(name), gpu.device),
          "to tell where GPU ", i, " is");
    gpu.busId = name;
    auto attribute = [&](CUdevice_attribute which) {
      int value = 0;
      check(d.cuDeviceGetAttribute(&value, which, gpu.device),
            "to describe GPU ", i);
      return value;
    };
    gpu.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    gpu.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    gpu.processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    size_t bytes = 0;
    check(d.cuDeviceTotalMem(&bytes, gpu.device), "to tell the memory of GPU ",
          i);
    gpu.memoryBytes = bytes;
    check(d.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device),
          "to make a context on GPU ", i);
  }
  return gpus;
}

const std::vector<Gpu> &cuda::gpus() {
  static const std::vector<Gpu> gpus = findGpus();
  return gpus;
}
