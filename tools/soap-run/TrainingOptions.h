//===- TrainingOptions.h - Options of soap-run for training -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_TRAININGOPTIONS_H
#define SOAP_TOOLS_SOAPRUN_TRAININGOPTIONS_H

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace soap::run {

/// How often something is done: every so many steps, epochs or seconds.
struct Interval {
  enum Unit { Steps, Epochs, Seconds };
  uint64_t count = 1;
  Unit unit = Epochs;
};

/// The options as they were written.
struct TrainingOptions {
  /// True if steps take samples from files.
  bool hasData() const { return !data.empty(); }
  bool hasEvaluation() const { return !evalData.empty(); }
  /// --resume without a file, as CLI11 reads it.
  bool resumesNewest() const { return resume == "true"; }

  std::vector<std::string> data;
  uint64_t epochs = 0, steps = 0; ///< 0: not limited.
  std::optional<uint64_t> shuffle;
  bool dropLast = false;
  std::vector<std::string> evalData;
  Interval evalEvery, checkpointEvery;
  std::string checkpoint, resume;
  uint64_t keep = 3;
  std::string exportONNX, model;
};

/// Declares them; `options` outlives `app`.
void declareTraining(CLI::App &app, TrainingOptions &options);

/// The files that are read, with their options.
std::vector<std::pair<const char *, std::string>>
readFiles(const TrainingOptions &options);

/// Throws UsageError for what does not go together.
void checkTraining(const TrainingOptions &options);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_TRAININGOPTIONS_H
