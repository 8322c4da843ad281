//===- KernelTable.cpp - Measured times of kernels ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/KernelTable.h"
#include "KernelRegression.h"
#include "soap/CostModel/CostModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cmath>
#include <mutex>

using namespace soap;

llvm::StringRef soap::kernelClass(llvm::StringRef key) {
  return key.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

llvm::StringRef soap::firstOfJoined(llvm::StringRef key) {
  return key.split(" + ").first;
}

void KernelTable::add(llvm::StringRef key, int64_t ns,
                      std::optional<KernelWork> work) {
  times_[key] = ns;
  // Copies of the table may still read the others.
  fits_ = std::make_shared<Fits>();
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

//===----------------------------------------------------------------------===//
// Kernels that were not measured
//===----------------------------------------------------------------------===//

/// What was fitted to the samples of each class, when it was first asked for.
struct KernelTable::Fits {
  std::mutex mutex;
  /// The rates behind the analytic times.
  std::optional<DeviceKind> kind;
  /// Null: no sample says anything.
  llvm::StringMap<std::shared_ptr<const detail::KernelRegression>> classes;
};

KernelTable::KernelTable() : fits_(std::make_shared<Fits>()) {}

static bool haveEqualRates(const DeviceKind &a, const DeviceKind &b) {
  auto rates = [](const DeviceKind &kind) {
    return std::tuple(kind.peakFlops, kind.memoryBandwidth, kind.cacheBytes,
                      kind.cacheBandwidth, kind.halfRows, kind.halfColumns,
                      kind.halfDepth, kind.launchNs, kind.tf32Flops,
                      kind.bf16Flops, kind.f16Flops, kind.i8Flops);
  };
  return rates(a) == rates(b);
}

/// The samples to fit to: all, or as many as a fit can have, chosen by a hash
/// of their keys.
std::vector<const KernelTable::Sample *>
KernelTable::fittedSamples(llvm::ArrayRef<Sample> samples,
                           const DeviceKind &kind) {
  std::vector<const Sample *> fitted;
  for (const Sample &sample : samples)
    if (sample.ns > 0 && CostModel::analyticNs(sample.work, kind) > 0)
      fitted.push_back(&sample);
  constexpr size_t most = detail::KernelRegression::mostSamples;
  if (fitted.size() > most) {
    auto hash = [](const Sample *sample) {
      return llvm::xxh3_64bits(sample->key);
    };
    llvm::stable_sort(fitted, [&](const Sample *a, const Sample *b) {
      return hash(a) < hash(b);
    });
    fitted.resize(most);
  }
  return fitted;
}

static std::shared_ptr<const detail::KernelRegression>
fit(llvm::ArrayRef<const KernelTable::Sample *> samples,
    const DeviceKind &kind) {
  if (samples.empty())
    return nullptr;
  std::vector<detail::KernelRegression::Sample> ratios;
  for (const KernelTable::Sample *sample : samples) {
    auto analytic =
        static_cast<double>(CostModel::analyticNs(sample->work, kind));
    ratios.push_back({detail::KernelPlace(sample->key, sample->work),
                      std::log(static_cast<double>(sample->ns) / analytic)});
  }
  return std::make_shared<const detail::KernelRegression>(std::move(ratios));
}

double KernelTable::factor(llvm::StringRef key, const KernelWork &work,
                           const DeviceKind &kind) const {
  auto samples = classes_.find(kernelClass(key));
  if (samples == classes_.end())
    return 1;
  std::shared_ptr<const detail::KernelRegression> fitted;
  {
    std::lock_guard<std::mutex> lock(fits_->mutex);
    if (!fits_->kind || !haveEqualRates(*fits_->kind, kind)) {
      fits_->classes.clear();
      fits_->kind = kind;
    }
    auto [place, isNew] = fits_->classes.try_emplace(samples->getKey());
    if (isNew)
      place->getValue() = fit(fittedSamples(samples->getValue(), kind), kind);
    fitted = place->getValue();
  }
  return fitted ? std::exp(fitted->predict(detail::KernelPlace(key, work))) : 1;
}

std::vector<ClassError> KernelTable::errors(const DeviceKind &kind) const {
  std::vector<ClassError> result;
  for (const auto &entry : classes_) {
    std::vector<const Sample *> samples = fittedSamples(entry.getValue(), kind);
    if (samples.size() < 2)
      continue;
    ClassError error;
    error.name = entry.getKey().str();
    error.count = samples.size();
    for (auto [sample, logRatio] :
         llvm::zip_equal(samples, fit(samples, kind)->leaveOneOut())) {
      auto analytic =
          static_cast<double>(CostModel::analyticNs(sample->work, kind));
      auto measured = static_cast<double>(sample->ns);
      error.analytic += std::abs(analytic / measured - 1);
      error.leaveOneOut +=
          std::abs(analytic * std::exp(logRatio) / measured - 1);
    }
    error.analytic /= static_cast<double>(error.count);
    error.leaveOneOut /= static_cast<double>(error.count);
    result.push_back(std::move(error));
  }
  llvm::sort(result, [](const ClassError &a, const ClassError &b) {
    return a.name < b.name;
  });
  return result;
}
