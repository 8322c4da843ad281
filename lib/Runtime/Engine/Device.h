//===- Device.h - One device of a model -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device has arenas, kernels and streams of a backend, for the rows that
// compute and for those that communicate, so that transfers progress while the
// device computes; a third one, if a program has it, for collectives that do
// not wait for the other communication. Where streams run in place, a thread
// for each enqueues its rows; else one thread enqueues all rows, in their
// order.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_DEVICE_H
#define SOAP_LIB_RUNTIME_ENGINE_DEVICE_H

#include "Backend/HostMemory.h"
#include "Engine/Cores.h"
#include "Engine/DeviceKernels.h"
#include "Engine/MovingRows.h"
#include "Engine/Observer.h"
#include "Model/CompiledModel.h"
#include "Model/Safetensors.h"
#include "Wait.h"
#include <algorithm>
#include <array>
#include <exception>

namespace soap::runtime {

/// How many streams a device has at most.
inline constexpr size_t streamCount = static_cast<size_t>(fb::Stream::MAX) + 1;

/// When a row ran, in ns of the steady clock.
struct RowTime {
  int64_t start = 0, end = 0;
};

/// One row of a stream, ready to be enqueued.
struct ProgramRow {
  std::unique_ptr<RowAction> action;
  const fb::Row *row = nullptr;
  /// By stream, set by the row there that this one waits for; null if there is
  /// none that this stream has not waited for before.
  std::array<Event *, streamCount> awaited = {};
  /// By stream, set by this row if that stream waits for it.
  std::array<std::unique_ptr<Event>, streamCount> events;
};

/// A stream's rows in order.
struct StreamProgram {
  std::vector<ProgramRow> rows;
  /// Where each phase begins, and at last the end: phases stand in order.
  std::array<uint32_t, 4> phases = {};
  std::vector<RowTime> times; ///< Of the last traced step.
  uint64_t rowsRun = 0;       ///< Since load.
};

/// A device's part of one program of the model.
struct DeviceProgram {
  std::array<StreamProgram, streamCount> streams;
  /// Its rows in table order: (stream, position).
  std::vector<std::pair<uint8_t, uint32_t>> positions;
  /// The rows of a step, captured.
  std::unique_ptr<Graph> step;
  /// Steps since load that were not captured: the first one never is, so that
  /// libraries load what they need.
  uint64_t plainSteps = 0;
};

class Device {
public:
  /// Reserves arenas and makes all rows but launches, whose kernels belong to
  /// the device's own thread. `backend` and what `links` names outlive the
  /// device.
  Device(const DevicePlace &place, std::shared_ptr<const CompiledModel> model,
         const Backend &backend, const Links &links, const CoreSplit &split);
  ~Device();

  /// Its threads, where they have a core together.
  CoreMates &mates() { return mates_; }

  /// On the compute thread, once: loads, init program, kernels of the programs,
  /// reordered constants. Tiles are shown to `observer`, now and in the steps.
  void prepare(const Safetensors *weights, const Observer &observer);
  /// Runs the rows of one phase of the step's program, and waits for them: of
  /// one stream, where streams run in place, else of both, and `stream` is
  /// Compute. A row that fails does not stop the others, as other devices wait
  /// for them: the first failure is returned.
  std::exception_ptr run(fb::Stream stream, fb::Phase phase, const Step &step,
                         bool trace);

  /// Other streams than Compute for which run() is to be called, too, each on a
  /// thread of its own.
  std::vector<fb::Stream> otherThreads() const;
  const DeviceProgram &program(uint32_t index) const {
    return programs_[index];
  }
  uint32_t id() const { return id_; }
  const fb::Device &table() const { return *table_; }

  /// What prepare() found; `scratchpad` is what the kernels ask for, even if
  /// the table plans more.
  const MemoryNeeds &memory() const { return memory_; }
  /// Of its arenas, without what communication needs: wherever it runs.
  uint64_t arenaBytes() const {
    return activations_.size() + parameters_.size() + scratchpad_.size();
  }
  /// @{ Between a buffer and dense host memory; no step runs.
  void readBuffer(uint32_t buffer, uint64_t bytes, char *to);
  void writeBuffer(uint32_t buffer, uint64_t bytes, const char *from);
  /// @}
  /// Rows of programs that ended since load. No step runs.
  uint64_t rowsRun() const {
    uint64_t count = 0;
    for (const DeviceProgram &program : programs_)
      for (const StreamProgram &stream : program.streams)
        count += stream.rowsRun;
    return count;
  }
  /// The implementation that each kernel of the table got; "" if not launched.
  const std::vector<std::string> &implementations() const {
    return kernels_.implementations();
  }

private:
  bool hasRows(fb::Stream stream) const;
  DevicePointer address(uint32_t buffer) const;
  void makeRows(uint32_t program, const Links &links);
  void shareMovingMemory();
  void linkWaits(DeviceProgram &program);
  std::exception_ptr runInPlace(fb::Stream stream, fb::Phase phase,
                                const Step &step, bool trace);
  std::exception_ptr runQueued(fb::Phase phase, const Step &step, bool trace);
  /// True if the rows of a step may be captured.
  bool canCapture(const DeviceProgram &program) const;
  void enqueue(uint8_t stream, uint32_t position, const Step &step, bool trace,
               std::exception_ptr &failure);
  std::unique_ptr<RowAction> makeLaunch(const fb::Launch &launch);
  void runInit(const Safetensors *weights);
  void load(const fb::Load &load, const Safetensors *weights);
  DeviceTile tileOf(uint32_t program, const fb::Tile &tile) const;
  void observeParameters(const Observer &observer);
  void observeRows(uint32_t program, const Observer &observer);

  uint32_t id_;
  std::shared_ptr<const CompiledModel> model_;
  const fb::Device *table_;
  const Backend &backend_;
  BackendTraits traits_;
  std::unique_ptr<BackendDevice> device_;
  DeviceBlock activations_, parameters_, scratchpad_;
  Arena communication_; ///< Host memory of the rows that move data.
  CoreMates mates_;
  std::array<std::unique_ptr<Stream>, streamCount> streams_;
  std::vector<DeviceProgram> programs_; ///< As in the table.
  DeviceKernels kernels_;
  ConstantCache constants_;
  MemoryNeeds memory_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_DEVICE_H
