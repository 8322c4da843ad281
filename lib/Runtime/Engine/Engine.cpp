//===- Engine.cpp - Runs the steps of a model -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Engine.h"
#include "Model/Check.h"
#include "Process/HostShare.h"
#include "Transport/Staged.h"
#include "Transport/Throttle.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace soap;
using namespace soap::runtime;

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

namespace {
/// All of the program. When it exits, their steps end first: they use tensors
/// of the program, and what connects its processes, which end then, too.
struct LiveEngines {
  std::mutex mutex;
  std::vector<Engine *> all;
  pid_t process = getpid(); ///< Not one that it forks, which has no steps.

  static LiveEngines &get() {
    static auto *engines = new LiveEngines;
    return *engines;
  }
  void add(Engine *engine) {
    static const int atEnd = std::atexit(restAll);
    (void)atEnd;
    if (engine->processes()) {
      // Again, to come before the end of what connects the processes.
      static const int beforeOthers = std::atexit(restAll);
      (void)beforeOthers;
    }
    std::lock_guard<std::mutex> lock(mutex);
    all.push_back(engine);
  }
  void remove(Engine *engine) {
    std::lock_guard<std::mutex> lock(mutex);
    all.erase(std::remove(all.begin(), all.end(), engine), all.end());
  }
  static void restAll();
};
} // namespace

void LiveEngines::restAll() {
  LiveEngines &engines = get();
  // A kernel that ends the program does not wait for its own step.
  if (runsCommands() || getpid() != engines.process)
    return;
  std::lock_guard<std::mutex> lock(engines.mutex);
  for (Engine *engine : engines.all)
    if (!engine->processes() || !engine->processes()->hasFailed())
      engine->rest();
}

Engine::Engine(std::shared_ptr<const CompiledModel> model,
               const EngineOptions &options)
    : compiled(std::move(model)), observer(options.observer),
      group(options.group) {
  agree(group.get(), [&] {
    placement = placeDevices(compiled->table().devices()->size(), options.map,
                             group.get());
    // Before threads are started: it may be missing.
    backend = &findBackend(toString(compiled->table().target()));
    std::string weightsPath = compiled->weightsPath();
    if (!weightsPath.empty())
      weights = std::make_unique<Safetensors>(
          MappedFile::open(weightsPath, "the weights of the model"));
  });
  place(options);
  try {
    agree(group.get(), [&] {
      makeDevices(options.link);
      startThreads();
    });
  } catch (...) {
    stopThreads();
    throw;
  }
  LiveEngines::get().add(this);
}

Engine::~Engine() {
  stopThreads();
  LiveEngines::get().remove(this);
  if (!group || !group->hasFailed())
    return;
  // Messages of the step that failed may still come to these.
  for (auto &device : all)
    (void)device.release();
  for (auto *sides : {&feedSources, &drainTargets})
    for (auto &side : *sides)
      (void)side.release();
  (void)new Arena(std::move(staging));
}

/// Cores per device as a model says; 0: an even share of those of `devices`, of
/// which the model may use but some.
static size_t coresPerDevice(const fb::Model &table, size_t devices,
                             size_t allowed) {
  size_t used = table.devices()->size(), all = table.machine_devices();
  if (table.cores_per_device() != 0 || all <= used)
    return table.cores_per_device();
  return std::max<size_t>(1, allowed * used / (devices * all));
}

/// Gives this process's devices their share of its host.
void Engine::place(const EngineOptions &options) {
  const fb::Model &table = compiled->table();
  size_t perDevice = options.coresPerDevice ? options.coresPerDevice
                                            : table.cores_per_device();
  std::string same = text(toString(table.fingerprint()), ' ',
                          std::hash<std::string>()(toString(table.strategy())),
                          ' ', perDevice);
  if (options.link)
    same += text(' ', options.link->bandwidth, ' ', options.link->latencyNs);
  for (const fb::Device *device : items(table.devices()))
    same += ' ' + std::to_string(items(device->main()).size());
  for (uint32_t rank : placement.rankOf)
    same += ' ' + std::to_string(rank);
  std::vector<int> allowed = allowedCores();
  HostShare share =
      shareHost(group.get(), placement, allowed, neededMemory(), same);
  agree(group.get(), [&] {
    uint64_t available = backend->availableMemory();
    if (share.neededBytes > available)
      invalid("expected ", share.neededBytes >> 20,
              " MiB of free memory, got: ", available >> 20,
              " MiB; compile with a smaller --batch, or free memory");
    split = splitCores(
        share.devices,
        perDevice ? perDevice
                  : coresPerDevice(table, share.devices, allowed.size()),
        allowed);
  });
  if (!split.warning.empty() && options.warning)
    options.warning(split.warning);
  size_t count = placement.localDevices().size();
  for (auto *cores : {&split.compute, &split.communication})
    *cores = std::vector<std::vector<int>>(
        cores->begin() + static_cast<std::ptrdiff_t>(share.firstDevice),
        cores->begin() +
            static_cast<std::ptrdiff_t>(share.firstDevice + count));
}

