//===- PlacementLearners.cpp - Distributions over placements --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementLearners.h"
#include <cmath>

using namespace soap;
using namespace soap::detail;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

void PlacementDistribution::add(ArrayRef<double> changes) {
  for (auto [logit, change] : llvm::zip_equal(logits_, changes))
    logit += change;
  for (size_t block = 0; block < numBlocks(); ++block) {
    auto logits = ArrayRef(logits_).slice(block * devices_, devices_);
    auto values =
        llvm::MutableArrayRef(values_).slice(block * devices_, devices_);
    double largest = *llvm::max_element(logits), sum = 0;
    for (auto [value, logit] : llvm::zip_equal(values, logits))
      sum += value = std::exp(logit - largest);
    for (double &value : values)
      value /= sum;
  }
}

void PlacementDistribution::set(size_t block, ArrayRef<double> probabilities) {
  for (auto [device, value] : llvm::enumerate(probabilities)) {
    values_[block * devices_ + device] = value;
    logits_[block * devices_ + device] = std::log(value);
  }
}

std::vector<int32_t> PlacementDistribution::draw(Random &random) const {
  std::vector<int32_t> places;
  for (size_t block = 0; block < numBlocks(); ++block) {
    double left = random.uniform();
    int32_t device = 0;
    for (; device + 1 < devices_; ++device) {
      left -= of(block)[device];
      if (left < 0)
        break;
    }
    places.push_back(device);
  }
  return places;
}

bool PlacementDistribution::isDecided() const {
  double likeliest = 0;
  for (size_t block = 0; block < numBlocks(); ++block)
    likeliest += *llvm::max_element(of(block));
  return likeliest > 0.97 * static_cast<double>(numBlocks());
}

//===----------------------------------------------------------------------===//
// Advantages
//===----------------------------------------------------------------------===//

namespace {
/// How much better samples are than those before: the reward is minus the
/// square root of the step, the baseline a moving average of rewards
/// (Mirhoseini et al., 2017, section 3.1). Advantages are in units of the
/// rewards' deviation.
class Advantages {
public:
  std::vector<double> of(ArrayRef<PlacementSample> samples);

private:
  static constexpr double kept = 0.9;
  double mean_ = 0, square_ = 0; ///< Moving averages.
  bool isKnown_ = false;
};

/// REINFORCE; logits follow by Adam.
class PolicyGradient final : public PlacementUpdate {
public:
  void learn(ArrayRef<PlacementSample> samples,
             PlacementDistribution &distribution) override;

private:
  Advantages advantages_;
  std::vector<double> first_, second_;
  int64_t step_ = 0;
};

/// Steps of proximal policy optimization after every update's samples, and
/// every few updates a move to the frequencies among the fastest samples.
class Post final : public PlacementUpdate {
public:
  void learn(ArrayRef<PlacementSample> samples,
             PlacementDistribution &distribution) override;

private:
  void improve(ArrayRef<PlacementSample> samples,
               PlacementDistribution &distribution);
  void moveToElite(PlacementDistribution &distribution);

  Advantages advantages_;
  double penalty_ = 1; ///< Of the divergence.
  std::vector<PlacementSample> recent_;
};
} // namespace

std::vector<double> Advantages::of(ArrayRef<PlacementSample> samples) {
  // What does not fit is as bad as the worst that does, doubled.
  int64_t worst = 1;
  for (const PlacementSample &sample : samples)
    worst = std::max(worst, sample.stepNs);
  std::vector<double> rewards;
  double mean = 0, square = 0;
  auto count = static_cast<double>(samples.size());
  for (const PlacementSample &sample : samples) {
    rewards.push_back(-std::sqrt(
        static_cast<double>(sample.stepNs >= 0 ? sample.stepNs : 2 * worst)));
    mean += rewards.back() / count;
  }
  for (double reward : rewards)
    square += (reward - mean) * (reward - mean) / count;
  double share = isKnown_ ? 1 - kept : 1;
  isKnown_ = true;
  mean_ += share * (mean - mean_);
  square_ += share * (square - square_);
  double unit = std::max(std::sqrt(square_), 1e-9 * std::abs(mean_));
  for (double &reward : rewards)
    reward = (reward - mean_) / unit;
  return rewards;
}

//===----------------------------------------------------------------------===//
// Learning
//===----------------------------------------------------------------------===//

PlacementUpdate::~PlacementUpdate() = default;

