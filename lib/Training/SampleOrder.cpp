//===- SampleOrder.cpp - Which samples a step takes -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/SampleOrder.h"
#include "soap/Runtime/RandomRecipe.h"
#include <algorithm>
#include <numeric>

using namespace soap;
using namespace soap::training;

SampleOrder::SampleOrder(uint64_t samples, uint64_t batch,
                         std::optional<uint64_t> seed, bool dropLast)
    : samples_(samples), batch_(batch), seed_(seed), dropLast_(dropLast) {}

Position SampleOrder::settled(Position position) const {
  uint64_t left = samples_ - std::min(position.offset, samples_);
  if (left == 0 || (dropLast_ && left < batch_))
    return {position.epoch + 1, 0};
  return position;
}

/// Fisher and Yates's shuffle, with the words of a counter-based generator: a
/// word times the number of choices, shifted, is biased by less than 2^-32 for
/// as many samples as memory holds.
void SampleOrder::open(uint64_t epoch) {
  if (!seed_ || opened_ == epoch)
    return;
  opened_ = epoch;
  order_.resize(samples_);
  std::iota(order_.begin(), order_.end(), 0);
  uint64_t key = recipe::keyOf(*seed_, epoch);
  for (uint64_t i = samples_; i > 1; --i) {
    uint64_t word = recipe::mix(key + i * recipe::golden);
    auto choice =
        static_cast<uint64_t>(static_cast<unsigned __int128>(word) * i >> 64);
    std::swap(order_[i - 1], order_[choice]);
  }
}

Batch SampleOrder::next(Position &position) {
  position = settled(position);
  open(position.epoch);
  Batch result;
  result.fresh = std::min(batch_, samples_ - position.offset);
  for (uint64_t i = 0; i != batch_; ++i) {
    uint64_t at = (position.offset + i) % samples_;
    result.samples.push_back(order_.empty() ? at : order_[at]);
  }
  position = settled({position.epoch, position.offset + result.fresh});
  return result;
}

uint64_t SampleOrder::batchesPerEpoch() const {
  return (samples_ + (dropLast_ ? 0 : batch_ - 1)) / batch_;
}

uint64_t SampleOrder::batchesUntil(Position position, uint64_t epoch) const {
  position = settled(position);
  if (position.epoch >= epoch)
    return 0;
  uint64_t left = samples_ - position.offset;
  uint64_t rest = (left + (dropLast_ ? 0 : batch_ - 1)) / batch_;
  return rest + (epoch - position.epoch - 1) * batchesPerEpoch();
}
