//===- Device.h - One device of the CPU backend -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device is a set of cores with arenas of its own. Two threads run its
// program: one the rows of the compute stream, one those of the communication
// stream, so that transfers progress while the device computes.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_DEVICE_H
#define SOAP_LIB_RUNTIME_ENGINE_DEVICE_H

#include "Engine/DeviceKernels.h"
#include "Engine/HostRows.h"
#include "Engine/Memory.h"
#include "Engine/Observer.h"
#include "Engine/Row.h"
#include "Model/CompiledModel.h"
#include "Model/Meetings.h"
#include "Model/Safetensors.h"
#include "Transport/Communication.h"
#include "Wait.h"
#include <exception>

namespace soap::runtime {

/// When a row ran, in ns of the steady clock.
struct RowTime {
  int64_t start = 0, end = 0;
};

/// One row of a stream, ready to run.
struct ProgramRow {
  std::unique_ptr<RowAction> action;
  const fb::Row *row = nullptr;
  /// Rows of the other stream that must have ended (a count from its start).
  uint32_t waitFor = 0;
  /// The other stream waits for this row.
  bool signals = false;
};

/// A stream's rows in order, and how far it has come.
struct StreamProgram {
  std::vector<ProgramRow> rows;
  /// Rows ended since load; set only after rows that signal.
  Counter progress;
  std::vector<RowTime> times; ///< Of the last traced step.
  uint64_t rowsRun = 0;       ///< Since load.
};

class Device {
public:
  /// Reserves arenas and makes all rows but launches, whose kernels belong to
  /// the device's own thread. `model` and `transport` outlive the device.
  Device(uint32_t id, std::shared_ptr<const CompiledModel> model,
         const Meetings &meetings, Transport &transport, const HostLinks &links,
         unsigned streamSpins);

  /// On the compute thread, once: loads, init program, kernels of the main
  /// program, reordered constants. Tiles are shown to `observer`, now and in
  /// the steps.
  void prepare(const Safetensors *weights, const Observer &observer);
  /// Runs the rows of one phase of a stream. A row that fails does not stop the
  /// others, as other devices wait for them: the first failure is returned. If
  /// it is one that moves data, the transport is abandoned: later ones fail at
  /// once, here and elsewhere.
  std::exception_ptr run(fb::Stream stream, fb::Phase phase, const Step &step,
                         bool trace);

  bool communicates() const { return !streams[1].rows.empty(); }
  const StreamProgram &stream(unsigned index) const { return streams[index]; }
  uint32_t id() const { return number; }
  const fb::Device &table() const { return *device; }

  /// What prepare() found; `scratchpad` is what the kernels ask for, even if
  /// the table plans more.
  const MemoryNeeds &memory() const { return needs; }
  /// Of its arenas, without what communication needs: wherever it runs.
  uint64_t arenaBytes() const {
    return activations.size() + parameters.size() + scratchpad.size();
  }
  /// Rows of main that ended since load. No step runs.
  uint64_t rowsRun() const { return streams[0].rowsRun + streams[1].rowsRun; }
  /// The implementation that each kernel of the table got; "" if not launched.
  const std::vector<std::string> &implementations() const {
    return kernels.implementations();
  }
  /// The main program's rows in table order: (stream, position).
  const std::vector<std::pair<uint8_t, uint32_t>> &order() const {
    return positions;
  }

private:
  char *address(uint32_t buffer) const;
  void makeRows(const Meetings &meetings, const HostLinks &links);
  void linkWaits();
  std::unique_ptr<RowAction> makeLaunch(const fb::Launch &launch);
  void runInit(const Safetensors *weights);
  soap_tile tileOf(const fb::Tile &tile) const;
  void observeParameters(const Observer &observer) const;
  void observeRows(const Observer &observer);

  uint32_t number;
  unsigned streamSpins;
  std::shared_ptr<const CompiledModel> model;
  const fb::Device *device;
  Arena activations, parameters, scratchpad;
  Arena communication; ///< Of the rows that move data.
  Transport &transport;
  StreamProgram streams[2];
  std::vector<std::pair<uint8_t, uint32_t>> positions;
  DeviceKernels kernels;
  ConstantCache constants;
  MemoryNeeds needs;
};

/// Nanoseconds of the steady clock.
int64_t now();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_DEVICE_H
