//===- CommPlanTest.cpp - Every row of the table --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSimulation.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;
using Ids = llvm::SmallVector<int32_t, 8>;

/// Plans, checks in both ways, and summarizes.
static std::string planOf(const Layout &producer, llvm::ArrayRef<Need> needs,
                          ValuePlan *out = nullptr, RouteCost route = nullptr) {
  ValuePlan plan = planValue(producer, needs, route);
  EXPECT_EQ(toString(verify(plan, producer, needs)), "");
  EXPECT_EQ(simulate(plan, producer, needs), "");
  std::string text = summarize(plan);
  if (out)
    *out = std::move(plan);
  return text;
}

TEST(CommPlan, NoConsumers) {
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({4}, {2}, {0, 1}), {}, &plan), "");
  EXPECT_EQ(plan.shards.size(), 2u);
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 1}, /*parts=*/2), {}), "")
      << "nobody needs the sum";
}

TEST(CommPlan, Local) {
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({4, 6}, {2, 2}, {0, 1, 2, 3}),
                   gridNeed({4, 6}, {2, 2}, {0, 1, 2, 3}), &plan),
            "");
  ASSERT_EQ(plan.reads.size(), 4u);
  EXPECT_EQ(plan.reads[2].pieces.size(), 1u);
  EXPECT_EQ(plan.reads[2].pieces[0].shard, 2);
  // A replica has everything; finer and coarser tiles on the same devices too.
  EXPECT_EQ(planOf(gridLayout({8}, {1}, {0, 1}, 1, 2),
                   gridNeed({8}, {4}, {0, 1, 1, 0})),
            "");
  EXPECT_EQ(
      planOf(gridLayout({8}, {4}, {0, 0, 1, 1}), gridNeed({8}, {2}, {0, 1})),
      "");
}

static Need takerOf(const Layout &producer) {
  Need need;
  for (const auto &cuts : producer.cuts) {
    auto &ranges = need.ranges.emplace_back();
    for (size_t i = 0; i + 1 != cuts.size(); ++i)
      ranges.push_back({cuts[i], cuts[i + 1]});
  }
  need.parts = producer.parts;
  need.copies = producer.copies;
  need.devices = producer.devices;
  need.tasks = producer.tasks;
  return need;
}

TEST(CommPlan, Parts) {
  ValuePlan plan;
  Layout producer = gridLayout({4}, {1}, {0, 1, 2, 3}, /*parts=*/4);
  Need taker = takerOf(producer);
  EXPECT_EQ(planOf(producer, taker, &plan), "") << "taken where they are";
  ASSERT_EQ(plan.reads.size(), 4u);
  EXPECT_EQ(plan.shards[plan.reads[2].pieces[0].shard].part, 2);
  // Another consumer wants the sum; both get what they need.
  Need sum = gridNeed({4}, {1}, {0, 1, 2, 3}, /*copies=*/4);
  EXPECT_EQ(planOf(producer, {taker, sum}, &plan),
            "all_reduce [0, 1, 2, 3]: 0 [0:4], 1 [0:4], 2 [0:4], 3 [0:4] -> "
            "0 [0:4], 1 [0:4], 2 [0:4], 3 [0:4]\n");
  EXPECT_EQ(plan.reads.size(), 8u);
  // One that runs elsewhere, or in other tiles, takes the sum once.
  Need elsewhere = taker;
  elsewhere.devices = {4, 5, 6, 7};
  planOf(producer, elsewhere, &plan);
  EXPECT_EQ(plan.reads.size(), 1u);
  EXPECT_EQ(plan.reads[0].device, 4);
  // Several parts on one device are taken one by one.
  Layout folded = gridLayout({4}, {1}, {0, 0, 1, 1}, /*parts=*/4);
  EXPECT_EQ(planOf(folded, takerOf(folded), &plan), "");
  EXPECT_TRUE(plan.reductions.empty());
  // Only sums may be taken apart.
  producer.combine = Combine::Max;
  EXPECT_NE(planOf(producer, taker), "");
}

TEST(CommPlan, OneShardIsOnePiece) {
  ValuePlan plan;
  planOf(gridLayout({8}, {4}, {0, 0, 1, 1}), gridNeed({8}, {2}, {0, 1}), &plan);
  EXPECT_EQ(plan.reads[0].pieces.size(), 2u) << "two shards";
  planOf(gridLayout({8}, {1}, {0}), gridNeed({8}, {2}, {0, 0}), &plan);
  EXPECT_EQ(plan.reads[1].pieces.size(), 1u);
}