/// The largest parameter that a library kernel may want in another layout:
/// while a model loads, one of them exists twice.
static uint64_t largestConstantOperand(const fb::Device &device) {
  uint64_t bytes = 0;
  for (const fb::Row *row : items(device.main()))
    if (const auto *launch = row->body_as_Launch())
      for (uint32_t operand : items(launch->constant_operands()))
        bytes = std::max(
            bytes,
            device.buffers()->Get(launch->operands()->Get(operand))->bytes());
  return bytes;
}

uint64_t Engine::neededMemory() const {
  uint64_t needed = 0;
  auto add = [&](uint64_t bytes) {
    if (__builtin_add_overflow(needed, bytes, &needed))
      needed = UINT64_MAX;
  };
  for (uint32_t number : placement.localDevices()) {
    const fb::Device *device = compiled->table().devices()->Get(number);
    if (device->peak_bytes()) {
      add(device->peak_bytes());
      continue;
    }
    add(device->activation_bytes());
    add(device->parameter_bytes());
    add(largestConstantOperand(*device));
  }
  return needed;
}

void Engine::makeDevices(const std::optional<LinkSpeed> &link) {
  Meetings meetings = matchRows(compiled->table());
  channels = makeLocalChannels(split.transportSpins);
  HostLinks host;
  if (group) {
    host.number(compiled->table());
    host.group = group.get();
    // A look at MPI takes some ten times as long as one at memory.
    group->setSpins(split.transportSpins / 10);
    // A throttled link takes a channel back, too.
    host.firstChannel = uint64_t{meetings.channelCount} * (link ? 2 : 1);
    group->needChannels(host.firstChannel + host.count);
    channels = makeGroupChannels(std::move(channels), *group, placement);
  }
  if (link)
    channels = makeThrottledChannels(std::move(channels), *link,
                                     meetings.channelCount);
  transport = backend->makeTransport({*channels, !group, link.has_value()});
  if (!transport)
    transport = makeStagedTransport(*channels, backend->traits());
  Links links{meetings, *transport, *channels, host};
  for (uint32_t number : placement.localDevices())
    all.push_back(std::make_unique<Device>(number, compiled, *backend, links,
                                           split.streamSpins));
  if (group && placement.rank == 0)
    makeHostSides(host);
}

void Engine::makeHostSides(const HostLinks &links) {
  auto devices = items(compiled->table().devices());
  for (uint32_t d = 0; d != devices.size(); ++d) {
    if (placement.isLocal(d))
      continue;
    uint32_t rank = placement.rankOf[d], index = 0;
    for (const fb::Row *row : items(devices[d]->main())) {
      uint64_t channel = links.channelOf(d, index++);
      if (const auto *feed = row->body_as_Feed())
        feedSources.push_back(
            makeFeedSource(*feed, group->makeSender(channel, rank)));
      else if (const auto *drain = row->body_as_Drain())
        drainTargets.push_back(
            makeDrainTarget(*drain, group->makeReceiver(channel, rank)));
    }
  }
  // All feeds of a step are on their way at once, then all drains.
  auto bytesOf = [](const std::unique_ptr<HostSide> &side) {
    return (side->ownBytes() + 63) / 64 * 64;
  };
  uint64_t most = 0;
  for (auto *sides : {&feedSources, &drainTargets}) {
    uint64_t bytes = 0;
    for (const auto &side : *sides)
      bytes += bytesOf(side);
    most = std::max(most, bytes);
  }
  staging = Arena(most);
  for (auto *sides : {&feedSources, &drainTargets}) {
    char *memory = staging.data();
    for (const auto &side : *sides) {
      side->setOwnMemory(memory);
      memory += bytesOf(side);
    }
  }
}

