//===- KernelTable.cpp - Measured times of kernels ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/KernelTable.h"
#include "soap/CostModel/CostModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>

using namespace soap;

llvm::StringRef soap::kernelClass(llvm::StringRef key) {
  return key.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

void KernelTable::add(llvm::StringRef key, int64_t ns,
                      std::optional<KernelWork> work) {
  times_[key] = ns;
  std::vector<Sample> &samples = classes_[kernelClass(key)];
  auto at = llvm::lower_bound(samples, key,
                              [](const Sample &sample, llvm::StringRef wanted) {
                                return sample.key < wanted;
                              });
  bool known = at != samples.end() && at->key == key;
  if (known && !work)
    samples.erase(at);
  else if (known)
    *at = {key.str(), ns, *work};
  else if (work)
    samples.insert(at, {key.str(), ns, *work});
}

std::optional<int64_t> KernelTable::find(llvm::StringRef key) const {
  auto entry = times_.find(key);
  if (entry == times_.end())
    return std::nullopt;
  return entry->getValue();
}

/// Where some work is in the space in which work is similar: logarithms of
/// sizes.
static std::array<double, 5> placeOf(const KernelWork &work) {
  auto log = [](double size) { return std::log(std::max(size, 1.0)); };
  return {log(work.flops), log(work.bytes), log(static_cast<double>(work.rows)),
          log(static_cast<double>(work.columns)),
          log(static_cast<double>(work.depth))};
}

double KernelTable::logFactor(const std::vector<Sample> &samples,
                              const KernelWork &work, const DeviceKind &kind,
                              const Sample *without) {
  // Work that differs by a factor of e in one size counts 1/e^(1/2) as much as
  // equal work. The mean of the class counts as half a kernel of equal work, so
  // that one neighbour alone does not decide, and it is what is left far away
  // from all of them.
  constexpr double width = 1, weightOfMean = 0.5;
  std::array<double, 5> place = placeOf(work);
  double sum = 0, weights = 0, all = 0, count = 0;
  for (const Sample &sample : samples) {
    int64_t analytic = CostModel::analyticNs(sample.work, kind);
    if (&sample == without || sample.ns <= 0 || analytic <= 0)
      continue;
    double distance = 0;
    for (auto [mine, other] : llvm::zip_equal(place, placeOf(sample.work)))
      distance += (mine - other) * (mine - other);
    double weight = std::exp(-distance / (2 * width * width));
    double ratio = std::log(static_cast<double>(sample.ns) /
                            static_cast<double>(analytic));
    sum += weight * ratio;
    weights += weight;
    all += ratio;
    ++count;
  }
  if (count == 0)
    return 0;
  return (sum + weightOfMean * all / count) / (weights + weightOfMean);
}

double KernelTable::factor(llvm::StringRef key, const KernelWork &work,
                           const DeviceKind &kind) const {
  auto samples = classes_.find(kernelClass(key));
  if (samples == classes_.end() || samples->getValue().empty())
    return 1;
  return std::exp(logFactor(samples->getValue(), work, kind));
}

std::vector<ClassError> KernelTable::errors(const DeviceKind &kind) const {
  std::vector<ClassError> result;
  for (const auto &entry : classes_) {
    ClassError error;
    error.name = entry.getKey().str();
    for (const Sample &sample : entry.getValue()) {
      auto analytic =
          static_cast<double>(CostModel::analyticNs(sample.work, kind));
      auto measured = static_cast<double>(sample.ns);
      if (!(analytic > 0) || !(measured > 0))
        continue;
      double factor =
          std::exp(logFactor(entry.getValue(), sample.work, kind, &sample));
      ++error.count;
      error.analytic += std::abs(analytic / measured - 1);
      error.leaveOneOut += std::abs(analytic * factor / measured - 1);
    }
    if (error.count < 2)
      continue;
    error.analytic /= static_cast<double>(error.count);
    error.leaveOneOut /= static_cast<double>(error.count);
    result.push_back(std::move(error));
  }
  llvm::sort(result, [](const ClassError &a, const ClassError &b) {
    return a.name < b.name;
  });
  return result;
}