// A memory-only device sends to each reader on its own.
TEST(CommPlan, HostTakesNoPartInCollectives) {
  Layout producer;
  producer.cuts = {{0, 4}};
  producer.devices = {2};
  producer.tasks = {0};
  Need need;
  need.ranges = {{{0, 4}}};
  need.copies = 2;
  need.devices = {0, 1};
  need.tasks = {0, 1};
  ValuePlan plan = planValue(producer, need, nullptr, /*host=*/2);
  EXPECT_EQ(toString(verify(plan, producer, need)), "");
  ASSERT_EQ(plan.actions.size(), 1u);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::Transfer);
  EXPECT_EQ(plan.actions[0].outputs.size(), 2u);
}

TEST(CommPlan, Broadcast) {
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {2}), gridNeed({4}, {1}, {0, 1, 2}, 3)),
            "broadcast [2, 0, 1]: 2 [0:4] -> 0 [0:4], 1 [0:4]\n");
  // One remote: a transfer.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {2}), gridNeed({4}, {1}, {0, 2}, 2)),
            "transfer [0, 2]: 2 [0:4] -> 0 [0:4]\n");
  // A reader has its own copy: each destination takes the nearest.
  auto nodes = [](int32_t a, int32_t b) { return int64_t(a / 4 != b / 4); };
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 4}, 1, 2),
                   gridNeed({4}, {1}, {0, 1, 4, 5}, 4), nullptr, nodes),
            "transfer [0, 1, 4, 5]: 0 [0:4], 4 [0:4] -> 1 [0:4], 5 [0:4]\n");
  // The root is the nearer of the copies that do not read.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 4}, 1, 2),
                   gridNeed({4}, {1}, {5, 6}, 2), nullptr, nodes),
            "broadcast [4, 5, 6]: 4 [0:4] -> 5 [0:4], 6 [0:4]\n");
}

TEST(CommPlan, AllGather) {
  EXPECT_EQ(planOf(gridLayout({4, 6}, {2, 1}, {1, 0}),
                   gridNeed({4, 6}, {1, 1}, {0, 1}, 2)),
            "all_gather [0, 1]: 0 [2:4, 0:6], 1 [0:2, 0:6] -> "
            "0 [0:4, 0:6], 1 [0:4, 0:6]\n");
  // In groups: along f, separately for every tile of n.
  EXPECT_EQ(planOf(gridLayout({4, 6}, {2, 2}, {0, 1, 2, 3}),
                   gridNeed({4, 6}, {2, 1}, {0, 1, 2, 3}, 2)),
            "all_gather [0, 1]: 0 [0:2, 0:3], 1 [0:2, 3:6] -> "
            "0 [0:2, 0:6], 1 [0:2, 0:6]\n"
            "all_gather [2, 3]: 2 [2:4, 0:3], 3 [2:4, 3:6] -> "
            "2 [2:4, 0:6], 3 [2:4, 0:6]\n");
  // Uneven tiles keep the kind; adjacent tiles of a device are one.
  EXPECT_EQ(
      planOf(gridLayout({7}, {4}, {0, 0, 1, 1}), gridNeed({7}, {1}, {0, 1}, 2)),
      "all_gather [0, 1]: 0 [0:3], 1 [3:7] -> 0 [0:7], 1 [0:7]\n");
  // Copies gather by themselves.
  EXPECT_EQ(planOf(gridLayout({4}, {2}, {0, 1, 2, 3}, 1, 2),
                   gridNeed({4}, {1}, {0, 1, 2, 3}, 4)),
            "all_gather [0, 2]: 0 [0:2], 2 [2:4] -> 0 [0:4], 2 [0:4]\n"
            "all_gather [1, 3]: 1 [0:2], 3 [2:4] -> 1 [0:4], 3 [0:4]\n");
  // A device that holds nothing reads too: no longer one set of devices.
  EXPECT_EQ(
      planOf(gridLayout({4}, {2}, {0, 1}), gridNeed({4}, {1}, {0, 1, 2}, 3)),
      "transfer [0, 1, 2]: 0 [0:2], 0 [0:2], 1 [2:4], 1 [2:4] -> "
      "1 [0:2], 2 [0:2], 0 [2:4], 2 [2:4]\n");
}

