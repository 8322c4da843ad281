//===- Engine.h - Runs the steps of a model ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_ENGINE_H
#define SOAP_LIB_RUNTIME_ENGINE_ENGINE_H

#include "Engine/Cores.h"
#include "Engine/Device.h"
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace soap::runtime {

struct EngineOptions {
  size_t coresPerDevice = 0; ///< 0: as the model says, else an even share.
  std::function<void(const std::string &)> warning;
  Observer observer;
};

/// What the devices of a model table need on this machine.
std::vector<MemoryNeeds> planMemory(const void *table, size_t size,
                                    size_t coresPerDevice);

/// A loaded model: its devices, their threads and the transport between them.
class Engine {
public:
  /// Throws Error; then no thread is left behind.
  Engine(std::shared_ptr<const CompiledModel> model,
         const EngineOptions &options);
  ~Engine();

  const CompiledModel &model() const { return *compiled; }
  const std::vector<std::unique_ptr<Device>> &devices() const { return all; }
  const CoreSplit &cores() const { return split; }

  /// Starts a step; waits for the one before. Throws SOAP_INVALID if an index
  /// input is out of its bound.
  void start(const void *const *inputs, void *const *outputs);
  /// Waits for the last step; throws if it failed.
  void wait();
  bool isDone() const;

  void setTracing(bool enabled) { tracing = enabled; }
  /// True if the last step was traced.
  bool wasTraced() const { return tracedStep == step.number; }
  /// Steady-clock times of the last step's start and end barrier.
  int64_t stepStart() const { return startTime; }
  int64_t stepEnd() const { return endTime; }

private:
  void checkMemory() const;
  void checkIndices(const void *const *inputs) const;
  void startThreads();
  void stopThreads();
  void computeLoop(Device &device, const std::vector<int> &cores);
  void communicationLoop(Device &device, const std::vector<int> &cores);
  void runPhase(Device &device, fb::Stream stream, fb::Phase phase);
  void fail(std::exception_ptr error);

  std::shared_ptr<const CompiledModel> compiled;
  std::unique_ptr<Safetensors> weights;
  CoreSplit split;
  Observer observer;
  std::unique_ptr<Transport> transport;
  std::vector<std::unique_ptr<Device>> all;

  std::vector<std::thread> threads;
  std::unique_ptr<Barrier> barrier;
  Counter ready; ///< Threads that have prepared.
  Counter go;    ///< The step to run.
  Counter done;  ///< Threads that have ended a step, over all steps.
  std::atomic<bool> stopping{false};

  Step step;
  std::vector<const void *> stepInputs;
  std::vector<void *> stepOutputs;
  bool tracing = false, traceThisStep = false;
  uint32_t tracedStep = ~0u;
  int64_t startTime = 0, endTime = 0;
  std::mutex errorMutex;
  std::exception_ptr error;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_ENGINE_H
