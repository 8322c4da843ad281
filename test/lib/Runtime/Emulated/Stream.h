//===- Stream.h - Streams and devices that run by themselves -----*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_STREAM_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_STREAM_H

#include "Backend/Backend.h"
#include "Scheduler.h"
#include <deque>
#include <exception>
#include <thread>

namespace soap::emulated {

class Device;
using Command = std::function<void()>;
using CommandPtr = std::shared_ptr<const Command>;

class EmulatedEvent final : public runtime::Event {
public:
  /// Guarded by the scheduler's mutex.
  uint64_t records = 0, waits = 0;
};

/// A queue that a thread of its own works off. Commands begin to run when the
/// host synchronizes a stream of the device: the latest that a device may do
/// so, and all that the host can know.
class EmulatedStream final : public runtime::Stream {
public:
  EmulatedStream(Device &device, uint64_t seed, uint32_t number);
  ~EmulatedStream() override;

  void copy(const runtime::StridedCopy &box, runtime::DevicePointer from,
            runtime::DevicePointer to) override;
  void copyFromHost(const runtime::StridedCopy &box, const char *from,
                    runtime::DevicePointer to) override;
  void copyToHost(const runtime::StridedCopy &box, runtime::DevicePointer from,
                  char *to) override;
  void fill(runtime::DevicePointer to, uint64_t bytes,
            const std::vector<uint8_t> &pattern) override;
  void call(runtime::HostCall &call) override;
  void stamp(int64_t &time) override;
  void record(runtime::Event &event) override;
  void wait(runtime::Event &event) override;
  bool hasFailed() const override;
  void synchronize() override;

  /// Enqueues or captures a command.
  void push(Command command);
  const Device &owner() const { return device_; }
  /// A stream of the CPU backend, which runs its kernels where they are
  /// enqueued.
  runtime::Stream &kernelStream() { return *kernels_; }
  /// Where commands find what a pointer addresses.
  char *at(runtime::DevicePointer pointer) const;

private:
  friend class Device;
  friend class EmulatedGraph;
  void work();

  Device &device_;
  std::unique_ptr<runtime::Stream> kernels_;
  Actor actor_;
  /// Guarded by the scheduler's mutex.
  std::deque<CommandPtr> queue_;
  uint64_t enqueued_ = 0, released_ = 0,
           ended_ = 0; ///< Commands since the start.
  std::exception_ptr failure_;
  bool isStopping_ = false;
  std::condition_variable idle_;

  bool isCapturing_ = false;
  std::vector<CommandPtr> captured_;
  std::thread thread_;
};

class Device final : public runtime::BackendDevice {
public:
  Device(uint32_t number, const runtime::Backend &cpu);
  ~Device() override;

  runtime::DevicePointer allocate(uint64_t bytes) override;
  void free(runtime::DevicePointer block, uint64_t bytes) override;
  std::unique_ptr<runtime::Stream> makeStream(runtime::Patience patience,
                                              bool hasPriority) override;
  std::unique_ptr<runtime::Event> makeEvent() override;
  std::unique_ptr<runtime::Kernel>
  makeKernel(const fb::Kernel &kernel, const std::vector<bool> &constant,
             const runtime::NativeCode &native) override;
  void beginCapture() override;
  std::unique_ptr<runtime::Graph> endCapture() override;

  uint32_t number() const { return number_; }

private:
  friend class EmulatedStream;
  friend class EmulatedGraph;
  /// Lets all that is enqueued begin; the scheduler's mutex is held.
  void release();
  static void releaseAll();

  uint32_t number_;
  const runtime::Backend &cpu_;
  std::unique_ptr<runtime::BackendDevice> kernelDevice_; ///< Of the CPU.
  uint64_t seed_;
  std::vector<EmulatedStream *> streams_;
};

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_STREAM_H
