//===- Device.h - A GPU, or a share of it, for one model --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_DEVICE_H
#define SOAP_LIB_RUNTIME_CUDA_DEVICE_H

#include "Backend/Backend.h"
#include "CUDA/Driver.h"
#include "CUDA/Watch.h"
#include <map>

namespace soap::runtime::cuda {

class CudaStream;

/// Memory of the host that is locked and that the GPU sees.
class PinnedWord {
public:
  explicit PinnedWord(const Gpu &gpu);
  ~PinnedWord();
  PinnedWord(const PinnedWord &) = delete;

  volatile uint32_t &value() { return *word_; }
  CUdeviceptr onDevice() const { return onDevice_; }

private:
  const Gpu &gpu_;
  uint32_t *word_ = nullptr;
  CUdeviceptr onDevice_ = 0;
};

/// PTX, compiled for one GPU by the driver.
class Module {
public:
  /// Throws SOAP_INVALID, with what the driver says, if it cannot compile it.
  /// `what` says whose code it is.
  Module(const Gpu &gpu, const char *ptx, const std::string &what);
  ~Module();
  Module(const Module &) = delete;
  /// Throws SOAP_INVALID if there is no such entry.
  CUfunction find(const std::string &entry) const;

private:
  const Gpu &gpu_;
  CUmodule module_ = nullptr;
};

class CudaEvent final : public Event {
public:
  /// `isTimed`: it keeps when it was recorded.
  CudaEvent(const Gpu &gpu, bool isTimed);
  ~CudaEvent() override;
  CUevent handle() const { return event_; }

private:
  const Gpu &gpu_;
  CUevent event_ = nullptr;
};

class CudaDevice final : public BackendDevice {
public:
  CudaDevice(const Gpu &gpu, const DevicePlace &place)
      : gpu_(gpu), place_(place) {}

  DevicePointer allocate(uint64_t bytes) override;
  void free(DevicePointer block, uint64_t bytes) override;
  void pin(char *host, uint64_t bytes) override;
  void unpin(char *host) override;
  std::unique_ptr<Stream> makeStream(Patience patience,
                                     bool hasPriority) override;
  std::unique_ptr<Event> makeEvent() override;
  std::unique_ptr<Kernel> makeKernel(const fb::Kernel &kernel,
                                     const std::vector<bool> &constant,
                                     const NativeCode &native) override;
  void beginCapture() override;
  std::unique_ptr<Graph> endCapture() override;

  const Gpu &gpu() const { return gpu_; }
  const DevicePlace &place() const { return place_; }
  /// True if memory of the host from there on was locked by pin().
  bool isPinned(const char *host) const;
  bool isCapturing() const { return isCapturing_; }
  /// "device 2 (GPU 0, NVIDIA H200)"
  std::string name() const;
  /// The native kernels of a model, compiled at the first call. The code
  /// outlives the device. Throws SOAP_INVALID if the GPU is too old for it.
  const Module &module(const fb::DeviceCode &code);
  /// @{ What waits for its streams look at; null: nothing. Set before the first
  /// command that waits for other devices.
  void setWatch(std::shared_ptr<StreamWatch> watch) {
    watch_ = std::move(watch);
  }
  StreamWatch *watch() const { return watch_.get(); }
  /// @}

private:
  friend class CudaStream;

  const Gpu &gpu_;
  DevicePlace place_;
  std::shared_ptr<StreamWatch> watch_;
  std::vector<CudaStream *> streams_;
  std::map<const char *, uint64_t> pinned_; ///< Bytes, by the first one.
  std::map<const fb::DeviceCode *, std::unique_ptr<Module>> modules_;
  /// Of the capture that begins or has ended, in which all streams take part.
  std::vector<std::unique_ptr<CudaEvent>> forks_;
  bool isCapturing_ = false;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_DEVICE_H
