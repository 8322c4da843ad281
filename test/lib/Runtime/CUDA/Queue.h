//===- Queue.h - Streams, events and graphs of the stand-in -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_CUDA_QUEUE_H
#define SOAP_TEST_LIB_RUNTIME_CUDA_QUEUE_H

#include "Emulated/Scheduler.h"
#include <atomic>
#include <cuda.h>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace soap::standin {

using emulated::Actor;
using emulated::Scheduler;
using Command = std::function<void()>;

struct Capture;
class Queue;

/// An event. A wait is for the records that are enqueued when it is.
struct Event {
  uint64_t enqueued = 0, ended = 0; ///< Guarded by the scheduler's mutex.
  int64_t time = 0;                 ///< Of the last record: ns.
  Queue *queue = nullptr;           ///< That of the last record.
  Capture *capture = nullptr;       ///< That the last record belongs to.
  size_t record = 0;                ///< Its number there.
};

/// What streams do while they are captured.
struct Capture {
  struct Node {
    enum Kind { Run, Record, Wait } kind;
    Command command;
    size_t record; ///< Of Record and Wait.
  };
  Queue *origin = nullptr;
  std::vector<Queue *> queues; ///< The origin first.
  std::vector<std::vector<Node>> lanes;
  size_t records = 0;
};

/// A stream that a thread works off. Its commands begin when the host waits for
/// anything on its GPU: the latest that it may, and all that the host can know.
class Queue {
public:
  Queue(int gpu, uint32_t number);
  ~Queue();

  /// Enqueues or captures a command.
  void push(Command command);
  CUresult record(Event &event);
  CUresult wait(Event &event);
  CUresult synchronize();
  CUresult query();

  CUresult beginCapture();
  CUresult endCapture(std::unique_ptr<Capture> &capture);

  int gpu() const { return gpu_; }
  uint32_t number() const { return number_; }
  bool isCaptured() const { return capture_ != nullptr; }

  /// Enqueues a command that waits until an atomic is set.
  void waitFor(std::shared_ptr<std::vector<std::atomic<bool>>> flags,
               size_t index);

private:
  void work();
  void add(Command command);
  std::vector<Capture::Node> &lane();
  static void release(int gpu);
  static void releaseAll();

  int gpu_;
  uint32_t number_;
  Actor actor_;
  /// Guarded by the scheduler's mutex.
  std::deque<Command> queue_;
  uint64_t enqueued_ = 0, released_ = 0, ended_ = 0;
  bool isStopping_ = false;
  std::condition_variable idle_;
  Capture *capture_ = nullptr;
  std::unique_ptr<Capture> own_; ///< If it is the origin.
  std::thread thread_;
};

/// A graph that can be launched: a queue for every lane but the first one.
class Executable {
public:
  Executable(const Capture &capture, int gpu);
  void launch(Queue &queue);

private:
  const Capture &capture_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

/// The first command of a GPU that has failed: all calls return it from then
/// on, as the driver's do.
std::atomic<CUresult> &failureOf(int gpu);

/// Appends a line to the file that SOAP_CUDA_LOG names, if it does.
void log(const std::string &line);

/// SOAP_CUDA_IDLE is set: commands are enqueued and end, but compute and copy
/// nothing, for tests of what measures them.
bool isIdle();

} // namespace soap::standin

#endif // SOAP_TEST_LIB_RUNTIME_CUDA_QUEUE_H