TEST(CommPlan, EqualNeedsShareOneAction) {
  Layout producer = gridLayout({4}, {2}, {0, 1});
  Need whole = gridNeed({4}, {1}, {0, 1}, 2), own = gridNeed({4}, {2}, {0, 1});
  ValuePlan plan;
  EXPECT_EQ(planOf(producer, {whole, own, whole}, &plan),
            "all_gather [0, 1]: 0 [0:2], 1 [2:4] -> 0 [0:4], 1 [0:4]\n");
  EXPECT_EQ(plan.actions[0].consumers, (llvm::SmallVector<int32_t, 2>{0, 2}))
      << "what is local waits for nothing";
  // Contained in what another consumer gathers.
  planOf(producer, {whole, gridNeed({4}, {2}, {1, 0})}, &plan);
  EXPECT_EQ(plan.actions.size(), 1u);
}

TEST(CommPlan, RegatherGathersAgain) {
  Layout producer = gridLayout({4}, {2}, {0, 1});
  Need whole = gridNeed({4}, {1}, {0, 1}, 2), again = whole;
  again.regather = true;
  ValuePlan plan;
  planOf(producer, {again, whole, whole}, &plan);
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions[0].consumers, (llvm::SmallVector<int32_t, 2>{1, 2}));
  EXPECT_EQ(plan.actions[1].consumers, (llvm::SmallVector<int32_t, 2>{0}));
}

TEST(CommPlan, RoundsAreGatheredByThemselves) {
  Layout producer = gridLayout({4}, {2}, {0, 1});
  Need whole = gridNeed({4}, {1}, {0, 1}, 2), first = whole;
  first.startsRound = true;
  ValuePlan plan;
  // Those behind the one that starts a round share what it gathers.
  planOf(producer, {whole, whole, first, whole, first}, &plan);
  EXPECT_EQ(plan.rounds, (llvm::SmallVector<int32_t, 2>{0, 0, 1, 1, 2}));
  ASSERT_EQ(plan.actions.size(), 3u);
  using Consumers = llvm::SmallVector<int32_t, 2>;
  EXPECT_EQ(plan.actions[0].consumers, (Consumers{0, 1}));
  EXPECT_EQ(plan.actions[1].consumers, (Consumers{2, 3}));
  EXPECT_EQ(plan.actions[2].consumers, Consumers{4});
  for (int32_t round = 0; round < 3; ++round)
    EXPECT_EQ(plan.actions[round].round, round);
  // The first one may start a round, too, but not what is planned apart.
  Need apart = whole;
  apart.regather = true;
  planOf(producer, {apart, first, whole}, &plan);
  EXPECT_EQ(plan.rounds, (llvm::SmallVector<int32_t, 2>{0, 1, 1}));
  EXPECT_EQ(plan.actions.size(), 2u);
}

TEST(CommPlan, AllToAll) {
  EXPECT_EQ(planOf(gridLayout({4, 6}, {2, 1}, {0, 1}),
                   gridNeed({4, 6}, {1, 2}, {0, 1})),
            "all_to_all [0, 1]: 0 [0:2, 0:6], 1 [2:4, 0:6] -> "
            "0 [0:4, 0:3], 1 [0:4, 3:6]\n");
  // Uneven.
  EXPECT_EQ(planOf(gridLayout({5, 5}, {3, 1}, {2, 1, 0}),
                   gridNeed({5, 5}, {1, 3}, {0, 1, 2})),
            "all_to_all [0, 1, 2]: 0 [3:5, 0:5], 1 [1:3, 0:5], 2 [0:1, 0:5] "
            "-> 0 [0:5, 0:1], 1 [0:5, 1:3], 2 [0:5, 3:5]\n");
  // Nobody needs the last column: transfers, which leave it behind.
  Need most = gridNeed({4, 6}, {1, 2}, {0, 1});
  most.ranges[1][1].hi = 5;
  EXPECT_EQ(planOf(gridLayout({4, 6}, {2, 1}, {0, 1}), most).substr(0, 9),
            "transfer ");
  // Two needs are equal: transfers.
  EXPECT_EQ(planOf(gridLayout({4, 4}, {4, 1}, {0, 1, 2, 3}),
                   gridNeed({4, 4}, {1, 2}, {0, 1, 2, 3}, 2))
                .substr(0, 9),
            "transfer ");
}

