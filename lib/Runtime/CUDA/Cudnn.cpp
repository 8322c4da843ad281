//===- Cudnn.cpp - cuDNN, the library of convolutions ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Cudnn.h"
#include "CUDA/DynamicLibrary.h"
#include <atomic>
#include <map>

using namespace soap::runtime;
using namespace soap::runtime::cuda;

#define SOAP_TEXT(name) SOAP_TEXT_OF(name)
#define SOAP_TEXT_OF(name) #name

static const DynamicLibrary cudnnLibrary = {
    "cuDNN", "libcudnn.so." SOAP_TEXT(CUDNN_MAJOR),
    "install cuDNN " SOAP_TEXT(CUDNN_MAJOR) " (package libcudnn" SOAP_TEXT(
        CUDNN_MAJOR) "-cuda-13 of NVIDIA's repository, or nvidia-cudnn-cu13 of "
                     "PyPI), where the loader finds it (LD_LIBRARY_PATH)"};

static std::atomic<size_t> &loadedVersion() {
  static std::atomic<size_t> version{0};
  return version;
}

/// "9.1.0" of 90100.
static std::string versionOf(size_t version) {
  return text(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

static Cudnn loadCudnn() {
  void *handle = openLibrary(cudnnLibrary);
  Cudnn cudnn;
#define SOAP_CUDNN_FUNCTION(name)                                              \
  cudnn.name = reinterpret_cast<decltype(cudnn.name)>(                         \
      findFunction(cudnnLibrary, handle, #name));
#include "CUDA/Cudnn.def"
  size_t version = cudnn.cudnnGetVersion();
  constexpr size_t least = CUDNN_MAJOR * 10000;
  if (version < least)
    invalid("expected cuDNN ", versionOf(least),
            " or newer, got: ", versionOf(version), "; ", cudnnLibrary.cure);
  loadedVersion() = version;
  return cudnn;
}

const Cudnn &cuda::cudnn() {
  // If loading throws, the next call tries again.
  static const Cudnn cudnn = loadCudnn();
  return cudnn;
}

std::string cuda::cudnnName() {
  size_t version = loadedVersion();
  return version ? "cuDNN " + versionOf(version) : std::string();
}

void cuda::checkCudnn(cudnnStatus_t status, const char *what) {
  if (status == CUDNN_STATUS_SUCCESS)
    return;
  char detail[512] = "";
  cudnn().cudnnGetLastErrorString(detail, sizeof(detail));
  failed("expected cuDNN ", what,
         ", got: ", cudnn().cudnnGetErrorString(status), *detail ? " (" : "",
         detail, *detail ? ")" : "",
         "; CUDNN_LOGLEVEL_DBG=3 in the environment shows what it does");
}

cudnnHandle_t cuda::cudnnHandle(const Gpu &gpu) {
  // A handle belongs to one thread. It is never released: the driver may end
  // before the thread does.
  static thread_local auto *handles = new std::map<int, cudnnHandle_t>;
  cudnnHandle_t &handle = (*handles)[gpu.ordinal];
  if (!handle) {
    gpu.use();
    checkCudnn(cudnn().cudnnCreate(&handle), "to begin on a GPU");
  }
  return handle;
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  checkCudnn(cudnn().cudnnBackendCreateDescriptor(type, &handle_),
             "to make a descriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_)
    cudnn().cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type,
                          const void *elements, size_t count) {
  checkCudnn(cudnn().cudnnBackendSetAttribute(
                 handle_, name, type, static_cast<int64_t>(count), elements),
             "to take a description");
}

void CudnnDescriptor::finalize() {
  checkCudnn(cudnn().cudnnBackendFinalize(handle_), "to take a description");
}

bool CudnnDescriptor::tryFinalize() {
  return cudnn().cudnnBackendFinalize(handle_) == CUDNN_STATUS_SUCCESS;
}
