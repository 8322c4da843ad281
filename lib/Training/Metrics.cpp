//===- Metrics.cpp - How good a model is on held-out samples --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/Metrics.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace soap;
using namespace soap::training;

std::optional<LossKind> training::lossKind(const std::string &name) {
  static constexpr std::pair<const char *, LossKind> kinds[] = {
      {"softmax-cross-entropy", LossKind::SoftmaxCrossEntropy},
      {"negative-log-likelihood", LossKind::NegativeLogLikelihood},
      {"mean-squared-error", LossKind::MeanSquaredError},
      {"binary-cross-entropy", LossKind::BinaryCrossEntropy},
      {"output", LossKind::Output}};
  for (auto [known, kind] : kinds)
    if (name == known)
      return kind;
  return std::nullopt;
}

static size_t axisOf(const LossDescription &loss, const Tensor &output) {
  auto rank = static_cast<int64_t>(output.shape.size());
  int64_t axis = loss.classAxis < 0 ? loss.classAxis + rank : loss.classAxis;
  if (axis < 0 || axis >= rank)
    throw UsageError("expected classes along dimension " +
                     std::to_string(loss.classAxis) +
                     " of the output, got: " + typeOf(output));
  return static_cast<size_t>(axis);
}

void Metrics::check(const Tensor &output, const Tensor &label) const {
  if (loss_.kind == LossKind::Output) {
    if (output.count() != 1)
      throw UsageError("expected a loss of one element, got: " +
                       typeOf(output));
    return;
  }
  std::vector<int64_t> wanted = output.shape;
  if (loss_.hasClasses())
    wanted.erase(wanted.begin() +
                 static_cast<std::ptrdiff_t>(axisOf(loss_, output)));
  if (label.shape != wanted || wanted.empty())
    throw UsageError("expected labels for each element of an output of " +
                     typeOf(output) + ", got: " + typeOf(label) +
                     "; both take samples along dimension 0");
}

void Metrics::add(const Tensor &output, const Tensor &label, uint64_t samples) {
  if (loss_.kind == LossKind::Output) {
    sum_ += output.at(0);
    ++count_;
  } else if (loss_.hasClasses()) {
    addClasses(output, label, samples);
  } else {
    addElements(output, label, samples);
  }
}

void Metrics::addClasses(const Tensor &output, const Tensor &label,
                         uint64_t samples) {
  size_t axis = axisOf(loss_, output), inner = 1;
  classes_ = output.shape[axis];
  for (size_t dim = axis + 1; dim != output.shape.size(); ++dim)
    inner *= static_cast<size_t>(output.shape[dim]);
  auto classes = static_cast<size_t>(classes_);
  size_t used = label.count() / static_cast<size_t>(label.shape[0]) * samples;
  for (size_t i = 0; i != used; ++i) {
    auto wanted = static_cast<int64_t>(label.at(i));
    if (loss_.ignoreIndex == wanted)
      continue;
    if (wanted < 0 || wanted >= classes_)
      throw UsageError("expected labels from 0 to " +
                       std::to_string(classes_ - 1) +
                       ", got: " + std::to_string(wanted));
    size_t begin = i / inner * classes * inner + i % inner;
    auto score = [&](size_t k) { return output.at(begin + k * inner); };
    auto target = static_cast<size_t>(wanted);
    double own = score(target), largest = own, sum = 0;
    size_t before = 0; // Classes that come before the label's.
    for (size_t k = 0; k != classes; ++k) {
      double other = score(k);
      largest = std::max(largest, other);
      before += !(other < own) && (other != own || k < target) ? 1 : 0;
    }
    if (loss_.kind == LossKind::NegativeLogLikelihood) {
      sum_ -= own;
    } else {
      for (size_t k = 0; k != classes; ++k)
        sum += std::exp(score(k) - largest);
      sum_ += largest + std::log(sum) - own;
    }
    ++count_;
    bool isNumber = !std::isnan(own);
    right_ += isNumber && before == 0 ? 1 : 0;
    nearlyRight_ += isNumber && before < 5 ? 1 : 0;
  }
}

void Metrics::addElements(const Tensor &output, const Tensor &label,
                          uint64_t samples) {
  size_t used = label.count() / static_cast<size_t>(label.shape[0]) * samples;
  for (size_t i = 0; i != used; ++i) {
    double x = output.at(i), y = label.at(i);
    sum_ += loss_.kind == LossKind::MeanSquaredError
                ? (x - y) * (x - y)
                : std::max(x, 0.0) - x * y + std::log1p(std::exp(-std::abs(x)));
  }
  count_ += used;
}

static double share(double part, uint64_t count) {
  return count ? part / static_cast<double>(count)
               : std::numeric_limits<double>::quiet_NaN();
}

double Metrics::loss() const { return share(sum_, count_); }
double Metrics::accuracy() const {
  return share(static_cast<double>(right_), count_);
}
double Metrics::topFive() const {
  return share(static_cast<double>(nearlyRight_), count_);
}
double Metrics::perplexity() const { return std::exp(loss()); }
