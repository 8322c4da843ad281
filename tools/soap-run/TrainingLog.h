//===- TrainingLog.h - What training tells while it runs --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_TRAININGLOG_H
#define SOAP_TOOLS_SOAPRUN_TRAININGLOG_H

#include "soap/Tensors/Tensor.h"
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

namespace soap::run {

using Json = nlohmann::ordered_json;

/// Lines of JSON in a file. Throws RunError if it cannot be written.
class JsonLines {
public:
  /// No file if there is no path. Of an older file, the lines up to step `kept`
  /// stay; what a killed run has written of later ones, or in half, goes.
  explicit JsonLines(std::string path, uint64_t kept = 0);
  /// A reader sees the line at once.
  void write(const Json &line);
  /// The file is whole.
  void close();

private:
  void check();

  std::string path_;
  std::ofstream file_;
};

/// Progress on stderr: in one line of a terminal, else in a line every ten
/// seconds.
class Progress {
public:
  /// `total`: steps to take in all, of which `done` were taken before.
  Progress(uint64_t total, uint64_t done, uint64_t epochs);

  /// After a step; `epoch` counts from 1.
  void step(uint64_t number, uint64_t epoch, double loss, uint64_t samples);
  /// Before other output; the next step shows it again.
  void clear();
  /// Samples per second since the beginning.
  double rate() const;
  double seconds() const;

private:
  using Clock = std::chrono::steady_clock;

  uint64_t total_, done_, epochs_, samples_ = 0;
  bool terminal_, shown_ = false;
  Clock::time_point start_, next_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_TRAININGLOG_H
