//===- CopiesTest.cpp - Times of copies within a device -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/CostModel/CostModel.h"
#include "gtest/gtest.h"

using namespace soap;

namespace {
TEST(Copies, ViewsCostNothing) {
  DeviceKind kind;
  Box shard = {{0, 4}, {8, 16}, {0, 16}};
  int64_t copied = CostModel::copyNs(4 * 16 * 8, kind);
  // Rows of the second dim are 64 bytes.
  EXPECT_EQ(CostModel::cutNs({{2, 4}, {8, 16}, {0, 16}}, shard, 4, kind), 0);
  EXPECT_EQ(CostModel::cutNs({{1, 2}, {9, 12}, {0, 16}}, shard, 4, kind), 0);
  EXPECT_EQ(CostModel::cutNs({{0, 4}, {8, 10}, {0, 16}}, shard, 4, kind),
            copied);
  // Contiguous, but not aligned.
  EXPECT_EQ(CostModel::cutNs({{0, 1}, {9, 10}, {1, 9}}, shard, 4, kind),
            CostModel::copyNs(4 * 8, kind));
}

TEST(Copies, CopiesOfBoxesPayForTheirRuns) {
  DeviceKind kind;
  kind.boxBandwidth = 2e9;
  kind.boxRunSeconds = 10e-9;
  kind.boxLaunchNs = 500;
  Box shard = {{0, 4}, {8, 16}, {0, 16}};
  auto cutNs = [&](const Box &box) {
    return CostModel::cutNs(box, shard, 4, kind);
  };
  // Bytes are read and written: 1 ns each.
  EXPECT_EQ(cutNs({{0, 4}, {8, 10}, {0, 16}}), 500 + 4 * 2 * 16 * 4 + 4 * 10);
  EXPECT_EQ(cutNs({{0, 4}, {8, 16}, {3, 5}}), 500 + 4 * 8 * 2 * 4 + 32 * 10);
  EXPECT_EQ(cutNs({{0, 1}, {9, 10}, {1, 9}}), 500 + 8 * 4 + 10);
  EXPECT_EQ(cutNs(shard), 0);
  // Put together from two: runs end where one of both sides goes on elsewhere.
  Box whole = {{0, 4}, {0, 16}, {0, 16}}, left = {{0, 4}, {0, 8}, {0, 16}};
  BoxCopies copies;
  copies.add(left, left, whole, 4);
  EXPECT_EQ(copies.runs, 4);
  copies.add(shard, shard, whole, 4);
  EXPECT_EQ(copies.runs, 8);
  EXPECT_EQ(copies.bytes, 4 * 16 * 16 * 4);
  copies.add(whole, whole, whole, 4);
  EXPECT_EQ(copies.runs, 9);
  copies.add({{0, 4}, {3, 3}, {0, 16}}, whole, whole, 4);
  EXPECT_EQ(copies.runs, 9);
  EXPECT_EQ(CostModel::copyNs(copies, kind), 500 + copies.bytes + 90);
}

TEST(Copies, MembersOfCollectivesCopyWhatIsNotContiguous) {
  DeviceKind kind;
  kind.boxBandwidth = 2e9;
  kind.boxRunSeconds = 10e-9;
  kind.boxLaunchNs = 500;
  Box upper = {{0, 2}, {0, 8}}, lower = {{2, 4}, {0, 8}};
  Box left = {{0, 4}, {0, 4}}, right = {{0, 4}, {4, 8}};
  Box whole = {{0, 4}, {0, 8}};
  auto copiesOf = [&](ActionKind action, const Box &first, const Box &second,
                      const Box &got, const Box &other) {
    CollectiveBoxes boxes{action, {first, second}, {got, other}, 4};
    return CostModel::copiesOfMember(boxes, 0, kind);
  };
  // Rows become columns: halves of rows are packed, and come as wanted.
  MemberCopies copies =
      copiesOf(ActionKind::AllToAll, upper, lower, left, right);
  EXPECT_EQ(copies.packNs, 500 + 2 * 8 * 4 + 4 * 10);
  EXPECT_EQ(copies.unpackNs, 0);
  copies = copiesOf(ActionKind::AllToAll, left, right, upper, lower);
  EXPECT_EQ(copies.packNs, 0);
  EXPECT_EQ(copies.unpackNs, 500 + 2 * 8 * 4 + 4 * 10);
  // Rows are gathered where they lie, columns are not.
  copies = copiesOf(ActionKind::AllGather, upper, lower, whole, whole);
  EXPECT_EQ(copies.packNs + copies.unpackNs, 0);
  copies = copiesOf(ActionKind::AllGather, left, right, whole, whole);
  EXPECT_EQ(copies.packNs, 0);
  EXPECT_EQ(copies.unpackNs, 500 + 4 * 8 * 4 + 8 * 10);
  copies = copiesOf(ActionKind::ReduceScatter, whole, whole, left, right);
  EXPECT_EQ(copies.packNs + copies.unpackNs, 0);
  kind.boxBandwidth = 0;
  copies = copiesOf(ActionKind::AllGather, left, right, whole, whole);
  EXPECT_EQ(copies.unpackNs, 0);
}
} // namespace
