//===- KernelRegression.cpp - Kernels that were not measured --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRegression.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cmath>

using namespace soap;
using namespace soap::detail;

/// What is left of "64x3x7x7xf32" without sizes: "xxxxf32".
static void appendType(llvm::StringRef shape, std::string &text) {
  while (!shape.empty()) {
    auto [extent, rest] = shape.split('x');
    if (!llvm::all_of(extent, llvm::isDigit))
      break;
    text += 'x';
    shape = rest;
  }
  text += shape;
}

static uint64_t attributesOf(llvm::StringRef key) {
  std::string text;
  for (llvm::StringRef word : llvm::split(key, ' ')) {
    if (word.contains('='))
      text += word;
    else
      appendType(word, text);
    text += ' ';
  }
  return llvm::xxh3_64bits(text);
}

KernelPlace::KernelPlace(llvm::StringRef key, const KernelWork &work)
    : attributes(attributesOf(key)) {
  auto log = [](double size) { return std::log(std::max(size, 1.0)); };
  sizes = {log(work.flops), log(work.bytes),
           log(static_cast<double>(work.rows)),
           log(static_cast<double>(work.columns)),
           log(static_cast<double>(work.depth))};
}

/// The covariance of two kernels: `near`, which is 1 for equal sizes and 0.76
/// if all five differ by a factor of e, times `otherAttributes` if those
/// differ; a linear trend along each size, of this variance; and a constant for
/// equal attributes.
static constexpr double width = 3, trend = 0.05, otherAttributes = 0.7,
                        ofAttributes = 0.25;
/// Variance of log(measured / analytic) of one kernel from run to run, and of
/// what its sizes do not say.
static constexpr double noise = 0.1;

double KernelRegression::covariance(const KernelPlace &a,
                                    const KernelPlace &b) const {
  double distance = 0, along = 0;
  for (auto [x, y, mean] : llvm::zip_equal(a.sizes, b.sizes, center_)) {
    distance += (x - y) * (x - y);
    along += (x - mean) * (y - mean);
  }
  double near = std::exp(-distance / (2 * width * width));
  bool same = a.attributes == b.attributes;
  return near * (same ? 1 : otherAttributes) + trend * along +
         (same ? ofAttributes : 0);
}

static Eigen::Index sizeOf(llvm::ArrayRef<KernelRegression::Sample> samples) {
  return static_cast<Eigen::Index>(samples.size());
}

Eigen::LLT<Eigen::MatrixXd> KernelRegression::factorize() const {
  Eigen::MatrixXd matrix(sizeOf(samples_), sizeOf(samples_));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = matrix(j, i) =
          covariance(samples_[i].place, samples_[j].place) +
          (i == j ? noise : 0);
  return Eigen::LLT<Eigen::MatrixXd>(matrix);
}

KernelRegression::KernelRegression(std::vector<Sample> samples)
    : samples_(std::move(samples)) {
  center_.fill(0);
  Eigen::VectorXd ratios(sizeOf(samples_));
  for (auto [ratio, sample] : llvm::zip_equal(ratios, samples_)) {
    ratio = sample.logRatio;
    for (auto [sum, size] : llvm::zip_equal(center_, sample.place.sizes))
      sum += size / static_cast<double>(samples_.size());
  }
  least_ = ratios.minCoeff();
  most_ = ratios.maxCoeff();
  Eigen::LLT<Eigen::MatrixXd> factors = factorize();
  Eigen::VectorXd ofOnes = factors.solve(Eigen::VectorXd::Ones(ratios.size()));
  mean_ = ofOnes.dot(ratios) / ofOnes.sum();
  ratios.array() -= mean_;
  Eigen::VectorXd weights = factors.solve(ratios);
  weights_.assign(weights.begin(), weights.end());
}

/// Trends do not go on for ever.
double KernelRegression::clamped(double logRatio) const {
  double beyond = std::log(1.5);
  return std::clamp(logRatio, least_ - beyond, most_ + beyond);
}

double KernelRegression::predict(const KernelPlace &place) const {
  double sum = mean_;
  for (auto [sample, weight] : llvm::zip_equal(samples_, weights_))
    sum += weight * covariance(place, sample.place);
  return clamped(sum);
}

std::vector<double> KernelRegression::leaveOneOut() const {
  // Dubrule, "Cross validation of kriging in a unique neighborhood" (1983): the
  // mean is estimated without the sample, too.
  Eigen::LLT<Eigen::MatrixXd> factors = factorize();
  Eigen::Index count = sizeOf(samples_);
  Eigen::VectorXd ofOnes = factors.solve(Eigen::VectorXd::Ones(count));
  Eigen::VectorXd diagonal =
      factors.solve(Eigen::MatrixXd::Identity(count, count)).diagonal();
  diagonal -= ofOnes.cwiseAbs2() / ofOnes.sum();
  std::vector<double> result;
  for (Eigen::Index i = 0; i < count; ++i)
    result.push_back(clamped(samples_[i].logRatio - weights_[i] / diagonal[i]));
  return result;
}
