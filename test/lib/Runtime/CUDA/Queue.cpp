//===- Queue.cpp - Streams, events and graphs of the stand-in -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Queue.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace soap;
using namespace soap::standin;

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

/// All queues, guarded by the scheduler's mutex.
static std::vector<Queue *> &allQueues() {
  static auto *queues = new std::vector<Queue *>;
  return *queues;
}

static uint64_t seed() {
  const char *text = std::getenv("SOAP_EMULATED_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

Queue::Queue(int gpu, uint32_t number)
    : gpu_(gpu), number_(number), actor_(seed(), number) {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    scheduler.add(actor_);
    allQueues().push_back(this);
  }
  thread_ = std::thread([this] { work(); });
}

Queue::~Queue() {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    isStopping_ = true;
    idle_.notify_all();
  }
  thread_.join();
  Scheduler::Lock lock(scheduler.mutex);
  scheduler.remove(actor_);
  auto &all = allQueues();
  all.erase(std::find(all.begin(), all.end(), this));
}

void Queue::work() {
  Scheduler &scheduler = Scheduler::get();
  Scheduler::setCurrent(&actor_);
  Scheduler::Lock lock(scheduler.mutex);
  while (true) {
    idle_.wait(lock, [&] { return isStopping_ || ended_ != released_; });
    if (ended_ == released_)
      return;
    scheduler.begin(lock, actor_);
    Command command = queue_.front();
    lock.unlock();
    command();
    lock.lock();
    queue_.pop_front();
    ++ended_;
    scheduler.end(actor_, ended_ != released_);
    idle_.notify_all();
  }
}

void Queue::add(Command command) {
  Scheduler::Lock lock(Scheduler::get().mutex);
  queue_.push_back(std::move(command));
  ++enqueued_;
}

std::vector<Capture::Node> &Queue::lane() {
  auto &queues = capture_->queues;
  auto at = std::find(queues.begin(), queues.end(), this) - queues.begin();
  return capture_->lanes[static_cast<size_t>(at)];
}

void Queue::push(Command command) {
  if (capture_)
    lane().push_back({Capture::Node::Run, std::move(command), 0});
  else
    add(std::move(command));
}

CUresult Queue::record(Event &event) {
  if (capture_) {
    event.capture = capture_;
    event.record = capture_->records++;
    lane().push_back({Capture::Node::Record, {}, event.record});
    return CUDA_SUCCESS;
  }
  event.capture = nullptr;
  event.queue = this;
  {
    Scheduler::Lock lock(Scheduler::get().mutex);
    ++event.enqueued;
  }
  add([&event] {
    Scheduler::Lock lock(Scheduler::get().mutex);
    event.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count();
    ++event.ended;
    Scheduler::get().changed();
  });
  return CUDA_SUCCESS;
}

/// The captures that have begun and not ended, guarded by the scheduler's
/// mutex: the threads of several devices capture at one time.
static std::vector<const Capture *> &openCaptures() {
  static auto *captures = new std::vector<const Capture *>;
  return *captures;
}

static bool isOpen(const Capture *capture) {
  Scheduler::Lock lock(Scheduler::get().mutex);
  const auto &open = openCaptures();
  return std::find(open.begin(), open.end(), capture) != open.end();
}

CUresult Queue::wait(Event &event) {
  if (event.capture && !isOpen(event.capture))
    return CUDA_ERROR_CAPTURED_EVENT;
  if (event.capture && !capture_) {
    // The stream takes part in the capture from now on.
    capture_ = event.capture;
    capture_->queues.push_back(this);
    capture_->lanes.emplace_back();
  }
  if (capture_) {
    if (event.capture != capture_)
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    lane().push_back({Capture::Node::Wait, {}, event.record});
    return CUDA_SUCCESS;
  }
  uint64_t target;
  {
    Scheduler::Lock lock(Scheduler::get().mutex);
    target = event.enqueued;
  }
  add([&event, target] {
    Scheduler::get().waitFor([&] { return event.ended >= target; });
  });
  return CUDA_SUCCESS;
}

void Queue::waitFor(std::shared_ptr<std::vector<std::atomic<bool>>> flags,
                    size_t index) {
  add([flags = std::move(flags), index] {
    Scheduler::get().waitFor([&] { return (*flags)[index].load(); });
  });
}

