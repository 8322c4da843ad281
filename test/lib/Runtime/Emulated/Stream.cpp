//===- Stream.cpp - Streams and devices that run by themselves ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stream.h"
#include "Memory.h"
#include "Settings.h"
#include <algorithm>
#include <chrono>

using namespace soap;
using namespace soap::emulated;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

EmulatedStream::EmulatedStream(Device &device, uint64_t seed, uint32_t number)
    : device_(device),
      kernels_(device.kernelDevice_->makeStream({}, /*hasPriority=*/false)),
      actor_(seed, number) {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    scheduler.add(actor_);
    device.streams_.push_back(this);
  }
  thread_ = std::thread([this] { work(); });
}

EmulatedStream::~EmulatedStream() {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    isStopping_ = true;
    idle_.notify_all();
  }
  thread_.join();
  Scheduler::Lock lock(scheduler.mutex);
  scheduler.remove(actor_);
  device_.streams_.erase(
      std::find(device_.streams_.begin(), device_.streams_.end(), this));
}

void EmulatedStream::work() {
  Scheduler &scheduler = Scheduler::get();
  Scheduler::setCurrent(&actor_);
  runsCommands() = true;
  device_.cpu_.useThreads(1);
  Scheduler::Lock lock(scheduler.mutex);
  while (true) {
    idle_.wait(lock, [&] { return isStopping_ || ended_ != released_; });
    // What has not been released when the stream goes away never runs.
    if (ended_ == released_)
      return;
    scheduler.begin(lock, actor_);
    CommandPtr command = queue_.front();
    lock.unlock();
    std::exception_ptr failed;
    try {
      (*command)();
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (failed && !failure_)
      failure_ = failed;
    queue_.pop_front();
    ++ended_;
    scheduler.end(actor_, ended_ != released_);
    idle_.notify_all();
  }
}

void EmulatedStream::push(Command command) {
  auto shared = std::make_shared<const Command>(std::move(command));
  if (isCapturing_) {
    captured_.push_back(std::move(shared));
    return;
  }
  Scheduler::Lock lock(Scheduler::get().mutex);
  queue_.push_back(std::move(shared));
  ++enqueued_;
}

char *EmulatedStream::at(DevicePointer pointer) const {
  return privateAddress(device_.number(), pointer);
}

void EmulatedStream::copy(const StridedCopy &box, DevicePointer from,
                          DevicePointer to) {
  push([&box, source = at(from), target = at(to)] {
    box.execute(source, target);
  });
}

void EmulatedStream::copyFromHost(const StridedCopy &box, const char *from,
                                  DevicePointer to) {
  push([&box, from, target = at(to)] { box.execute(from, target); });
}

void EmulatedStream::copyToHost(const StridedCopy &box, DevicePointer from,
                                char *to) {
  push([&box, source = at(from), to] { box.execute(source, to); });
}

void EmulatedStream::fill(DevicePointer to, uint64_t bytes,
                          const std::vector<uint8_t> &pattern) {
  push(
      [target = at(to), bytes, &pattern] { fillHost(target, bytes, pattern); });
}

void EmulatedStream::call(HostCall &call) {
  push([&call] { call.run(); });
}

void EmulatedStream::stamp(int64_t &time) {
  push([&time] {
    time = std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
               .count();
  });
}

void EmulatedStream::record(Event &event) {
  push([&own = static_cast<EmulatedEvent &>(event)] {
    Scheduler::Lock lock(Scheduler::get().mutex);
    ++own.records;
  });
}

void EmulatedStream::wait(Event &event) {
  push([&own = static_cast<EmulatedEvent &>(event)] {
    uint64_t target;
    {
      Scheduler::Lock lock(Scheduler::get().mutex);
      target = ++own.waits;
    }
    Scheduler::get().waitFor([&] { return own.records >= target; });
  });
}

bool EmulatedStream::hasFailed() const {
  Scheduler::Lock lock(Scheduler::get().mutex);
  return failure_ != nullptr;
}

void EmulatedStream::synchronize() {
  Scheduler &scheduler = Scheduler::get();
  Scheduler::Lock lock(scheduler.mutex);
  device_.release();
  uint64_t target = enqueued_;
  scheduler.waitOnHost(
      lock, idle_, [&] { return ended_ >= target; }, Device::releaseAll);
  if (failure_)
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace soap::emulated {
/// The commands of all streams of a device.
class EmulatedGraph final : public Graph {
public:
  explicit EmulatedGraph(std::vector<EmulatedStream *> streams)
      : streams_(std::move(streams)) {
    for (EmulatedStream *stream : this->streams_)
      commands_.push_back(std::move(stream->captured_));
  }
  void launch() override {
    Scheduler::Lock lock(Scheduler::get().mutex);
    for (size_t i = 0; i != streams_.size(); ++i) {
      EmulatedStream &stream = *streams_[i];
      stream.queue_.insert(stream.queue_.end(), commands_[i].begin(),
                           commands_[i].end());
      stream.enqueued_ += commands_[i].size();
    }
  }

private:
  std::vector<EmulatedStream *> streams_;
  std::vector<std::vector<CommandPtr>> commands_;
};
} // namespace soap::emulated

/// All devices, guarded by the scheduler's mutex.
static std::vector<Device *> &allDevices() {
  static auto *devices = new std::vector<Device *>;
  return *devices;
}

Device::Device(uint32_t number, const Backend &cpu)
    : number_(number), cpu_(cpu), kernelDevice_(cpu.makeDevice({})),
      seed_(Settings::fromEnvironment().seed) {
  Scheduler::Lock lock(Scheduler::get().mutex);
  allDevices().push_back(this);
}

Device::~Device() {
  Scheduler::Lock lock(Scheduler::get().mutex);
  auto &all = allDevices();
  all.erase(std::find(all.begin(), all.end(), this));
}

DevicePointer Device::allocate(uint64_t bytes) {
  return allocateBlock(number_, bytes);
}

void Device::free(DevicePointer block, uint64_t) { freeBlock(block); }

std::unique_ptr<Stream> Device::makeStream(Patience, bool /*hasPriority*/) {
  return std::make_unique<EmulatedStream>(
      *this, seed_, number_ * 16 + static_cast<uint32_t>(streams_.size()));
}

std::unique_ptr<Event> Device::makeEvent() {
  return std::make_unique<EmulatedEvent>();
}

void Device::beginCapture() {
  for (EmulatedStream *stream : streams_)
    stream->isCapturing_ = true;
}

std::unique_ptr<Graph> Device::endCapture() {
  for (EmulatedStream *stream : streams_)
    stream->isCapturing_ = false;
  return std::make_unique<EmulatedGraph>(streams_);
}

void Device::release() {
  std::vector<Actor *> ready;
  for (EmulatedStream *stream : streams_) {
    stream->released_ = stream->enqueued_;
    if (stream->ended_ == stream->released_)
      continue;
    ready.push_back(&stream->actor_);
    stream->idle_.notify_all();
  }
  Scheduler::get().makeReady(ready);
}

void Device::releaseAll() {
  for (Device *device : allDevices())
    device->release();
}