std::vector<MemoryNeeds> runtime::planMemory(const void *data, size_t size,
                                             size_t given) {
  std::vector<uint64_t> storage(size / sizeof(uint64_t) + 1);
  std::memcpy(storage.data(), data, size);
  const fb::Model &table = *checkedModel(storage.data(), size);
  checkTable(table);
  Meetings meetings = matchRows(table);
  const Backend &backend = findBackend(toString(table.target()));
  std::vector<int> allowed = allowedCores();
  size_t devices = table.devices()->size();
  CoreSplit split = splitCores(
      devices, given ? given : coresPerDevice(table, devices, allowed.size()),
      allowed);
  std::vector<MemoryNeeds> all;
  std::exception_ptr failure;
  // The library sees the cores of the thread that calls it. All devices have
  // equally many.
  std::thread([&] {
    try {
      backend.useThreads(split.compute[0].size());
      DeviceKernels kernels(backend, table, [](uint32_t) { return nullptr; });
      uint32_t number = 0;
      for (const fb::Device *device : items(table.devices())) {
        all.push_back(planMemory(
            kernels, *device,
            mostCommunicationBytes(table, meetings, backend.traits(), number)));
        ++number;
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure)
    std::rethrow_exception(failure);
  return all;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Engine::startThreads() {
  uint32_t count = 0;
  for (const auto &device : all)
    count += device->hasCommunicationThread() ? 2 : 1;
  threadCount = count;
  barrier = std::make_unique<Barrier>(count, split.transportSpins);
  auto startThread = [&](auto body) {
    try {
      threads.emplace_back(body);
    } catch (const std::system_error &error) {
      failed("expected to start ", count, " threads, got: ", threads.size(),
             " (", error.code().message(),
             "); use more processes, or raise the limits of threads and memory "
             "(ulimit -u, ulimit -v)");
    }
  };
  for (size_t d = 0; d != all.size(); ++d) {
    Device &device = *all[d];
    startThread([this, &device, d] { computeLoop(device, split.compute[d]); });
    if (device.hasCommunicationThread())
      startThread([this, &device, d] {
        communicationLoop(device, split.communication[d]);
      });
  }
  ready.wait(count);
  if (error) {
    stopThreads();
    std::rethrow_exception(error);
  }
}

void Engine::stopThreads() {
  if (threads.empty())
    return;
  // A step that runs ends first.
  rest();
  stopping = true;
  go.set(step.number + 1);
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void Engine::fail(std::exception_ptr failure) {
  std::lock_guard<std::mutex> lock(errorMutex);
  if (!error)
    error = std::move(failure);
}

void Engine::runPhase(Device &device, fb::Stream stream, fb::Phase phase) {
  if (auto failure = device.run(stream, phase, step, traceThisStep))
    fail(std::move(failure));
}

/// All threads of this process come together, then all processes.
void Engine::meet(const Device &device, bool computes, uint32_t &visits) {
  barrier->arrive(visits);
  if (!group)
    return;
  if (computes && leads(device)) {
    try {
      group->barrier();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  barrier->arrive(visits);
}

void Engine::onHostSides(std::vector<std::unique_ptr<HostSide>> &sides,
                         void (HostSide::*what)(const Step &)) {
  try {
    for (const auto &side : sides)
      (side.get()->*what)(step);
  } catch (...) {
    channels->abandon(messageOf(std::current_exception()));
    fail(std::current_exception());
  }
}

void Engine::computeLoop(Device &device, const std::vector<int> &cores) {
  runsCommands() = true;
  bindThread(cores);
  backend->useThreads(cores.size());
  try {
    device.prepare(weights.get(), observer);
  } catch (...) {
    fail(std::current_exception());
  }
  ready.increment();
  uint32_t visits = 0;
  for (uint32_t next = 1;; ++next) {
    go.wait(next);
    if (stopping)
      return;
    // Rank 0 is the host of other ranks' devices, too.
    if (leads(device))
      onHostSides(feedSources, &HostSide::start);
    runPhase(device, fb::Stream::Compute, fb::Phase::Feed);
    if (leads(device))
      onHostSides(feedSources, &HostSide::finish);
    meet(device, /*computes=*/true, visits);
    if (leads(device))
      startTime = now();
    runPhase(device, fb::Stream::Compute, fb::Phase::Step);
    meet(device, /*computes=*/true, visits);
    if (leads(device)) {
      endTime = now();
      onHostSides(drainTargets, &HostSide::start);
    }
    runPhase(device, fb::Stream::Compute, fb::Phase::Drain);
    if (leads(device))
      onHostSides(drainTargets, &HostSide::finish);
    done.increment();
  }
}

void Engine::communicationLoop(Device &device, const std::vector<int> &cores) {
  runsCommands() = true;
  bindThread(cores);
  ready.increment();
  uint32_t visits = 0;
  for (uint32_t next = 1;; ++next) {
    go.wait(next);
    if (stopping)
      return;
    meet(device, /*computes=*/false, visits);
    runPhase(device, fb::Stream::Communication, fb::Phase::Step);
    meet(device, /*computes=*/false, visits);
    done.increment();
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

template <typename T>
static void checkBound(const void *data, int64_t count, int64_t bound,
                       const std::string &name) {
  const T *values = static_cast<const T *>(data);
  for (int64_t i = 0; i != count; ++i)
    if (values[i] < 0 || static_cast<int64_t>(values[i]) >= bound)
      invalid("expected values of input '", name, "' in [0, ", bound,
              "), got: ", static_cast<int64_t>(values[i]), " at element ", i,
              "; they index a table of that size");
}

void Engine::checkInputs(const void *const *inputs) const {
  uint32_t i = 0;
  for (const fb::Port *port : items(compiled->table().inputs())) {
    const void *data = inputs ? inputs[i] : nullptr;
    ++i;
    if (!data && byteCount(port->element(), toVector(port->shape())) != 0)
      invalid("expected data of input '", port->name()->str(),
              "', got: null; pass all inputs");
    int64_t count = elementCount(toVector(port->shape()));
    if (port->index_bound() <= 0 || count == 0)
      continue;
    std::string name = port->name()->str();
    if (port->element() == fb::ElementType::I64)
      checkBound<int64_t>(data, count, port->index_bound(), name);
    else if (port->element() == fb::ElementType::I32)
      checkBound<int32_t>(data, count, port->index_bound(), name);
  }
}

void Engine::start(const void *const *inputs, void *const *outputs) {
  wait();
  size_t inputCount = items(compiled->table().inputs()).size();
  size_t outputCount = items(compiled->table().outputs()).size();
  bool hosts = placement.rank == 0;
  agree(group.get(), [&] {
    if (hosts)
      checkInputs(inputs);
  });
  stepInputs.assign(inputCount, nullptr);
  if (hosts && inputs)
    stepInputs.assign(inputs, inputs + inputCount);
  stepOutputs.assign(outputCount, nullptr);
  if (hosts && outputs)
    stepOutputs.assign(outputs, outputs + outputCount);
  if (group) {
    // Elsewhere an address only says that rank 0 wants the output.
    std::string wanted;
    for (size_t i = 0; hosts && i != outputCount; ++i)
      wanted += stepOutputs[i] ? '1' : '0';
    wanted = group->allGather(wanted)[0];
    for (size_t i = 0; !hosts && i != wanted.size(); ++i)
      stepOutputs[i] = wanted[i] == '1' ? this : nullptr;
  }
  step.inputs = stepInputs.data();
  step.outputs = stepOutputs.data();
  traceThisStep = tracing;
  ++step.number;
  if (traceThisStep)
    tracedStep = step.number;
  stepOpen = true;
  go.set(step.number);
}

bool Engine::isDone() const { return done.reached(step.number * threadCount); }

void Engine::rest() { done.wait(step.number * threadCount); }

void Engine::wait() {
  rest();
  if (!std::exchange(stepOpen, false))
    return;
  agree(group.get(), [&] {
    std::lock_guard<std::mutex> lock(errorMutex);
    if (error)
      std::rethrow_exception(std::exchange(error, nullptr));
  });
}
