//===- TimedModel.h - Run a compiled model and time it ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of a compiled model, as soap-run takes them, in this process: random
// inputs, all devices at once. The rows of a traced step are those of any step,
// so that a kernel finds its operands where a step leaves them, weights in the
// library's layout, and the other devices at work.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CALIBRATION_TIMEDMODEL_H
#define SOAP_CALIBRATION_TIMEDMODEL_H

#include "soap/Links/LinkSpeed.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct soap_model;

namespace soap {

/// How a model is run.
struct TimedRun {
  int32_t coresPerDevice = 0; ///< 0: as the model says.
  std::optional<LinkSpeed> link;
};

/// The middle of what was measured, and how well it is known: an interval that
/// has the true median with 95% (of the sign test).
struct TimeSummary {
  int64_t ns = 0, low = 0, high = 0;
  size_t samples = 0;

  /// Half of the interval as a share of the median.
  double spread() const;
};
/// Of at least one time.
TimeSummary summarize(std::vector<int64_t> times);

class TimedModel {
public:
  /// Fails with the reason if the model does not load.
  static llvm::Expected<std::unique_ptr<TimedModel>> load(llvm::StringRef path,
                                                          const TimedRun &how);
  ~TimedModel();
  TimedModel(const TimedModel &) = delete;

  /// Takes a step; returns its nanoseconds from start barrier to end barrier.
  llvm::Expected<int64_t> step();

  /// Takes traced steps, after some that do not count, until the spread() of
  /// every kernel in `wanted` (all, if it is empty) is at most `spread`, for
  /// `seconds` at most, but at least five, three if they take that long.
  /// Returns the median time of every kernel, by KernelKey; of kernels of which
  /// the library makes one, by that of the first (firstOfJoined()).
  llvm::Expected<std::map<std::string, TimeSummary>>
  timeKernels(const llvm::StringSet<> &wanted, double spread, double seconds);

private:
  struct Inputs;
  TimedModel(soap_model *model, std::unique_ptr<Inputs> inputs);

  soap_model *model_;
  std::unique_ptr<Inputs> inputs_;
};

} // namespace soap

#endif // SOAP_CALIBRATION_TIMEDMODEL_H
