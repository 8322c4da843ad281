//===- SampleOrderTest.cpp - Which samples a step takes ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Training/SampleOrder.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace soap::training;

/// The samples that count of all batches of some epochs, by epoch.
static std::vector<std::vector<uint64_t>>
takeEpochs(SampleOrder &order, Position position, uint64_t epochs) {
  std::vector<std::vector<uint64_t>> taken(epochs);
  uint64_t left = order.batchesUntil(position, epochs);
  while (true) {
    uint64_t epoch = position.epoch;
    if (left-- == 0)
      return taken;
    Batch batch = order.next(position);
    taken[epoch].insert(taken[epoch].end(), batch.samples.begin(),
                        batch.samples.begin() +
                            static_cast<std::ptrdiff_t>(batch.fresh));
  }
}

TEST(SampleOrder, EveryEpochTakesEverySampleOnce) {
  for (uint64_t samples : {1u, 2u, 7u, 12u, 100u})
    for (uint64_t batch : {1u, 3u, 4u, 13u})
      for (bool shuffles : {false, true}) {
        SampleOrder order(samples, batch,
                          shuffles ? std::optional<uint64_t>(5) : std::nullopt,
                          false);
        for (std::vector<uint64_t> taken : takeEpochs(order, {}, 3)) {
          if (!shuffles) {
            EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
          }
          std::sort(taken.begin(), taken.end());
          std::vector<uint64_t> all(samples);
          std::iota(all.begin(), all.end(), 0);
          EXPECT_EQ(taken, all) << samples << " in batches of " << batch;
        }
      }
}

TEST(SampleOrder, DropLastTakesFullBatchesAlone) {
  SampleOrder order(11, 4, 3, /*dropLast=*/true);
  EXPECT_EQ(order.batchesPerEpoch(), 2u);
  Position position;
  for (int i = 0; i != 6; ++i) {
    EXPECT_EQ(position.epoch, static_cast<uint64_t>(i / 2));
    EXPECT_EQ(order.next(position).fresh, 4u);
  }
  // A place that a smaller batch has left, without room for a full one.
  Position late{0, 9};
  EXPECT_EQ(order.batchesUntil(late, 2), 2u);
  order.next(late);
  EXPECT_EQ(late, (Position{1, 4}));
}

TEST(SampleOrder, ABatchThatIsNotFullGoesOnWithTheFirstSamples) {
  SampleOrder order(5, 3, std::nullopt, false);
  Position position{0, 3};
  Batch batch = order.next(position);
  EXPECT_EQ(batch.samples, (std::vector<uint64_t>{3, 4, 0}));
  EXPECT_EQ(batch.fresh, 2u);
  EXPECT_EQ(position, (Position{1, 0}));
  SampleOrder small(2, 5, std::nullopt, false);
  position = {};
  batch = small.next(position);
  EXPECT_EQ(batch.samples, (std::vector<uint64_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(batch.fresh, 2u);
}

TEST(SampleOrder, OrdersFollowFromSeedAndEpochAlone) {
  SampleOrder first(50, 8, 7, false), second(50, 8, 7, false),
      other(50, 8, 8, false);
  auto taken = takeEpochs(first, {}, 4);
  EXPECT_NE(taken[0], taken[1]);
  EXPECT_NE(taken[0], takeEpochs(other, {}, 1)[0]);
  // From the middle: the same samples in the same order.
  auto late = takeEpochs(second, {2, 16}, 4);
  EXPECT_EQ(late[3], taken[3]);
  EXPECT_EQ(late[2],
            std::vector<uint64_t>(taken[2].begin() + 16, taken[2].end()));
}

TEST(SampleOrder, EveryPlaceIsAsLikelyForEverySample) {
  constexpr uint64_t samples = 6, seeds = 6000;
  uint64_t counts[samples][samples] = {};
  for (uint64_t seed = 0; seed != seeds; ++seed) {
    SampleOrder order(samples, samples, seed, false);
    Position position;
    Batch batch = order.next(position);
    for (uint64_t i = 0; i != samples; ++i)
      ++counts[i][batch.samples[i]];
  }
  // 1000 are expected, with a standard deviation of 29.
  for (auto &row : counts)
    for (uint64_t count : row)
      EXPECT_NEAR(static_cast<double>(count), 1000, 150);
}
