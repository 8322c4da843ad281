//===- Evaluation.h - The model on held-out samples -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_EVALUATION_H
#define SOAP_TOOLS_SOAPRUN_EVALUATION_H

#include "Batches.h"
#include "TrainingLog.h"
#include "soap/Training/Metrics.h"

namespace soap::run {

/// What soap_model_info() says about the loss of a step.
struct LossInfo {
  training::LossDescription loss;
  std::string label;  ///< The input with labels; empty: the model has its loss.
  std::string output; ///< What they are compared with; empty: the only output.
};

/// None of a step that was made by passes. Throws UsageError for a loss that is
/// not known.
std::optional<LossInfo> readLossInfo(const Json &info);

/// Lets `data` refuse labels that are no class, if the model has the program
/// "eval", whose output has classes.
void checkLabels(const Session &step, const LossInfo &loss,
                 training::Dataset &data);
/// Throws UsageError if a file of `sources` gave the step labels that are none.
void checkLabels(const Session &step, const LossInfo &loss,
                 const std::map<std::string, std::string> &sources);

/// Runs the program "eval" over all held-out samples. With several processes,
/// all of them make the same calls.
class Evaluation {
public:
  /// `step`: the session of the step of training, whose model is evaluated.
  /// Throws UsageError if it has no such program. Collective.
  explicit Evaluation(Session &step);

  /// Opens the files of --eval-data, `files` by input, on rank 0. `inputs`:
  /// sources of inputs that are the same in every batch.
  void open(const std::map<std::string, std::string> &files,
            const std::map<std::string, std::string> &inputs);

  /// The metrics, on rank 0: {"samples", "loss", "accuracy", "top5",
  /// "perplexity"}. Samples that fill up the last batch do not count.
  /// Collective.
  Json run();

private:
  void addBatch(training::Metrics &metrics);

  Session &step_;
  Session session_;
  Json info_; ///< soap_model_info().

  // On rank 0 alone.
  LossInfo loss_;
  size_t output_ = 0; ///< What labels are compared with.
  std::unique_ptr<Batches> batches_;
};

/// "loss 0.071, accuracy 98.33%, top-5 100.00%, perplexity 1.07"
std::string describeMetrics(const Json &metrics);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_EVALUATION_H
