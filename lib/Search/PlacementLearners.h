//===- PlacementLearners.h - Distributions over placements ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What learns from simulated steps where to place blocks of operations.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_PLACEMENTLEARNERS_H
#define SOAP_LIB_SEARCH_PLACEMENTLEARNERS_H

#include "soap/Search/Random.h"
#include "soap/Search/SearchAlgorithm.h"
#include <memory>

namespace soap::detail {

/// A placement that was drawn: a device per block, and its step.
struct PlacementSample {
  std::vector<int32_t> places;
  int64_t stepNs = -1; ///< -1: it does not fit into memory.
};

/// Independent probabilities for every block and device: a softmax of logits
/// per block, uniform at first.
class PlacementDistribution {
public:
  PlacementDistribution(size_t blocks, int32_t devices)
      : devices_(devices), logits_(blocks * devices, 0),
        values_(blocks * devices, 1.0 / devices) {}

  size_t numBlocks() const { return values_.size() / devices_; }
  int32_t numDevices() const { return devices_; }
  /// Of one block, per device; of all blocks.
  llvm::ArrayRef<double> of(size_t block) const {
    return llvm::ArrayRef(values_).slice(block * devices_, devices_);
  }
  llvm::ArrayRef<double> values() const { return values_; }
  /// Adds something to the logits, [block][device].
  void add(llvm::ArrayRef<double> changes);
  /// Gives a block other probabilities, none of them zero.
  void set(size_t block, llvm::ArrayRef<double> probabilities);
  std::vector<int32_t> draw(Random &random) const;
  /// True if hardly anything else than the likeliest placement is drawn.
  bool isDecided() const;

private:
  int32_t devices_;
  std::vector<double> logits_, values_; ///< [block][device].
};

/// What makes the next distribution of the samples that the last one drew.
class PlacementUpdate {
public:
  virtual ~PlacementUpdate();
  /// Learns from `samples`, numSamples of them.
  virtual void learn(llvm::ArrayRef<PlacementSample> samples,
                     PlacementDistribution &distribution) = 0;
  /// Samples between two updates.
  static constexpr size_t numSamples = 16;
};

std::unique_ptr<PlacementUpdate>
createPlacementUpdate(PlacementLearner learner);

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_PLACEMENTLEARNERS_H
