//===- LayoutTest.cpp -----------------------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleSpecs.h"
#include "soap/Partition/CommPlan.h"
#include "soap/Partition/Needs.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace soap;
using namespace soap::test;
using Ids = llvm::SmallVector<int32_t, 8>;
using Shape = llvm::SmallVector<int64_t, 5>;

/// Device 100 + t for task t.
static Ids devicesOf(const Degrees &degrees) {
  Ids devices(degrees.numTasks());
  std::iota(devices.begin(), devices.end(), 100);
  return devices;
}

TEST(Layouts, TilesPartsAndCopies) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  Degrees degrees{{2, 1, 1, 1, 3}, 2};
  Layout layout =
      makeLayout(conv, 0, degrees, devicesOf(degrees), {4, 6, 7, 5});
  EXPECT_EQ(layout.cuts[0], (Shape{0, 2, 4}));
  EXPECT_EQ(layout.cuts[2], (Shape{0, 7}));
  EXPECT_EQ(layout.parts, 3);
  EXPECT_EQ(layout.combine, Combine::Sum);
  EXPECT_EQ(layout.copies, 2);
  EXPECT_EQ(layout.tasks, (Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(layout.devices[7], 107);
  EXPECT_EQ(layout.numTiles(), 2);
  EXPECT_EQ(layout.tileBox(1), (Box{{2, 4}, {0, 6}, {0, 7}, {0, 5}}));
  EXPECT_EQ(layout.shape(), (Shape{4, 6, 7, 5}));
}

TEST(Layouts, TilesFollowDimensionsNotLoops) {
  // A transposition: result dimension 0 uses loop 1.
  PartitionSpec spec = elementwiseSpec({6, 4});
  std::swap(spec.results[0].dims[0], spec.results[0].dims[1]);
  Degrees degrees{{3, 2}, 1};
  Layout layout = makeLayout(spec, 0, degrees, devicesOf(degrees), {4, 6});
  EXPECT_EQ(layout.cuts[0], (Shape{0, 2, 4}));
  EXPECT_EQ(layout.cuts[1], (Shape{0, 2, 4, 6}));
  EXPECT_EQ(layout.tasks, (Ids{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(layout.devices, (Ids{100, 102, 104, 101, 103, 105}));
}

TEST(Layouts, SameLoopsCountAsCopies) {
  PartitionSpec spec = elementwiseSpec({6, 4});
  spec.results[0].dims = {DimAccess::identity(0)};
  spec.results[0].combine = Combine::Same;
  Degrees degrees{{3, 2}, 2};
  Layout layout = makeLayout(spec, 0, degrees, devicesOf(degrees), {6});
  EXPECT_EQ(layout.parts, 1);
  EXPECT_EQ(layout.combine, Combine::None);
  EXPECT_EQ(layout.copies, 4);
  EXPECT_EQ(layout.numTiles(), 3);
  EXPECT_EQ(layout.tasks[5], 5);
}

TEST(Layouts, UndividedReductionIsComplete) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  Degrees degrees{{1, 2, 1, 1, 1}, 1};
  Layout layout =
      makeLayout(conv, 0, degrees, devicesOf(degrees), {4, 6, 7, 5});
  EXPECT_EQ(layout.parts, 1);
  EXPECT_EQ(layout.combine, Combine::None);
}

TEST(Layouts, WindowedResultCutsAtWindows) {
  // Tile(x, 2): the repeat loop writes windows of the operand's size.
  PartitionSpec spec;
  spec.loops = {{"r", 3}};
  spec.operands.resize(1);
  spec.operands[0].dims = {DimAccess::whole(5)};
  spec.results.resize(1);
  spec.results[0].dims = {DimAccess::window(0, 5, 0, 4)};
  Degrees degrees{{2}, 1};
  Layout layout = makeLayout(spec, 0, degrees, {0, 1}, {15});
  EXPECT_EQ(layout.cuts[0], (Shape{0, 5, 15}));
}

TEST(Needs, HaloesAndCopies) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  Degrees degrees{{1, 2, 2, 1, 1}, 1};
  Need input = needOf({conv, 0, degrees, devicesOf(degrees)}, {4, 3, 13, 9});
  EXPECT_EQ(input.copies, 2) << "loop f is absent from the input";
  ASSERT_EQ(input.ranges[2].size(), 2u);
  EXPECT_EQ(input.ranges[2][0], (Range{0, 6}));
  EXPECT_EQ(input.ranges[2][1], (Range{5, 13}));
  EXPECT_EQ(input.tasks, (Ids{0, 2, 1, 3}));
  EXPECT_EQ(input.numTiles(), 2);
  EXPECT_EQ(input.tileBox(1), (Box{{0, 4}, {0, 3}, {5, 13}, {0, 9}}));
  EXPECT_FALSE(input.regather);
}

TEST(Needs, FirstOnlyOperandsAreReadByTheFirstPart) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  Degrees degrees{{2, 2, 1, 1, 3}, 2};
  Need bias =
      needOf({conv, 2, degrees, devicesOf(degrees), /*regather=*/true}, {6});
  EXPECT_TRUE(bias.regather);
  EXPECT_EQ(bias.copies, 4) << "two tiles of n, two replicas";
  EXPECT_EQ(bias.tasks, (Ids{0, 1, 12, 13, 6, 7, 18, 19}));
}

TEST(Needs, UnreducedOperandsAreTakenInParts) {
  // A sum along the tiles of conv's weights, in parts of its samples and rows.
  PartitionSpec add;
  add.loops = {{"d0", 6}, {"d1", 3}, {"part0", 4}, {"part1", 7}};
  ValueAccess access{{DimAccess::identity(0), DimAccess::identity(1)}};
  access.unreduced = true;
  add.operands = {access};
  access.unreduced = false;
  access.combine = Combine::Sum;
  add.results = {access};
  Degrees degrees{{2, 1, 2, 3}, 2};
  Need need = needOf({add, 0, degrees, devicesOf(degrees)}, {6, 3});
  EXPECT_EQ(need.parts, 6);
  EXPECT_EQ(need.copies, 2);
  EXPECT_EQ(need.tasks.size(), 24u);
  EXPECT_EQ(need.tileBox(1), (Box{{3, 6}, {0, 3}}));
  // What it takes is as it makes it.
  Layout sum = makeLayout(add, 0, degrees, devicesOf(degrees), {6, 3});
  EXPECT_EQ(need.tasks, sum.tasks);
  EXPECT_TRUE(takesParts(sum, need));
  settleParts(sum, need);
  EXPECT_EQ(need.parts, 6);

  std::swap(need.devices[0], need.devices[2]);
  EXPECT_FALSE(takesParts(sum, need)) << "on other devices";
  settleParts(sum, need);
  EXPECT_EQ(need.parts, 1);
  EXPECT_EQ(need.tasks, (Ids{0, 1, 12, 13})) << "the first task of each tile";
}

TEST(Needs, AgreeWithTaskBoxes) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  llvm::SmallVector<Shape> shapes{{4, 3, 13, 9}, {6, 3, 3, 3}, {6}};
  Degrees degrees{{2, 3, 2, 1, 3}, 2};
  for (unsigned operand = 0; operand != 3; ++operand) {
    Need need =
        needOf({conv, operand, degrees, devicesOf(degrees)}, shapes[operand]);
    int64_t readers = 0;
    for (int64_t task = 0; task != degrees.numTasks(); ++task)
      readers +=
          !isEmpty(operandBox(conv, operand, degrees, task, shapes[operand]));
    EXPECT_EQ(readers, static_cast<int64_t>(need.tasks.size()));
    for (size_t i = 0; i != need.tasks.size(); ++i)
      EXPECT_EQ(
          need.tileBox(i / need.copies),
          operandBox(conv, operand, degrees, need.tasks[i], shapes[operand]));
  }
}
