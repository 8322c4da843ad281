//===- MeasuredCosts.h - The file of measured kernels -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels took on one machine, kept from compilation to compilation. The
// file is one that CostModel::addMeasured() reads; beside each time it has the
// times of the runs that this one is the median of, and the kernel's work.
//
// Several processes and threads may extend one file at the same time: whoever
// writes holds a lock, reads what others have written meanwhile, and replaces
// the file as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CALIBRATION_MEASUREDCOSTS_H
#define SOAP_CALIBRATION_MEASUREDCOSTS_H

#include "soap/Calibration/TimedModel.h"
#include "soap/CostModel/KernelTable.h"
#include "soap/Target/Target.h"
#include <map>
#include <memory>
#include <mutex>

namespace soap {

/// What one kernel took.
struct MeasuredKernel {
  /// How many runs are kept, the newest ones.
  static constexpr size_t mostRuns = 9;

  KernelWork work;
  std::string baseline;      ///< Whose times can be compared with these.
  std::vector<int64_t> runs; ///< The time of each, oldest first.

  int64_t ns() const; ///< Median of the runs; the smaller one of two.
};

/// What one measurement says.
struct MeasuredRun {
  /// The baseline of the kernels that were known, and how much longer these
  /// took than they cost. A new one and 1 if none were.
  std::string baseline;
  double slowdown = 1;
  struct Kernel {
    double ns = 0; ///< What it costs.
    KernelWork work;
  };
  std::map<std::string, Kernel> kernels; ///< By key.
};

/// Times of kernels on a machine whose speed changes. Times of one baseline are
/// as if the machine always was as fast as in the first of its measurements.
/// That may have been a slow moment, so it is known how much longer its kernels
/// took in each measurement since, and costs are as long as they mostly took.
class MeasuredCosts {
public:
  /// How many slowdowns of a baseline are kept, the newest ones.
  static constexpr size_t mostSlowdowns = 31;

  explicit MeasuredCosts(std::string kind = "") : kind_(std::move(kind)) {}

  /// Fails if the text is no such file, or one of another kind of device.
  static llvm::Expected<MeasuredCosts> parse(llvm::StringRef text,
                                             llvm::StringRef kind);
  /// The same of a file; none is one without kernels.
  static llvm::Expected<MeasuredCosts> load(llvm::StringRef path,
                                            llvm::StringRef kind);
  std::string toJSON() const;

  /// Adds what a measurement says. A new kernel gets its baseline.
  void add(const MeasuredRun &run);
  /// The median of the slowdowns of a baseline, the smaller one of two; 1 if
  /// there are none.
  double slowdown(llvm::StringRef baseline) const;
  /// What a kernel costs, in ns.
  int64_t cost(const MeasuredKernel &kernel) const;
  const std::map<std::string, MeasuredKernel> &kernels() const {
    return kernels_;
  }

private:
  std::string kind_;
  std::map<std::string, MeasuredKernel> kernels_;
  /// By baseline, oldest first.
  std::map<std::string, std::vector<double>> slowdowns_;
};

/// What all kernels that were measured cost: means of their times on all
/// devices, each as if it was as fast as known kernels cost. How fast it is
/// now, those of them say that ran on it, if they took half of its time, or if
/// there was a reference. The work of kernels is left out.
MeasuredRun comparableTimes(const TimedModel::Measurement &now,
                            const MeasuredCosts &costs);

/// The file that keeps what kernels take on this machine, while so many devices
/// with so many cores each compute: beside the calibration (calibrationPath()),
/// empty if that has no folder. Its name has a hash of the processor, the
/// kernel library (Target::getMachineName()), the compiler, and what else
/// changes the kernels of one key (`variant`).
std::string measuredCostsPath(const Target &target, int32_t devices,
                              int32_t coresPerDevice,
                              llvm::StringRef variant = "");

/// Holds the lock of a file until the end of its life. Processes that measure
/// hold it, too, since they would disturb each other.
class MeasuredCostsLock {
public:
  /// Waits for the lock, for so many seconds at most; makes the folder. Fails
  /// with the reason.
  static llvm::Expected<std::unique_ptr<MeasuredCostsLock>>
  take(llvm::StringRef path, double seconds);
  ~MeasuredCostsLock();
  MeasuredCostsLock(const MeasuredCostsLock &) = delete;

private:
  MeasuredCostsLock(std::unique_lock<std::timed_mutex> threads, int descriptor)
      : threads_(std::move(threads)), descriptor_(descriptor) {}

  std::unique_lock<std::timed_mutex> threads_;
  int descriptor_;
};

/// Adds a run to the file, whose lock is held, and returns all that it has
/// then. A damaged file is replaced.
llvm::Expected<MeasuredCosts> extendMeasuredCosts(const MeasuredCostsLock &lock,
                                                  llvm::StringRef path,
                                                  llvm::StringRef kind,
                                                  const MeasuredRun &run);

} // namespace soap

#endif // SOAP_CALIBRATION_MEASUREDCOSTS_H
