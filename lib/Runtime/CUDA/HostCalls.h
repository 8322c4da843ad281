//===- HostCalls.h - Calls of the host in a stream --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_HOSTCALLS_H
#define SOAP_LIB_RUNTIME_CUDA_HOSTCALLS_H

#include "CUDA/Device.h"
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace soap::runtime::cuda {

/// The host calls of one stream. The driver may run the host functions of all
/// streams on one thread, one after the other, but our calls wait for each
/// other. So a host function only wakes a thread of this stream, which runs the
/// call, and the stream waits for a word in memory that the thread sets.
class HostCalls {
public:
  explicit HostCalls(CudaDevice &device) : device_(device) {}
  ~HostCalls();
  HostCalls(const HostCalls &) = delete;

  /// Enqueues a call. Where the stream is captured, the call runs in the host
  /// function itself: it must not wait for calls of other streams. One that
  /// does wait for others, on a GPU that several devices share, has run when
  /// this returns: streams of one GPU may share a queue of it, in which a wait
  /// for another device would stand before what that device has to do.
  void enqueue(CUstream stream, HostCall &call);

  bool hasFailed() const;
  /// Throws the first failure since the last time.
  void rethrow();

private:
  struct Entry {
    HostCalls *owner;
    HostCall *call;
  };
  static void CUDA_CB wake(void *entry);
  static void CUDA_CB runHere(void *entry);
  void run(HostCall &call) noexcept;
  /// Likewise, on a thread that does not only run calls.
  void runInTurn(HostCall &call) noexcept;
  void work();
  Entry &entryOf(HostCall &call);

  CudaDevice &device_;
  std::unique_ptr<PinnedWord> done_;
  /// One per call, as a graph may run it again.
  std::map<HostCall *, std::unique_ptr<Entry>> entries_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  HostCall *next_ = nullptr; ///< What the thread is to run; it takes it.
  std::exception_ptr failure_;
  bool isStopping_ = false;
  std::thread thread_; ///< From the first call on.
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_HOSTCALLS_H
