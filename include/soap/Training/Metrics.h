//===- Metrics.h - How good a model is on held-out samples ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRAINING_METRICS_H
#define SOAP_TRAINING_METRICS_H

#include "soap/Tensors/Tensor.h"

namespace soap::training {
using namespace tensors;

enum class LossKind {
  SoftmaxCrossEntropy,   ///< Of class indices; the output has scores.
  NegativeLogLikelihood, ///< Of class indices; the output has logarithms.
  MeanSquaredError,      ///< The label is like the output.
  BinaryCrossEntropy,    ///< The label is like the output, which has logits.
  Output                 ///< The output is the loss of a whole batch.
};

/// The loss that soap-compile --loss=NAME means; none of another name.
std::optional<LossKind> lossKind(const std::string &name);

/// How an output is compared with labels.
struct LossDescription {
  LossKind kind = LossKind::SoftmaxCrossEntropy;
  /// The dimension of the output that holds classes; the label lacks it.
  /// Negative: from the end.
  int64_t classAxis = 1;
  std::optional<int64_t> ignoreIndex; ///< A label that does not count.

  bool hasClasses() const {
    return kind == LossKind::SoftmaxCrossEntropy ||
           kind == LossKind::NegativeLogLikelihood;
  }
};

/// Adds up, in double, over the samples of several batches. Labels that are
/// smoothed in training are not here.
class Metrics {
public:
  explicit Metrics(const LossDescription &loss) : loss_(loss) {}

  /// Throws UsageError unless an output of type `output` and labels of type
  /// `label` fit together. Both are whole batches, samples along dimension 0 of
  /// the label.
  void check(const Tensor &output, const Tensor &label) const;

  /// Adds the first `samples` samples of a batch that check() accepts. Of
  /// LossKind::Output there is no label, and the output counts as a whole.
  /// Throws UsageError, which names the label, for one that is no class.
  void add(const Tensor &output, const Tensor &label, uint64_t samples);

  /// Labels that counted; of LossKind::Output, batches.
  uint64_t count() const { return count_; }
  /// The mean over these; NaN without any.
  double loss() const;
  /// @{ Shares of labels whose class has the largest score, or one of the five
  /// largest; of equal scores the first ones count. Of losses with classes.
  double accuracy() const;
  double topFive() const;
  /// @}
  /// exp(loss()), of losses with classes.
  double perplexity() const;
  const LossDescription &description() const { return loss_; }
  /// Classes of the outputs that were added; 0 without any.
  int64_t classes() const { return classes_; }

private:
  void addClasses(const Tensor &output, const Tensor &label, uint64_t samples);
  void addElements(const Tensor &output, const Tensor &label, uint64_t samples);

  LossDescription loss_;
  double sum_ = 0;
  uint64_t count_ = 0, right_ = 0, nearlyRight_ = 0;
  int64_t classes_ = 0;
};

} // namespace soap::training

#endif // SOAP_TRAINING_METRICS_H
