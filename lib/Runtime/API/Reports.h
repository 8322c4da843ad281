//===- Reports.h - What all processes have done -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measurements of the last step, of all devices on rank 0, of its own ones on
// another rank. Collective.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_API_REPORTS_H
#define SOAP_LIB_RUNTIME_API_REPORTS_H

#include "Engine/Engine.h"

namespace soap::runtime {

/// A communication and the row that reports it.
struct MovedRow {
  const fb::Row *row = nullptr;
  Movement moved;
};
/// By phase, then device, then row. Members of one collective are joined in the
/// place of member 0.
std::vector<MovedRow> collectMovements(Engine &engine);

/// When a row of a device ran, since the step's start on its rank.
struct TimedRow {
  uint32_t device = 0;
  const fb::Row *row = nullptr;
  int64_t start = 0, end = 0; ///< ns
  uint64_t bytes = 0;
};
/// By device, stream, and the order of rows. The last step was traced.
std::vector<TimedRow> collectTimes(Engine &engine);

/// A process and what it has.
struct ProcessReport {
  ProcessName name;
  std::vector<uint32_t> devices;
  uint64_t arenaBytes = 0, residentBytes = 0, rowsRun = 0, stagingBytes = 0;
};
/// By rank.
std::vector<ProcessReport> collectProcesses(Engine &engine);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_API_REPORTS_H
