//===- SpecPropertyTest.cpp - Random specs and chains of operations -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "ExampleSpecs.h"
#include "PlanSimulation.h"
#include "soap/Partition/Needs.h"
#include "gtest/gtest.h"
#include <random>

using namespace soap;
using namespace soap::test;
using Shape = llvm::SmallVector<int64_t, 5>;
using Ids = llvm::SmallVector<int32_t, 8>;

static uint64_t baseSeed() {
  return fromEnvironment("SOAP_TEST_SEED", 20190331);
}

namespace {
struct Draw {
  std::mt19937_64 random;

  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  }
  /// Degrees that fit the loops, at most `limit` tasks.
  Degrees degrees(const PartitionSpec &spec, int64_t limit) {
    Degrees degrees;
    int64_t tasks = 1;
    for (const LoopSpec &loop : spec.loops) {
      int64_t degree =
          pick(0, 1) ? pick(1, std::min<int64_t>(loop.extent, 4)) : 1;
      if (tasks * degree > limit)
        degree = 1;
      tasks *= degree;
      degrees.loops.push_back(static_cast<int32_t>(degree));
    }
    if (tasks * 2 <= limit && pick(0, 3) == 0)
      degrees.replicate = 2;
    return degrees;
  }
  Ids devices(const Degrees &degrees, int32_t count) {
    Ids ids(degrees.numTasks());
    bool inOrder = pick(0, 2) != 0;
    for (size_t i = 0; i != ids.size(); ++i)
      ids[i] = static_cast<int32_t>(inOrder ? i % count : pick(0, count - 1));
    return ids;
  }
};
} // namespace

TEST(SpecProperty, ResultBoxesPartitionTheResult) {
  // Any spec that verify() accepts: every element is written once per part and
  // copy, and layouts agree with the boxes of tasks.
  static constexpr const char *names[] = {"a", "b", "c", "d"};
  int accepted = 0;
  for (int i = 0; i != 4000; ++i) {
    Draw draw{std::mt19937_64(baseSeed() + i)};
    PartitionSpec spec;
    int64_t numLoops = draw.pick(0, 4), rank = draw.pick(0, 3);
    for (int64_t l = 0; l != numLoops; ++l)
      spec.loops.push_back({names[l], draw.pick(1, 7)});
    ValueAccess access;
    Shape shape;
    for (int64_t d = 0; d != rank; ++d) {
      int64_t loop = draw.pick(-1, numLoops - 1);
      if (loop == -1) {
        shape.push_back(draw.pick(1, 5));
        access.dims.push_back(DimAccess::whole(shape.back()));
        continue;
      }
      int64_t mul = draw.pick(1, 3);
      // Now and then off by one: verify() has to notice.
      int64_t slip = draw.pick(0, 9) == 0;
      shape.push_back(spec.loops[loop].extent * mul);
      access.dims.push_back(DimAccess::window(loop, mul, 0, mul - 1 + slip));
    }
    access.combine = draw.pick(0, 1) ? Combine::Sum : Combine::Same;
    spec.results = {access};
    if (llvm::errorToBool(verify(spec, {}, {shape})))
      continue;
    ++accepted;
    Degrees degrees = draw.degrees(spec, 32);
    Layout layout =
        makeLayout(spec, 0, degrees, draw.devices(degrees, 8), shape);
    int64_t written = 0;
    std::vector<bool> seen(degrees.numTasks(), false);
    for (size_t slot = 0; slot != layout.tasks.size(); ++slot) {
      int32_t task = layout.tasks[slot];
      EXPECT_FALSE(seen[task]) << "seed " << baseSeed() + i;
      seen[task] = true;
      Box box = layout.tileBox(slot / layout.copies / layout.parts);
      EXPECT_EQ(box, resultBox(spec, 0, degrees, task, shape));
      written += volume(box);
    }
    EXPECT_EQ(written, volume(wholeBox(shape)) * layout.parts * layout.copies);
    EXPECT_EQ(layout.shape(), shape);
    // Tiles of a grid are disjoint if their volumes add up and cuts ascend.
    for (const auto &cuts : layout.cuts)
      for (size_t k = 1; k != cuts.size(); ++k)
        EXPECT_LT(cuts[k - 1], cuts[k]);
  }
  EXPECT_GT(accepted, 1000);
}

/// Convolutions and additions as a network connects them: the plan serves every
/// task the box that its spec names, at up to 64 devices.
TEST(SpecProperty, ChainsOfConvolutions) {
  int collectives = 0;
  for (int i = 0; i != 3000; ++i) {
    Draw draw{std::mt19937_64(baseSeed() + i)};
    int64_t n = draw.pick(1, 4), f = draw.pick(1, 6), h = draw.pick(3, 9);
    int64_t stride = draw.pick(1, 2), kernel = draw.pick(1, 3),
            pad = draw.pick(0, kernel - 1);
    int64_t h2 = (h + 2 * pad - kernel) / stride + 1;
    PartitionSpec first = convSpec(n, f, h, h, 5, 3, 1, 1);
    PartitionSpec second = convSpec(n, 4, h2, h2, f, kernel, stride, pad);
    PartitionSpec add = elementwiseSpec({n, f, h, h});
    Shape shape{n, f, h, h};
    ASSERT_EQ(
        toString(verify(first, {{n, 5, h, h}, {f, 5, 3, 3}, {f}}, {shape})),
        "");
    ASSERT_EQ(toString(verify(second, {shape, {4, f, kernel, kernel}, {4}},
                              {{n, 4, h2, h2}})),
              "");
    int32_t devices = 1 << draw.pick(0, 6);
    Degrees d1 = draw.degrees(first, devices),
            d2 = draw.degrees(second, devices), d3 = draw.degrees(add, devices);
    Layout producer =
        makeLayout(first, 0, d1, draw.devices(d1, devices), shape);
    std::vector<Need> needs{
        needOf({second, 0, d2, draw.devices(d2, devices)}, shape),
        needOf({add, 1, d3, draw.devices(d3, devices)}, shape)};
    ValuePlan plan = planValue(producer, needs);
    ASSERT_EQ(toString(verify(plan, producer, needs)), "")
        << "seed " << baseSeed() + i;
    ASSERT_EQ(simulate(plan, producer, needs), "") << "seed " << baseSeed() + i;
    for (const Read &read : plan.reads)
      ASSERT_EQ(read.box,
                operandBox(read.consumer == 0 ? second : add, read.consumer,
                           read.consumer ? d3 : d2, read.task, shape));
    for (const Action &action : plan.actions)
      collectives += action.kind != ActionKind::Transfer;
  }
  EXPECT_GT(collectives, 500);
}
