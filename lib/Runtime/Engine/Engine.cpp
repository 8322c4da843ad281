//===- Engine.cpp - Runs the steps of a model -----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Engine.h"
#include "CPU/Backend.h"
#include "Model/Check.h"
#include <algorithm>
#include <cstring>
#include <utility>

using namespace soap;
using namespace soap::runtime;

Engine::Engine(std::shared_ptr<const CompiledModel> model,
               const EngineOptions &options)
    : compiled(std::move(model)), observer(options.observer) {
  const fb::Model &table = compiled->table();
  checkMemory();
  // Before threads are started: it may be missing.
  (void)libraryBackend();
  size_t perDevice = options.coresPerDevice ? options.coresPerDevice
                                            : table.cores_per_device();
  split = splitCores(table.devices()->size(), perDevice, allowedCores());
  if (!split.warning.empty() && options.warning)
    options.warning(split.warning);
  std::string weightsPath = compiled->weightsPath();
  if (!weightsPath.empty())
    weights = std::make_unique<Safetensors>(
        MappedFile::open(weightsPath, "the weights of the model"));

  Meetings meetings = matchRows(table);
  transport = makeLocalTransport(split.transportSpins);
  for (uint32_t d = 0; d != table.devices()->size(); ++d)
    all.push_back(std::make_unique<Device>(d, compiled, meetings, *transport,
                                           split.streamSpins));
  startThreads();
}

Engine::~Engine() { stopThreads(); }

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

void Engine::checkMemory() const {
  uint64_t needed = 0;
  auto add = [&](uint64_t bytes) {
    if (__builtin_add_overflow(needed, bytes, &needed))
      needed = UINT64_MAX;
  };
  for (const fb::Device *device : items(compiled->table().devices())) {
    if (device->peak_bytes()) {
      add(device->peak_bytes());
      continue;
    }
    add(device->activation_bytes());
    add(device->parameter_bytes());
    add(device->scratch_bytes());
    add(largestConstantOperand(*device));
  }
  uint64_t available = availableMemory();
  if (needed > available)
    invalid("expected ", needed >> 20,
            " MiB of free memory, got: ", available >> 20,
            " MiB; compile with a smaller --batch, or free memory");
}

std::vector<MemoryNeeds> runtime::planMemory(const void *data, size_t size,
                                             size_t coresPerDevice) {
  std::vector<uint64_t> storage(size / sizeof(uint64_t) + 1);
  std::memcpy(storage.data(), data, size);
  const fb::Model &table = *checkedModel(storage.data(), size);
  checkTable(table);
  (void)libraryBackend();
  CoreSplit split =
      splitCores(table.devices()->size(),
                 coresPerDevice ? coresPerDevice : table.cores_per_device(),
                 allowedCores());
  std::vector<MemoryNeeds> all;
  std::exception_ptr failure;
  // The library sees the cores of the thread that calls it. All devices have
  // equally many.
  std::thread([&] {
    try {
      libraryBackend().setThreads(split.compute[0].size());
      DeviceKernels kernels(table, [](uint32_t) { return nullptr; });
      for (const fb::Device *device : items(table.devices()))
        all.push_back(planMemory(kernels, *device));
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
    count += device->communicates() ? 2 : 1;
  barrier = std::make_unique<Barrier>(count, split.transportSpins);
  for (size_t d = 0; d != all.size(); ++d) {
    Device &device = *all[d];
    threads.emplace_back(
        [this, &device, d] { computeLoop(device, split.compute[d]); });
    if (device.communicates())
      threads.emplace_back([this, &device, d] {
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
  done.wait(step.number * static_cast<uint32_t>(threads.size()));
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

void Engine::computeLoop(Device &device, const std::vector<int> &cores) {
  bindThread(cores);
  libraryBackend().setThreads(cores.size());
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
    runPhase(device, fb::Stream::Compute, fb::Phase::Feed);
    barrier->arrive(visits);
    if (device.id() == 0)
      startTime = now();
    runPhase(device, fb::Stream::Compute, fb::Phase::Step);
    barrier->arrive(visits);
    if (device.id() == 0)
      endTime = now();
    runPhase(device, fb::Stream::Compute, fb::Phase::Drain);
    done.increment();
  }
}

void Engine::communicationLoop(Device &device, const std::vector<int> &cores) {
  bindThread(cores);
  ready.increment();
  uint32_t visits = 0;
  for (uint32_t next = 1;; ++next) {
    go.wait(next);
    if (stopping)
      return;
    barrier->arrive(visits);
    runPhase(device, fb::Stream::Communication, fb::Phase::Step);
    barrier->arrive(visits);
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

void Engine::checkIndices(const void *const *inputs) const {
  size_t i = 0;
  for (const fb::Port *port : items(compiled->table().inputs())) {
    const void *data = inputs[i++];
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
  for (uint32_t i = 0; i != inputCount; ++i) {
    const fb::Port *port = compiled->table().inputs()->Get(i);
    if ((!inputs || !inputs[i]) &&
        byteCount(port->element(), toVector(port->shape())) != 0)
      invalid("expected data of input '", port->name()->str(),
              "', got: null; pass all inputs");
  }
  checkIndices(inputs);
  stepInputs.assign(inputs, inputs + inputCount);
  stepOutputs.assign(outputCount, nullptr);
  if (outputs)
    stepOutputs.assign(outputs, outputs + outputCount);
  step.inputs = stepInputs.data();
  step.outputs = stepOutputs.data();
  traceThisStep = tracing;
  ++step.number;
  if (traceThisStep)
    tracedStep = step.number;
  go.set(step.number);
}

bool Engine::isDone() const {
  return done.reached(step.number * static_cast<uint32_t>(threads.size()));
}

void Engine::wait() {
  done.wait(step.number * static_cast<uint32_t>(threads.size()));
  std::lock_guard<std::mutex> lock(errorMutex);
  if (error) {
    std::exception_ptr failure = std::exchange(error, nullptr);
    std::rethrow_exception(failure);
  }
}