TEST(CommPlan, HaloExchange) {
  EXPECT_EQ(planOf(gridLayout({9}, {3}, {0, 1, 2}),
                   gridNeed({9}, {3}, {0, 1, 2}, 1, 1, 1)),
            "halo_exchange [0, 1, 2]: 0 [2:3], 1 [3:4], 1 [5:6], 2 [6:7] -> "
            "1 [2:3], 0 [3:4], 2 [5:6], 1 [6:7]\n");
  // Corners too, in two dimensions.
  ValuePlan plan;
  planOf(gridLayout({4, 4}, {2, 2}, {0, 1, 2, 3}),
         gridNeed({4, 4}, {2, 2}, {0, 1, 2, 3}, 1, 1, 1), &plan);
  ASSERT_EQ(plan.actions.size(), 1u);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::HaloExchange);
  EXPECT_EQ(plan.actions[0].inputs.size(), 12u);
  EXPECT_EQ(plan.reads[0].pieces.size(), 4u);
  // Groups of one value are one action.
  planOf(gridLayout({2, 8}, {2, 2}, {0, 1, 2, 3}),
         gridNeed({2, 8}, {2, 2}, {0, 1, 2, 3}, 1, 1, 1), &plan);
  EXPECT_EQ(plan.actions.size(), 1u);
  // Swapped devices do not keep their tiles.
  EXPECT_EQ(
      planOf(gridLayout({6}, {2}, {0, 1}), gridNeed({6}, {2}, {1, 0}, 1, 1, 1)),
      "transfer [0, 1]: 0 [0:3], 1 [3:6] -> 1 [0:3], 0 [3:6]\n");
}

TEST(CommPlan, OverlappingHaloesOfTwoConsumersMoveOnce) {
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({12}, {2}, {0, 1}),
                   {gridNeed({12}, {2}, {0, 1}, 1, 1, 1),
                    gridNeed({12}, {2}, {0, 1}, 1, 2, 2)},
                   &plan),
            "halo_exchange [0, 1]: 0 [4:6], 1 [6:8] -> 1 [4:6], 0 [6:8]\n");
  EXPECT_EQ(plan.actions[0].consumers, (llvm::SmallVector<int32_t, 2>{0, 1}));
}

TEST(CommPlan, Transfers) {
  // Sorted by source, destination, offset, whatever the order of needs.
  EXPECT_EQ(planOf(gridLayout({4}, {2}, {1, 0}), gridNeed({4}, {2}, {3, 2})),
            "transfer [0, 1, 2, 3]: 0 [2:4], 1 [0:2] -> 2 [2:4], 3 [0:2]\n");
  // Ties go to the lowest device, else the nearest sends.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {3, 1}, 1, 2), gridNeed({4}, {1}, {2})),
            "transfer [1, 2]: 1 [0:4] -> 2 [0:4]\n");
  auto distance = [](int32_t a, int32_t b) { return int64_t(a > b ? 1 : 2); };
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {3, 1}, 1, 2), gridNeed({4}, {1}, {2}),
                   nullptr, distance),
            "transfer [2, 3]: 3 [0:4] -> 2 [0:4]\n");
  // Transfers for different consumers are different actions.
  ValuePlan plan;
  planOf(gridLayout({4}, {1}, {0}),
         {gridNeed({4}, {2}, {0, 1}), gridNeed({4}, {2}, {0, 2})}, &plan);
  EXPECT_EQ(plan.actions.size(), 2u);
}

TEST(CommPlan, EmptyNeedsAndGapsMoveNothing) {
  Need need = gridNeed({8}, {3}, {0, 1, 2});
  need.ranges[0] = {{0, 2}, {4, 4}, {6, 7}};
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({8}, {2}, {0, 1}), need, &plan),
            "transfer [1, 2]: 1 [6:7] -> 2 [6:7]\n");
  EXPECT_EQ(plan.reads.size(), 2u);
}

TEST(CommPlan, AllReduce) {
  EXPECT_EQ(
      planOf(gridLayout({4}, {1}, {1, 0}, 2), gridNeed({4}, {1}, {0, 1}, 2)),
      "all_reduce [0, 1]: 0 [0:4], 1 [0:4] -> 0 [0:4], 1 [0:4]\n");
  // Tiles that the same devices have are reduced together.
  EXPECT_EQ(planOf(gridLayout({4}, {2}, {0, 1, 0, 1}, 2),
                   gridNeed({4}, {1}, {0, 1}, 2)),
            "all_reduce [0, 1]: 0 [0:4], 1 [0:4] -> 0 [0:4], 1 [0:4]\n");
  // Of the copies only copy 0 is reduced; then the sum spreads.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 1, 2, 3}, 2, 2),
                   gridNeed({4}, {1}, {0, 1, 2, 3}, 4)),
            "all_reduce [0, 2]: 0 [0:4], 2 [0:4] -> 0 [0:4], 2 [0:4]\n"
            "transfer [0, 1, 3]: 0 [0:4], 0 [0:4] -> 1 [0:4], 3 [0:4]\n");
  // A scalar has nothing to scatter.
  EXPECT_EQ(planOf(gridLayout({}, {}, {0, 1}, 2), gridNeed({}, {}, {2})),
            "all_reduce [0, 1]: 0 [], 1 [] -> 0 [], 1 []\n"
            "transfer [0, 2]: 0 [] -> 2 []\n");
}

