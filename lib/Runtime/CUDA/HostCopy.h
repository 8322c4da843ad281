//===- HostCopy.h - Copies of host memory that is not locked ----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver copies from and to memory that is not locked while the caller
// waits: until the stream comes there, and other threads cannot enqueue
// meanwhile. If the stream waits for another device of the process, whose
// thread has not enqueued all yet, neither goes on. So such a copy goes through
// memory that is locked: the GPU copies one half of the way, and a host call of
// the stream the other.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_HOSTCOPY_H
#define SOAP_LIB_RUNTIME_CUDA_HOSTCOPY_H

#include "CUDA/Device.h"

namespace soap::runtime::cuda {

/// One copy of a step: the half of the way between memory of the host that is
/// locked and other memory of the host. Used again by later steps.
class HostCopy final : public HostCall {
public:
  explicit HostCopy(const Gpu &gpu) : gpu_(gpu) {}
  ~HostCopy() override;
  HostCopy(const HostCopy &) = delete;

  /// What the GPU copies: to or from data(), where the bytes are dense.
  StridedCopy prepareToHost(const StridedCopy &box, char *to);
  StridedCopy prepareFromHost(const StridedCopy &box, const char *from);
  char *data() const { return data_; }
  void run() override;

private:
  /// Locks so much memory.
  void need(uint64_t bytes);

  const Gpu &gpu_;
  std::vector<char *> blocks_; ///< All that were locked, the last one in use.
  char *data_ = nullptr;
  uint64_t bytes_ = 0;
  StridedCopy box_;
  const char *from_ = nullptr;
  char *to_ = nullptr;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_HOSTCOPY_H
