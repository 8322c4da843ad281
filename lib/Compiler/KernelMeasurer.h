//===- KernelMeasurer.h - Times of a strategy's kernels ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a graph under one strategy after another, into a folder of its own,
// and runs what comes of it, so that measured costs take the place of analytic
// ones. What is learned goes into the file of the machine
// (soap/Calibration/MeasuredCosts.h).
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COMPILER_KERNELMEASURER_H
#define SOAP_LIB_COMPILER_KERNELMEASURER_H

#include "mlir/IR/OwningOpRef.h"
#include "soap/Calibration/MeasuredCosts.h"
#include "soap/Calibration/TimedModel.h"
#include "soap/Pipelines/Pipelines.h"
#include "soap/Target/Model/Model.h"
#include "soap/Transforms/StrategyIR.h"

namespace soap {

class KernelMeasurer {
public:
  /// What is measured, and where.
  struct Setting {
    const Target *target = nullptr;
    ModelOptions model; ///< Of what is compiled to be measured.
    LowerChoices choices;
    int32_t devices = 1;
    TimedRun run;
  };
  /// What was done so far.
  struct Statistics {
    int32_t runs = 0;    ///< Strategies that were compiled and run.
    int32_t kernels = 0; ///< That had no measured time before.
    double seconds = 0;  ///< For all of it.
    /// Programs that were compiled, to be measured or to run in turn, and the
    /// time for that.
    int32_t programs = 0;
    double compiling = 0;
  };

  explicit KernelMeasurer(Setting setting);
  ~KernelMeasurer();
  KernelMeasurer(const KernelMeasurer &) = delete;

  /// Reads the file of the machine and makes the folder.
  llvm::Error open();
  /// Where measured times are kept; empty: nowhere.
  const std::string &path() const { return path_; }
  /// Why they are not kept any more, or empty.
  const std::string &keepError() const { return keepError_; }

  /// The kernels of a strategy without a measured time, but for those that were
  /// not met when the strategy was run.
  llvm::StringSet<> missing(const OperatorGraph &graph,
                            const Strategy &strategy) const;
  /// Compiles `graph`, a module with a topology and without tasks, under the
  /// strategy, as the setting says, and loads the model, whose files go away.
  /// Fails with the reason, a lack of memory for instance.
  llvm::Expected<std::unique_ptr<TimedModel>> load(mlir::ModuleOp graph,
                                                   const Strategy &strategy);
  /// Runs a strategy of a graph and keeps the times of its kernels; those that
  /// are missing() are repeated until they are known well, all if none is. What
  /// the library applies behind a kernel is part of its time.
  ///
  /// All times are as if the devices had the speed that they had when they were
  /// measured first (comparableTimes()). Returns the model.
  llvm::Expected<std::unique_ptr<TimedModel>>
  measure(mlir::ModuleOp module, const OperatorGraph &graph,
          const Strategy &strategy);
  /// @{ The model that runs in turn with those that are measured, or null. Its
  /// kernels are all known: none is missing().
  void setReference(std::unique_ptr<TimedModel> model) {
    reference_ = std::move(model);
  }
  bool hasReference() const { return reference_ != nullptr; }
  /// @}

  /// All that is known, as a file for readCosts(). Another one after every
  /// measurement, since what others measure meanwhile must not change what is
  /// compiled.
  const std::string &costFile() const { return costFile_; }
  const Statistics &statistics() const { return statistics_; }

private:
  /// The first half of load(): the path of the model.
  llvm::Expected<std::string> build(mlir::ModuleOp graph,
                                    const Strategy &strategy);
  /// measure() of a model that was compiled under `strategy`.
  llvm::Error time(TimedModel &model, const OperatorGraph &graph,
                   const Strategy &strategy, const llvm::StringSet<> &wanted);
  llvm::Error writeCosts();
  /// Measured times serve this compilation alone from now on.
  void stopKeeping(llvm::Error error);

  Setting setting_;
  std::string path_, folder_, costFile_, keepError_;
  MeasuredCosts costs_;
  std::unique_ptr<TimedModel> reference_;
  llvm::StringSet<> unmet_; ///< In no event of their strategy.
  int32_t numWritten_ = 0;
  Statistics statistics_;
};

} // namespace soap

#endif // SOAP_LIB_COMPILER_KERNELMEASURER_H