TEST(CommPlan, LocalReduction) {
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 1, 0, 1}, 4),
                   gridNeed({4}, {1}, {0, 1}, 2), &plan),
            "all_reduce [0, 1]: 0 [0:4], 1 [0:4] -> 0 [0:4], 1 [0:4]\n");
  ASSERT_EQ(plan.reductions.size(), 2u);
  EXPECT_EQ(plan.reductions[1].inputs, (llvm::SmallVector<int32_t, 4>{1, 3}));
  EXPECT_EQ(plan.shards[plan.reductions[1].output].part, 1);
  // All on one device: nothing moves.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 0, 0}, 3), gridNeed({4}, {1}, {0}),
                   &plan),
            "");
  EXPECT_EQ(plan.shards[plan.reductions[0].output].part, -1);
}

TEST(CommPlan, ReduceScatter) {
  EXPECT_EQ(planOf(gridLayout({4, 6}, {1, 1}, {0, 1}, 2),
                   gridNeed({4, 6}, {1, 2}, {1, 0})),
            "reduce_scatter [0, 1]: 0 [0:4, 0:6], 1 [0:4, 0:6] -> "
            "0 [0:4, 3:6], 1 [0:4, 0:3]\n");
  // Uneven pieces keep the kind.
  EXPECT_EQ(planOf(gridLayout({5}, {1}, {0, 1}, 2), gridNeed({5}, {2}, {0, 1})),
            "reduce_scatter [0, 1]: 0 [0:5], 1 [0:5] -> 0 [0:2], 1 [2:5]\n");
}

TEST(CommPlan, HomeLayout) {
  // One device needs the sum: reduced in pieces, gathered there.
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {0, 1}, 2), gridNeed({4}, {1}, {0})),
            "reduce_scatter [0, 1]: 0 [0:4], 1 [0:4] -> 0 [0:2], 1 [2:4]\n"
            "transfer [0, 1]: 1 [2:4] -> 0 [2:4]\n");
  // Two consumers disagree; the home layout is cut as the larger cuts.
  ValuePlan plan;
  EXPECT_EQ(
      planOf(gridLayout({4, 4}, {1, 1}, {0, 1}, 2),
             {gridNeed({4, 4}, {1, 2}, {0, 1}), gridNeed({4, 4}, {1, 1}, {2})},
             &plan),
      "reduce_scatter [0, 1]: 0 [0:4, 0:4], 1 [0:4, 0:4] -> "
      "0 [0:4, 0:2], 1 [0:4, 2:4]\n"
      "transfer [0, 1, 2]: 0 [0:4, 0:2], 1 [0:4, 2:4] -> "
      "2 [0:4, 0:2], 2 [0:4, 2:4]\n");
  EXPECT_EQ(plan.actions[0].consumers, (llvm::SmallVector<int32_t, 2>{0, 1}));
  EXPECT_EQ(plan.actions[1].consumers, (llvm::SmallVector<int32_t, 2>{1}));
  // Then as above: gathered by all.
  EXPECT_EQ(planOf(gridLayout({4, 4}, {2, 1}, {0, 1, 2, 3}, 2),
                   gridNeed({4, 4}, {1, 1}, {0, 1, 2, 3}, 4)),
            "reduce_scatter [0, 1]: 0 [0:2, 0:4], 1 [0:2, 0:4] -> "
            "0 [0:1, 0:4], 1 [1:2, 0:4]\n"
            "reduce_scatter [2, 3]: 2 [2:4, 0:4], 3 [2:4, 0:4] -> "
            "2 [2:3, 0:4], 3 [3:4, 0:4]\n"
            "all_gather [0, 1, 2, 3]: 0 [0:1, 0:4], 1 [1:2, 0:4], "
            "2 [2:3, 0:4], 3 [3:4, 0:4] -> 0 [0:4, 0:4], 1 [0:4, 0:4], "
            "2 [0:4, 0:4], 3 [0:4, 0:4]\n");
}

