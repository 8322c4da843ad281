//===- KernelRegression.h - Kernels that were not measured ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COSTMODEL_KERNELREGRESSION_H
#define SOAP_LIB_COSTMODEL_KERNELREGRESSION_H

#include "soap/CostModel/KernelTable.h"
#include <Eigen/Cholesky>
#include <vector>

namespace soap::detail {

/// What a kernel is, for comparing it with others of its class.
struct KernelPlace {
  KernelPlace(llvm::StringRef key, const KernelWork &work);

  /// Logarithms of flops, bytes, rows, columns and depth.
  std::array<double, 5> sizes;
  /// A hash of what the key says beside sizes: attributes, ranks, element
  /// types.
  uint64_t attributes;
};

/// How far the kernels of one class are off from the analytic model: ordinary
/// kriging, a Gaussian process whose mean is constant but not known
/// (Rasmussen, Williams, "Gaussian processes for machine learning", 2006,
/// sections 2.2 and 2.7). Kernels are alike as far as their sizes are, and more
/// so with equal attributes.
class KernelRegression {
public:
  struct Sample {
    KernelPlace place;
    double logRatio; ///< log(measured / analytic).
  };
  /// A fit takes the third power of the number of samples, a prediction is
  /// linear in it.
  static constexpr size_t mostSamples = 512;

  /// At least one sample, and at most mostSamples.
  explicit KernelRegression(std::vector<Sample> samples);

  /// log(measured / analytic) of a kernel; within log(1.5) of what was measured
  /// of any.
  double predict(const KernelPlace &place) const;
  /// What would be predicted of each sample without that sample; at least two.
  std::vector<double> leaveOneOut() const;

private:
  double covariance(const KernelPlace &a, const KernelPlace &b) const;
  double clamped(double logRatio) const;
  /// Of the covariances of all samples.
  Eigen::LLT<Eigen::MatrixXd> factorize() const;

  std::vector<Sample> samples_;
  std::array<double, 5> center_; ///< Mean of the sizes.
  /// Of the ratios; the mean is the one that is most likely.
  double mean_ = 0, least_ = 0, most_ = 0;
  std::vector<double> weights_; ///< Of what a prediction adds to the mean.
};

} // namespace soap::detail

#endif // SOAP_LIB_COSTMODEL_KERNELREGRESSION_H
