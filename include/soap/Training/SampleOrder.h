//===- SampleOrder.h - Which samples a step takes ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An epoch takes every sample once, in the order of the file or in a random one
// that follows from a seed and the number of the epoch alone. So a position is
// enough to go on anywhere.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRAINING_SAMPLEORDER_H
#define SOAP_TRAINING_SAMPLEORDER_H

#include <cstdint>
#include <optional>
#include <vector>

namespace soap::training {

/// A place in the data.
struct Position {
  uint64_t epoch = 0;  ///< From 0.
  uint64_t offset = 0; ///< Samples of the epoch that were taken before.

  bool operator==(const Position &other) const {
    return epoch == other.epoch && offset == other.offset;
  }
};

/// The samples of a batch.
struct Batch {
  /// As many as a step takes. The last batch of an epoch that has not enough
  /// goes on with the first samples of the same epoch.
  std::vector<uint64_t> samples;
  uint64_t fresh = 0; ///< The first ones, which the epoch had not taken yet.
};

class SampleOrder {
public:
  /// Of `samples` samples in batches of `batch`; both are at least 1, and with
  /// `dropLast` there are enough samples for a batch. No `seed`: in the order
  /// of the file. `dropLast`: an epoch ends before a batch that is not full.
  SampleOrder(uint64_t samples, uint64_t batch, std::optional<uint64_t> seed,
              bool dropLast);

  /// The batch at `position`, which is moved behind it.
  Batch next(Position &position);

  /// Batches from `position` to the beginning of epoch `epoch`.
  uint64_t batchesUntil(Position position, uint64_t epoch) const;
  /// In a whole epoch.
  uint64_t batchesPerEpoch() const;

private:
  /// The next epoch's beginning where this one has no batch any more.
  Position settled(Position position) const;
  /// Makes the order of an epoch.
  void open(uint64_t epoch);

  uint64_t samples_, batch_;
  std::optional<uint64_t> seed_;
  bool dropLast_;
  std::optional<uint64_t> opened_; ///< The epoch that `order_` is of.
  std::vector<uint64_t> order_;    ///< Empty: that of the file.
};

} // namespace soap::training

#endif // SOAP_TRAINING_SAMPLEORDER_H