/// Lets all that is enqueued on a GPU begin; the scheduler's mutex is held.
void Queue::release(int gpu) {
  std::vector<Actor *> ready;
  for (Queue *queue : allQueues()) {
    if (queue->gpu_ != gpu)
      continue;
    queue->released_ = queue->enqueued_;
    if (queue->ended_ == queue->released_)
      continue;
    ready.push_back(&queue->actor_);
    queue->idle_.notify_all();
  }
  Scheduler::get().makeReady(ready);
}

void Queue::releaseAll() {
  for (Queue *queue : allQueues())
    release(queue->gpu_);
}

CUresult Queue::synchronize() {
  if (capture_)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Scheduler &scheduler = Scheduler::get();
  Scheduler::Lock lock(scheduler.mutex);
  release(gpu_);
  uint64_t target = enqueued_;
  scheduler.waitOnHost(
      lock, idle_, [&] { return ended_ >= target; }, releaseAll);
  return failureOf(gpu_);
}

CUresult Queue::query() {
  if (capture_)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Scheduler::Lock lock(Scheduler::get().mutex);
  release(gpu_);
  if (CUresult failure = failureOf(gpu_))
    return failure;
  return ended_ == enqueued_ ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

CUresult Queue::beginCapture() {
  if (capture_)
    return CUDA_ERROR_ILLEGAL_STATE;
  own_ = std::make_unique<Capture>();
  own_->origin = this;
  own_->queues = {this};
  own_->lanes.resize(1);
  capture_ = own_.get();
  Scheduler::Lock lock(Scheduler::get().mutex);
  openCaptures().push_back(capture_);
  return CUDA_SUCCESS;
}

/// True if every other stream's last captured command is a record that some
/// stream of the capture waits for.
static bool isJoined(const Capture &capture) {
  std::vector<bool> awaited(capture.records, false);
  for (const auto &lane : capture.lanes)
    for (const Capture::Node &node : lane)
      if (node.kind == Capture::Node::Wait)
        awaited[node.record] = true;
  return std::all_of(capture.lanes.begin() + 1, capture.lanes.end(),
                     [&](const auto &lane) {
                       return lane.back().kind == Capture::Node::Record &&
                              awaited[lane.back().record];
                     });
}

CUresult Queue::endCapture(std::unique_ptr<Capture> &capture) {
  if (!own_)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  capture = std::move(own_);
  {
    Scheduler::Lock lock(Scheduler::get().mutex);
    auto &open = openCaptures();
    open.erase(std::find(open.begin(), open.end(), capture.get()));
  }
  for (Queue *queue : capture->queues)
    queue->capture_ = nullptr;
  if (!isJoined(*capture)) {
    capture.reset();
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  return CUDA_SUCCESS;
}

Executable::Executable(const Capture &capture, int gpu) : capture_(capture) {
  for (size_t i = 1; i < capture.lanes.size(); ++i)
    queues_.push_back(std::make_unique<Queue>(gpu, 1000 + i));
}

void Executable::launch(Queue &queue) {
  // The last flag says that the launch has begun.
  size_t begun = capture_.records;
  auto flags =
      std::make_shared<std::vector<std::atomic<bool>>>(capture_.records + 1);
  auto set = [flags](size_t index) {
    return [flags, index] {
      Scheduler::Lock lock(Scheduler::get().mutex);
      (*flags)[index] = true;
      Scheduler::get().changed();
    };
  };
  queue.push(set(begun));
  for (size_t i = 0; i != capture_.lanes.size(); ++i) {
    Queue &own = i == 0 ? queue : *queues_[i - 1];
    if (i != 0)
      own.waitFor(flags, begun);
    for (const Capture::Node &node : capture_.lanes[i])
      switch (node.kind) {
      case Capture::Node::Run:
        own.push(node.command);
        break;
      case Capture::Node::Record:
        own.push(set(node.record));
        break;
      case Capture::Node::Wait:
        own.waitFor(flags, node.record);
        break;
      }
  }
}

std::atomic<CUresult> &standin::failureOf(int gpu) {
  static std::atomic<CUresult> failures[64] = {};
  return failures[gpu];
}

void standin::log(const std::string &line) {
  static const char *const name = std::getenv("SOAP_CUDA_LOG");
  static std::FILE *const file = name ? std::fopen(name, "a") : nullptr;
  if (!file)
    return;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

bool standin::isIdle() {
  static const bool isSet = std::getenv("SOAP_CUDA_IDLE") != nullptr;
  return isSet;
}
