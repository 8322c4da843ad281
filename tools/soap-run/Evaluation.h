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
  void findLoss();
  void addBatch(training::Metrics &metrics);

  Session &step_;
  Session session_;
  Json info_; ///< soap_model_info().

  // On rank 0 alone.
  training::LossDescription loss_;
  std::string label_; ///< The input of the step that has labels.
  size_t output_ = 0; ///< What labels are compared with.
  std::unique_ptr<Batches> batches_;
};

/// "loss 0.071, accuracy 98.33%, top-5 100.00%, perplexity 1.07"
std::string describeMetrics(const Json &metrics);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_EVALUATION_H
