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
#include "Engine/HostRows.h"
#include "Engine/State.h"
#include "Process/HostShare.h"
#include "Wait.h"
#include "soap/Links/LinkSpeed.h"
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace soap::runtime {

struct EngineOptions {
  size_t coresPerDevice = 0;  ///< 0: as the model says, else an even share.
  uint32_t devicesPerGpu = 0; ///< 0: 1.
  DeviceTransport deviceTransport = DeviceTransport::Auto;
  /// The processes that run the model together; null: this one alone.
  std::shared_ptr<Group> group;
  std::vector<uint32_t> map; ///< Rank of each device; empty: an even spread.
  std::optional<LinkSpeed> link; ///< Throttles all links to this speed.
  bool keepDenormals = false;    ///< Threads do not take them for zeros.
  std::function<void(const std::string &)> warning;
  Observer observer;
};

/// What the devices of a model table need on this machine.
std::vector<MemoryNeeds> planMemory(const void *table, size_t size,
                                    size_t coresPerDevice);

/// A loaded model: this process's devices, their threads and the transport
/// between all devices. In a group, functions marked collective are called by
/// all ranks, in the same order; they throw the same Error on all.
class Engine {
public:
  /// Throws Error; then no thread is left behind. Collective.
  Engine(std::shared_ptr<const CompiledModel> model,
         const EngineOptions &options);
  ~Engine();

  const CompiledModel &model() const { return *model_; }
  const Transport &transport() const { return *transport_; }
  /// Those of this process.
  const std::vector<std::unique_ptr<Device>> &devices() const {
    return devices_;
  }
  /// Of one of these devices, by its position.
  const std::vector<int> &coresOf(size_t position) const {
    return split_.compute[position];
  }
  const Backend &backend() const { return *backend_; }
  /// Null if there is one process.
  Group *group() const { return group_.get(); }
  const Placement &placement() const { return placement_; }
  /// Of rank 0: inputs and outputs of other ranks' devices, packed.
  uint64_t stagingBytes() const { return staging_.size(); }

  /// Starts a step of a program, which exists; waits for the one before. Throws
  /// SOAP_INVALID if an index input is out of its bound. Rank 0 has the inputs
  /// and gets the outputs; other ranks may give null. Collective.
  void start(uint32_t program, const void *const *inputs, void *const *outputs);
  /// Waits for the last step; throws if it failed. Collective.
  void wait();
  /// Waits until no step runs in this process; wait() still throws if the last
  /// one failed. Before anything else uses the group: a step does.
  void rest();
  bool isDone() const;

  /// @{ Between what lasts from step to step and a whole tensor, dense, on rank
  /// 0; other ranks may give null. Waits for a running step. Collective.
  void readState(const StateTensor &tensor, void *data);
  void writeState(const StateTensor &tensor, const void *data);
  /// @}

  void setTracing(bool enabled) { tracing_ = enabled; }
  /// True if the last step was traced.
  bool wasTraced() const { return tracedStep_ == step_.number; }
  /// Of the last step; 0 before the first one.
  uint32_t lastProgram() const { return step_.program; }
  /// Steady-clock times at which all threads of this process were ready for the
  /// last step, and at which all had ended it.
  int64_t stepStart() const { return stepStart_; }
  int64_t stepEnd() const { return stepEnd_; }

private:
  void place(const EngineOptions &options);
  /// Where this process's devices are to run.
  std::vector<DevicePlace> places() const;
  void makeDevices(const std::optional<LinkSpeed> &link);
  std::unique_ptr<Transport> makeTransport(const Meetings &meetings,
                                           bool isThrottled) const;
  void connectTransport();
  void makeHostSides(const HostLinks &links);
  uint64_t neededMemory() const;
  void checkInputs(const fb::Program &program, const void *const *inputs) const;
  void meet(const Device &device, fb::Stream stream, uint32_t &visits);
  using HostSides = std::vector<std::unique_ptr<HostSide>>;
  /// What rank 0 does for other ranks' devices, of a program.
  struct RemoteEnds {
    HostSides feedSources, drainTargets;
  };
  HostSides &feedSources() { return remoteEnds_[step_.program].feedSources; }
  HostSides &drainTargets() { return remoteEnds_[step_.program].drainTargets; }
  void onHostSides(HostSides &sides, void (HostSide::*what)(const Step &));
  void startThreads();
  void stopThreads();
  /// Says that the thread is ready, then calls step(visits of the barrier so
  /// far) for every step, until threads are stopped.
  template <typename Step>
  void serve(Step step);
  /// What each of the threads does first.
  void prepareThread(const std::vector<int> &cores) const;
  void computeLoop(Device &device, const std::vector<int> &cores);
  void communicationLoop(Device &device, fb::Stream stream,
                         const std::vector<int> &cores);
  /// Null if it is another process's.
  Device *localDevice(uint32_t number) const;
  bool leads(const Device &device) const {
    return &device == devices_[0].get();
  }
  void runPhase(Device &device, fb::Stream stream, fb::Phase phase);
  void fail(std::exception_ptr error);

  std::shared_ptr<const CompiledModel> model_;
  std::unique_ptr<Safetensors> weights_;
  HostShare hostShare_;
  CoreSplit split_;
  Observer observer_;
  std::shared_ptr<Group> group_;
  uint32_t devicesPerGpu_;
  DeviceTransport deviceTransport_;
  bool keepDenormals_;
  Placement placement_;
  const Backend *backend_ = nullptr;
  std::unique_ptr<Channels> channels_;
  std::unique_ptr<Transport> transport_; ///< Made of these, or the backend's.
  /// On rank 0: inputs and outputs of other ranks' devices; by program.
  std::vector<RemoteEnds> remoteEnds_;
  Arena staging_; ///< Of these.
  std::vector<std::unique_ptr<Device>> devices_;

  std::vector<std::thread> threads_;
  uint32_t threadCount_ = 0; ///< Of these, also when they have ended.
  std::unique_ptr<Barrier> barrier_;
  Counter ready_; ///< Threads that have prepared.
  Counter go_;    ///< The step to run.
  Counter done_;  ///< Threads that have ended a step, over all steps.
  std::atomic<bool> stopping_{false};

  Step step_;
  std::vector<const void *> stepInputs_;
  std::vector<void *> stepOutputs_;
  bool stepOpen_ = false; ///< Started, and not yet waited for.
  bool tracing_ = false, traceThisStep_ = false;
  uint32_t tracedStep_ = ~0u;
  int64_t stepStart_ = 0, stepEnd_ = 0;
  std::mutex errorMutex_;
  std::exception_ptr error_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_ENGINE_H
