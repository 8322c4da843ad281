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
    : device(device), kernels(device.kernelDevice->makeStream(0)),
      actor(seed, number) {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    scheduler.add(actor);
    device.streams.push_back(this);
  }
  thread = std::thread([this] { work(); });
}

EmulatedStream::~EmulatedStream() {
  Scheduler &scheduler = Scheduler::get();
  {
    Scheduler::Lock lock(scheduler.mutex);
    isStopping = true;
    idle.notify_all();
  }
  thread.join();
  Scheduler::Lock lock(scheduler.mutex);
  scheduler.remove(actor);
  device.streams.erase(
      std::find(device.streams.begin(), device.streams.end(), this));
}

void EmulatedStream::work() {
  Scheduler &scheduler = Scheduler::get();
  Scheduler::setCurrent(&actor);
  runsCommands() = true;
  device.cpu.useThreads(1);
  Scheduler::Lock lock(scheduler.mutex);
  while (true) {
    idle.wait(lock, [&] { return isStopping || ended != released; });
    // What has not been released when the stream goes away never runs.
    if (ended == released)
      return;
    scheduler.begin(lock, actor);
    CommandPtr command = queue.front();
    lock.unlock();
    std::exception_ptr failed;
    try {
      (*command)();
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (failed && !failure)
      failure = failed;
    queue.pop_front();
    ++ended;
    scheduler.end(actor, ended != released);
    idle.notify_all();
  }
}

void EmulatedStream::push(Command command) {
  auto shared = std::make_shared<const Command>(std::move(command));
  if (isCapturing) {
    captured.push_back(std::move(shared));
    return;
  }
  Scheduler::Lock lock(Scheduler::get().mutex);
  queue.push_back(std::move(shared));
  ++enqueued;
}

char *EmulatedStream::at(DevicePointer pointer) const {
  return privateAddress(device.number(), pointer);
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
  return failure != nullptr;
}

void EmulatedStream::synchronize() {
  Scheduler &scheduler = Scheduler::get();
  Scheduler::Lock lock(scheduler.mutex);
  device.release();
  uint64_t target = enqueued;
  scheduler.waitOnHost(
      lock, idle, [&] { return ended >= target; }, Device::releaseAll);
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace soap::emulated {
/// The commands of all streams of a device.
class EmulatedGraph final : public Graph {
public:
  explicit EmulatedGraph(std::vector<EmulatedStream *> streams)
      : streams(std::move(streams)) {
    for (EmulatedStream *stream : this->streams)
      commands.push_back(std::move(stream->captured));
  }
  void launch() override {
    Scheduler::Lock lock(Scheduler::get().mutex);
    for (size_t i = 0; i != streams.size(); ++i) {
      EmulatedStream &stream = *streams[i];
      stream.queue.insert(stream.queue.end(), commands[i].begin(),
                          commands[i].end());
      stream.enqueued += commands[i].size();
    }
  }

private:
  std::vector<EmulatedStream *> streams;
  std::vector<std::vector<CommandPtr>> commands;
};
} // namespace soap::emulated

/// All devices, guarded by the scheduler's mutex.
static std::vector<Device *> &allDevices() {
  static auto *devices = new std::vector<Device *>;
  return *devices;
}

Device::Device(uint32_t number, const Backend &cpu)
    : id(number), cpu(cpu), kernelDevice(cpu.makeDevice(number)),
      seed(Settings::fromEnvironment().seed) {
  Scheduler::Lock lock(Scheduler::get().mutex);
  allDevices().push_back(this);
}

Device::~Device() {
  Scheduler::Lock lock(Scheduler::get().mutex);
  auto &all = allDevices();
  all.erase(std::find(all.begin(), all.end(), this));
}

DevicePointer Device::allocate(uint64_t bytes) {
  return allocateBlock(id, bytes);
}

void Device::free(DevicePointer block, uint64_t) { freeBlock(block); }

std::unique_ptr<Stream> Device::makeStream(unsigned) {
  return std::make_unique<EmulatedStream>(
      *this, seed, id * 16 + static_cast<uint32_t>(streams.size()));
}

std::unique_ptr<Event> Device::makeEvent() {
  return std::make_unique<EmulatedEvent>();
}

void Device::beginCapture() {
  for (EmulatedStream *stream : streams)
    stream->isCapturing = true;
}

std::unique_ptr<Graph> Device::endCapture() {
  for (EmulatedStream *stream : streams)
    stream->isCapturing = false;
  return std::make_unique<EmulatedGraph>(streams);
}

void Device::release() {
  std::vector<Actor *> ready;
  for (EmulatedStream *stream : streams) {
    stream->released = stream->enqueued;
    if (stream->ended == stream->released)
      continue;
    ready.push_back(&stream->actor);
    stream->idle.notify_all();
  }
  Scheduler::get().makeReady(ready);
}

void Device::releaseAll() {
  for (Device *device : allDevices())
    device->release();
}