void PolicyGradient::learn(ArrayRef<PlacementSample> samples,
                           PlacementDistribution &distribution) {
  constexpr double rate = 0.1, keepFirst = 0.9, keepSecond = 0.999;
  int32_t devices = distribution.numDevices();
  std::vector<double> gradient(distribution.values().size(), 0);
  auto count = static_cast<double>(samples.size());
  for (auto [sample, advantage] :
       llvm::zip_equal(samples, advantages_.of(samples)))
    for (size_t block = 0; block < distribution.numBlocks(); ++block)
      for (int32_t device = 0; device < devices; ++device)
        gradient[block * devices + device] +=
            advantage / count *
            ((sample.places[block] == device ? 1 : 0) -
             distribution.of(block)[device]);
  first_.resize(gradient.size(), 0);
  second_.resize(gradient.size(), 0);
  auto exponent = static_cast<double>(++step_);
  for (size_t i = 0; i < gradient.size(); ++i) {
    first_[i] = keepFirst * first_[i] + (1 - keepFirst) * gradient[i];
    second_[i] =
        keepSecond * second_[i] + (1 - keepSecond) * gradient[i] * gradient[i];
    double momentum = first_[i] / (1 - std::pow(keepFirst, exponent));
    double scale = std::sqrt(second_[i] / (1 - std::pow(keepSecond, exponent)));
    gradient[i] = rate * momentum / (scale + 1e-8);
  }
  distribution.add(gradient);
}

void Post::learn(ArrayRef<PlacementSample> samples,
                 PlacementDistribution &distribution) {
  constexpr size_t updates = 8; // Between two moves to the elite.
  improve(samples, distribution);
  recent_.insert(recent_.end(), samples.begin(), samples.end());
  if (recent_.size() < updates * numSamples)
    return;
  moveToElite(distribution);
  recent_.clear();
}

/// Gradient steps on the samples' advantages, weighted by how much likelier
/// they became, less a penalty on the divergence from what drew them. The
/// penalty follows the divergence (Schulman et al., "Proximal policy
/// optimization algorithms", 2017, section 4).
void Post::improve(ArrayRef<PlacementSample> samples,
                   PlacementDistribution &distribution) {
  constexpr int steps = 10;
  constexpr double rate = 0.5, target = 0.01;
  std::vector<double> before = distribution.values().vec();
  std::vector<double> advantages = advantages_.of(samples);
  int32_t devices = distribution.numDevices();
  auto count = static_cast<double>(samples.size());
  std::vector<double> change(before.size());
  for (int step = 0; step < steps; ++step) {
    ArrayRef<double> now = distribution.values();
    for (size_t i = 0; i < before.size(); ++i)
      change[i] = rate * penalty_ * (before[i] - now[i]);
    for (auto [sample, advantage] : llvm::zip_equal(samples, advantages))
      for (size_t block = 0; block < distribution.numBlocks(); ++block) {
        size_t row = block * devices, place = row + sample.places[block];
        double weight = rate * advantage / count * now[place] / before[place];
        for (size_t i = row; i < row + devices; ++i)
          change[i] += weight * ((i == place ? 1 : 0) - now[i]);
      }
    distribution.add(change);
  }
  double divergence = 0;
  for (auto [old, now] : llvm::zip_equal(before, distribution.values()))
    divergence += old * std::log(old / std::max(now, 1e-12));
  divergence /= static_cast<double>(distribution.numBlocks());
  if (divergence > 1.5 * target)
    penalty_ *= 2;
  else if (divergence < target / 1.5)
    penalty_ /= 2;
}

/// Towards what a maximum-likelihood estimate says of the elite, mixed with the
/// uniform distribution, so that no device dies out.
void Post::moveToElite(PlacementDistribution &distribution) {
  constexpr double elite = 0.1, rate = 0.3, uniform = 0.02;
  std::vector<const PlacementSample *> sorted;
  for (const PlacementSample &sample : recent_)
    if (sample.stepNs >= 0)
      sorted.push_back(&sample);
  if (sorted.empty())
    return;
  llvm::stable_sort(sorted, [](const auto *a, const auto *b) {
    return a->stepNs < b->stepNs;
  });
  auto most = static_cast<size_t>(
      std::ceil(elite * static_cast<double>(recent_.size())));
  sorted.resize(std::min(sorted.size(), most));
  auto count = static_cast<double>(sorted.size());
  int32_t devices = distribution.numDevices();
  for (size_t block = 0; block < distribution.numBlocks(); ++block) {
    std::vector<double> row = distribution.of(block).vec();
    for (double &value : row)
      value *= 1 - rate;
    for (const PlacementSample *sample : sorted)
      row[sample->places[block]] += rate / count;
    for (double &value : row)
      value = (1 - uniform) * value + uniform / devices;
    distribution.set(block, row);
  }
}

std::unique_ptr<PlacementUpdate>
detail::createPlacementUpdate(PlacementLearner learner) {
  if (learner == PlacementLearner::CrossEntropy)
    return std::make_unique<Post>();
  return std::make_unique<PolicyGradient>();
}
