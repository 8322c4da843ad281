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

/// The middle of what was measured, and how well it is known. A processor that
/// others share has several speeds, between which a median jumps; the mean of
/// the middle half does not, and single late times do not count, either.
struct TimeSummary {
  int64_t ns = 0; ///< The mean of the middle half (interquartile mean).
  /// An interval that has the true one with 95% (Tukey and McLaughlin, 1963);
  /// of fewer than eight times the shortest and the longest one.
  int64_t low = 0, high = 0;
  size_t samples = 0;

  /// Half of the interval as a share of `ns`.
  double spread() const;
};
/// Of at least one time.
TimeSummary summarize(std::vector<int64_t> times);

/// What kernels took on one device each, by device and KernelKey; of kernels of
/// which the library makes one, by the key of the first (firstOfJoined()).
using KernelTimes = std::map<std::pair<uint32_t, std::string>, TimeSummary>;

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
  ///
  /// With a `reference`, that model takes traced steps in turn with these, for
  /// as long again: what its kernels took, against what they took before, is
  /// how fast each device was meanwhile.
  struct Measurement {
    KernelTimes kernels, reference;
  };
  llvm::Expected<Measurement> timeKernels(const llvm::StringSet<> &wanted,
                                          double spread, double seconds,
                                          TimedModel *reference = nullptr);

private:
  struct Inputs;
  using Times = std::map<KernelTimes::key_type, std::vector<int64_t>>;
  /// Takes traced steps for so long, at least one that counts, and adds the
  /// times of their kernels; returns how many. The first one does not count if
  /// it `isDisturbed` (it finds caches as another model left them) and short.
  llvm::Expected<int> takeTurn(Times &times, double seconds, bool isDisturbed);
  llvm::Error setTracing(bool enabled);
  TimedModel(soap_model *model, std::unique_ptr<Inputs> inputs);

  soap_model *model_;
  std::unique_ptr<Inputs> inputs_;
};

} // namespace soap

#endif // SOAP_CALIBRATION_TIMEDMODEL_H
