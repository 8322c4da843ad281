//===- TimelineTest.cpp - Communication and resources, by hand ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/Timeline.h"
#include "soap/Search/TaskGraph.h"
#include "gtest/gtest.h"
#include <array>

using namespace soap;

namespace {
using Times = std::vector<int64_t>;

struct TimelineTest : public ::testing::Test {
  Times compute = {1, 2, 3, 4}, communication = {10, 20, 30, 40},
        links = {0, 50, 60}, priority = {0, 5, 8, 0};
  Timeline timeline{compute, communication, links, priority};
};

TEST_F(TimelineTest, CollectivesStartWhenTheLastResourceIsFree) {
  std::array<int32_t, 2> members = {0, 2};
  std::array<LinkUse, 1> free = {{{0, 7}}};
  std::array<LinkUse, 2> taken = {{{0, 7}, {1, 3}}};
  EXPECT_EQ(startCollective(timeline, members, free, 0, /*hasPriority=*/false),
            30);
  EXPECT_EQ(startCollective(timeline, members, free, 35, /*hasPriority=*/false),
            35);
  EXPECT_EQ(
      startCollective(timeline, members, taken, 35, /*hasPriority=*/false), 50);
  // Nothing was taken so far.
  EXPECT_EQ(links, Times({0, 50, 60}));
  holdLinks(timeline, taken, 50);
  EXPECT_EQ(links, Times({57, 53, 60}));
  EXPECT_EQ(startCollective(timeline, members, free, 0, /*hasPriority=*/false),
            57);
  holdMembers(timeline, members, 50, 70, 5, /*hasPriority=*/false);
  EXPECT_EQ(communication, Times({70, 20, 70, 40}));
  EXPECT_EQ(compute, Times({6, 2, 8, 4}));
}

TEST_F(TimelineTest, PriorityWaitsForNoOtherCommunication) {
  std::array<int32_t, 2> members = {0, 2};
  std::array<LinkUse, 2> taken = {{{0, 7}, {1, 3}}};
  EXPECT_EQ(startCollective(timeline, members, taken, 6, /*hasPriority=*/true),
            8);
  EXPECT_EQ(startCollective(timeline, members, taken, 9, /*hasPriority=*/true),
            9);
  // A link that is free is used at once, one that is not is held longer.
  holdLinks(timeline, taken, 9);
  EXPECT_EQ(links, Times({16, 53, 60}));
  holdMembers(timeline, members, 9, 20, 5, /*hasPriority=*/true);
  EXPECT_EQ(priority, Times({20, 5, 20, 0}));
  EXPECT_EQ(communication, Times({10, 20, 30, 40}));
  EXPECT_EQ(compute, Times({6, 2, 8, 4}));
}

TEST_F(TimelineTest, TransfersTakeTurnsOnLinks) {
  // Members are devices 3, 1 and 0. Each of the first two sends to the last
  // over link 0, one of them over link 1, too.
  std::array<int32_t, 3> members = {3, 1, 0};
  std::array<int32_t, 2> way = {0, 1};
  // The first takes 5 + 8 ns, its target's compute stream 9; it holds link 0
  // for 8 and link 1 for 4.
  Times costs = {5 + 8, 9, 8, 4, 6 + 16, 0, 16};
  std::array<detail::TransferTask, 2> transfers = {
      {{0, 2, /*cost=*/0, /*numLinks=*/2, way.data()},
       {1, 2, /*cost=*/4, /*numLinks=*/1, way.data()}}};
  Times end(3);
  runTransfers(timeline, members, transfers, costs, Times({45, 20, 10}), end);
  // The first waits for link 1 until 50; the second for link 0 until 58. Both
  // senders are done with their own.
  EXPECT_EQ(end, Times({63, 80, 80}));
  EXPECT_EQ(links, Times({58 + 16, 54, 60}));
  EXPECT_EQ(communication, Times({80, 80, 30, 63}));
  EXPECT_EQ(compute, Times({10, 2, 3, 4}));
}

TEST_F(TimelineTest, MembersWithoutATransferAreFreeAtOnce) {
  std::array<int32_t, 2> members = {1, 2};
  Times end(2);
  runTransfers(timeline, members, llvm::ArrayRef<detail::TransferTask>(), {},
               Times({25, 30}), end);
  EXPECT_EQ(end, Times({25, 30}));
  EXPECT_EQ(communication, Times({10, 25, 30, 40}));
}
} // namespace
