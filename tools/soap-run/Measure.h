//===- Measure.h - Times, traces, profiles, counters ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_MEASURE_H
#define SOAP_TOOLS_SOAPRUN_MEASURE_H

#include "Session.h"
#include <fstream>
#include <nlohmann/json.hpp>

namespace soap::run {

using Json = nlohmann::ordered_json;

// All functions are collective; rank 0 has the results and writes the files.

struct StepTimes {
  uint64_t median = 0, min = 0, max = 0; ///< ns.
  size_t iterations = 0;
};

/// Runs `warmup` steps that do not count, then `iterations` that do. Shows
/// progress on stderr if it takes long: in one line of a terminal, else in a
/// line every ten seconds.
/// `ended` is called after every step.
StepTimes measure(Session &session, size_t warmup, size_t iterations,
                  const std::function<void()> &ended = {});

/// Writes the outputs of one element after every step, in a line of JSON:
/// {"step": 1, "loss": 2.3}. Throws RunError if the file cannot be written.
class StepLog {
public:
  /// No log if there is no path. Does nothing on ranks other than 0.
  StepLog(Session &session, const std::string &path);
  void write();
  /// The file is whole.
  void close();

private:
  void check();

  Session &session_;
  std::string path_;
  std::ofstream file_;
  size_t step_ = 0;
};

/// What the last step moved: [{kind, phase, devices, bytes, name}].
Json movementsOf(Session &session);

/// The processes that run the model: [{rank, host, pid, devices, arena_bytes,
/// resident_bytes, rows_run}].
Json processesOf(Session &session);

/// The rows of one more step.
std::vector<soap_event> tracedStep(Session &session);

/// Runs one traced step and writes it in the format of chrome://tracing and
/// Perfetto: one track per device and stream. If the model knows its simulated
/// step, that stands beside it, as processes of their own.
void writeTrace(Session &session, const std::string &path);

/// Runs `iterations` traced steps and writes the median time of every
/// KernelKey, with all devices busy: {"format": "soap-costs", "device_kind":
/// ..., "entries": [{"key": ..., "ns": ...}]}.
void writeProfile(Session &session, size_t iterations, const std::string &path);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_MEASURE_H
