//===- ModelRun.h - What soap-run does with a model ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_MODELRUN_H
#define SOAP_TOOLS_SOAPRUN_MODELRUN_H

#include "Measure.h"
#include "Options.h"
#include "Training.h"
#include "Verification.h"

namespace soap::run {

/// Loads, checks, times and reports a model. With several processes, all of
/// them make one and call the same functions.
class ModelRun {
public:
  /// Loads the model and, on rank 0, reads and checks all that it needs, before
  /// anything runs. Throws UsageError and RunError, as all functions do.
  explicit ModelRun(const Options &options);

  /// Runs steps and checks and reports them. False if something differs.
  bool run();
  /// Prints what the model is (--info).
  void printInfo();

private:
  /// Runs the build for one device before the model is loaded: its memory is
  /// free again then. What is wrong is thrown on all ranks once they have
  /// loaded the model.
  void verifyFirst(Loading &loading);
  /// All ranks make the same collective calls only if they were asked for the
  /// same. Files and names of outputs are rank 0's alone.
  void checkRanks();
  /// Inputs, files to compare with, and the other model: on rank 0.
  void prepare();
  void loadOther();
  /// Takes steps on the same inputs, and times them.
  void repeatSteps();
  void evaluate();
  /// Prints and writes outputs, compares: on rank 0. False if something
  /// differs.
  bool reportOutputs();
  /// The end of the report: whether all that was compared is equal.
  bool reportEnd(bool equal);
  bool compareWithOther();

  const Options &options_;
  std::map<std::string, std::string> sources_; ///< Of inputs, by name.
  std::optional<LossInfo> lossInfo_;
  std::unique_ptr<Verification> verification_;
  std::exception_ptr mistake_; ///< Of the verification, on rank 0.
  std::unique_ptr<Session> session_, other_;
  std::unique_ptr<Training> training_;
  std::unique_ptr<Evaluation> evaluation_;               ///< Without training.
  std::vector<std::pair<std::string, Tensor>> expected_; ///< By output.
  StepTimes times_;
  Json report_, evaluated_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_MODELRUN_H
