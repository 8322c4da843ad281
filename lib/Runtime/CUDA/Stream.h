//===- Stream.h - A stream of a GPU -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_STREAM_H
#define SOAP_LIB_RUNTIME_CUDA_STREAM_H

#include "CUDA/Device.h"
#include "CUDA/HostCalls.h"
#include "CUDA/HostCopy.h"

namespace soap::runtime::cuda {

/// A stream that does not wait for the default one, with the GPU's greatest
/// priority or its least. Boxes that are not dense are copied by a kernel
/// within the device, and row by row from and to the host.
class CudaStream final : public Stream {
public:
  CudaStream(CudaDevice &device, bool hasPriority);
  ~CudaStream() override;

  void copy(const StridedCopy &box, DevicePointer from,
            DevicePointer to) override;
  void copyFromHost(const StridedCopy &box, const char *from,
                    DevicePointer to) override;
  void copyToHost(const StridedCopy &box, DevicePointer from,
                  char *to) override;
  /// Copies bytes from another GPU, or within this one.
  void copyFromPeer(const Gpu &other, DevicePointer from, DevicePointer to,
                    uint64_t bytes);
  void fill(DevicePointer to, uint64_t bytes,
            const std::vector<uint8_t> &pattern) override;
  void call(HostCall &call) override;
  void stamp(int64_t &time) override;
  void record(Event &event) override;
  void wait(Event &event) override;
  bool hasFailed() const override { return calls_.hasFailed(); }
  void synchronize() override;

  CUstream handle() const { return stream_; }
  CudaDevice &device() const { return device_; }
  const Gpu &gpu() const { return device_.gpu(); }
  /// Enqueues a kernel; `parameters` point to its arguments.
  void launch(CUfunction function, unsigned blocks, unsigned threads,
              void **parameters);

private:
  /// Throws what a call of the driver that enqueues `what` has failed with.
  void check(CUresult result, const char *what) const;
  /// The next copy of the step through memory that is locked; null where the
  /// driver copies from and to this memory of the host itself.
  HostCopy *throughLockedMemory(const StridedCopy &box, const char *host);
  void copyRows(const StridedCopy &box, CUmemorytype fromType, uintptr_t from,
                CUmemorytype toType, uintptr_t to);
  void copyRow(CUmemorytype fromType, uintptr_t from, CUmemorytype toType,
               uintptr_t to, uint64_t bytes);
  void writeStamps();
  /// Waits until all commands have ended; throws what the device's watch says.
  CUresult awaitEnd();

  CudaDevice &device_;
  CUstream stream_ = nullptr;
  HostCalls calls_;
  /// Of the commands since the last synchronize() the first `usedCopies_`.
  std::vector<std::unique_ptr<HostCopy>> copies_;
  size_t usedCopies_ = 0;
  /// Times that synchronize() writes, and the events that keep them; events are
  /// used again.
  std::vector<int64_t *> stamps_;
  std::vector<std::unique_ptr<CudaEvent>> timers_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_STREAM_H