TEST(CommPlan, TilesOfDifferentKindsInOneValue) {
  // Tile 0 is complete on device 0, tile 1 partial on devices 1 and 2.
  ValuePlan plan;
  EXPECT_EQ(planOf(gridLayout({8}, {2}, {0, 0, 1, 2}, 2),
                   gridNeed({8}, {2}, {0, 1}), &plan),
            "reduce_scatter [1, 2]: 1 [4:8], 2 [4:8] -> 1 [4:6], 2 [6:8]\n"
            "transfer [1, 2]: 2 [6:8] -> 1 [6:8]\n");
  EXPECT_EQ(plan.reductions.size(), 1u);
}

TEST(CommPlan, TilesThatNobodyReadsAreNotReduced) {
  // One consumer reads the left column, the other the upper row: they share a
  // component with the lower right tile.
  Need left = gridNeed({4, 4}, {1, 1}, {0}), upper = left;
  left.ranges[1] = {{0, 2}};
  upper.ranges[0] = {{0, 2}};
  ValuePlan plan;
  planOf(gridLayout({4, 4}, {2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, 2), {left, upper},
         &plan);
  int reductions = 0;
  for (const Action &action : plan.actions)
    reductions += action.kind == ActionKind::ReduceScatter;
  EXPECT_EQ(reductions, 3);
}

TEST(CommPlan, HomePiecesAreBalanced) {
  // Tiles with two and three members: each is cut by its own number.
  EXPECT_EQ(planOf(gridLayout({6, 8}, {1, 2}, {0, 1, 0, 2, 3, 4}, 3),
                   gridNeed({6, 8}, {1, 1}, {5})),
            "reduce_scatter [0, 1]: 0 [0:6, 0:4], 1 [0:6, 0:4] -> "
            "0 [0:3, 0:4], 1 [3:6, 0:4]\n"
            "reduce_scatter [2, 3, 4]: 2 [0:6, 4:8], 3 [0:6, 4:8], "
            "4 [0:6, 4:8] -> 2 [0:2, 4:8], 3 [2:4, 4:8], 4 [4:6, 4:8]\n"
            "transfer [0, 1, 2, 3, 4, 5]: 0 [0:2, 0:4], 0 [2:3, 0:4], "
            "1 [3:4, 0:4], 1 [4:6, 0:4], 2 [0:2, 4:8], 3 [2:3, 4:8], "
            "3 [3:4, 4:8], 4 [4:6, 4:8] -> 5 [0:2, 0:4], 5 [2:3, 0:4], "
            "5 [3:4, 0:4], 5 [4:6, 0:4], 5 [0:2, 4:8], 5 [2:3, 4:8], "
            "5 [3:4, 4:8], 5 [4:6, 4:8]\n");
}

TEST(CommPlan, Movements) {
  ValuePlan plan;
  planOf(gridLayout({9}, {3}, {0, 1, 2}),
         gridNeed({9}, {3}, {0, 1, 2}, 1, 1, 1), &plan);
  auto moves = movements(plan.actions[0], 4);
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[1], (Movement{ActionKind::Transfer, {1, 0}, {4}}));
  planOf(gridLayout({7}, {2}, {0, 1}), gridNeed({7}, {1}, {0, 1}, 2), &plan);
  moves = movements(plan.actions[0], 2);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0], (Movement{ActionKind::AllGather, {0, 1}, {6, 8}}));
  planOf(gridLayout({4}, {1}, {2}), gridNeed({4}, {1}, {0, 1, 2}, 3), &plan);
  EXPECT_EQ(movements(plan.actions[0], 4)[0],
            (Movement{ActionKind::Broadcast, {2, 0, 1}, {16, 0, 0}}));
  planOf(gridLayout({4}, {1}, {0, 1}, 2), gridNeed({4}, {2}, {0, 1}), &plan);
  EXPECT_EQ(movements(plan.actions[0], 4)[0],
            (Movement{ActionKind::ReduceScatter, {0, 1}, {16, 16}}));
}

TEST(CommPlan, DeviceIdsMayBeSparseAndNegative) {
  EXPECT_EQ(planOf(gridLayout({4}, {1}, {-1}), gridNeed({4}, {2}, {1000, 7})),
            "transfer [-1, 7, 1000]: -1 [2:4], -1 [0:2] -> "
            "7 [2:4], 1000 [0:2]\n");
}
