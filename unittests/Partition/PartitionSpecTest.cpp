//===- PartitionSpecTest.cpp ----------------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleSpecs.h"
#include "gtest/gtest.h"

using namespace soap;
using namespace soap::test;
using Shape = llvm::SmallVector<int64_t, 5>;

TEST(Boxes, Ranges) {
  EXPECT_EQ(intersect(Range{0, 4}, Range{2, 9}), (Range{2, 4}));
  EXPECT_TRUE(intersect(Range{0, 4}, Range{6, 9}).empty());
  EXPECT_EQ(intersect(Range{0, 4}, Range{6, 9}).lo, 6);
  EXPECT_TRUE((Range{2, 5}).contains({3, 5}));
  EXPECT_FALSE((Range{2, 5}).contains({1, 3}));
  EXPECT_TRUE((Range{2, 5}).contains({9, 9})) << "empty ranges fit anywhere";
}

TEST(Boxes, Boxes) {
  Box a{{0, 4}, {2, 6}}, b{{3, 5}, {0, 3}};
  EXPECT_EQ(volume(a), 16);
  EXPECT_EQ(intersect(a, b), (Box{{3, 4}, {2, 3}}));
  EXPECT_TRUE(contains(a, intersect(a, b)));
  EXPECT_FALSE(contains(a, b));
  EXPECT_FALSE(isEmpty(a));
  EXPECT_TRUE(isEmpty(Box{{0, 4}, {3, 3}}));
  EXPECT_EQ(volume(Box{}), 1) << "a scalar has one element";
  EXPECT_FALSE(isEmpty(Box{}));
  EXPECT_EQ(wholeBox({32, 8}), (Box{{0, 32}, {0, 8}}));
  EXPECT_EQ(shapeOf(a), (Shape{4, 4}));
  EXPECT_EQ(toString(Box{{0, 32}, {256, 512}}), "[0:32, 256:512]");
  EXPECT_EQ(toString(Box{}), "[]");
}

TEST(Names, RoundTrip) {
  for (Combine combine :
       {Combine::None, Combine::Sum, Combine::Prod, Combine::Max, Combine::Min,
        Combine::And, Combine::Or, Combine::Same})
    EXPECT_EQ(symbolize<Combine>(stringify(combine)), combine);
  EXPECT_EQ(symbolize<Combine>("mean"), std::nullopt);
  EXPECT_EQ(stringify(LoopKind::Attribute), "attribute");
}

TEST(Tiles, UnevenTilesDifferByOne) {
  EXPECT_EQ(tileRange(7, 3, 0), (Range{0, 2}));
  EXPECT_EQ(tileRange(7, 3, 1), (Range{2, 4}));
  EXPECT_EQ(tileRange(7, 3, 2), (Range{4, 7}));
}

TEST(Tiles, TasksAreRowMajorWithCopiesInnermost) {
  Degrees degrees{{2, 1, 3}, 2};
  EXPECT_EQ(degrees.numTiles(), 6);
  EXPECT_EQ(degrees.numTasks(), 12);
  using Indices = llvm::SmallVector<int32_t, 6>;
  EXPECT_EQ(taskIndices(degrees, 0), (Indices{0, 0, 0}));
  EXPECT_EQ(taskIndices(degrees, 1), (Indices{0, 0, 0}));
  EXPECT_EQ(taskIndices(degrees, 3), (Indices{0, 0, 1}));
  EXPECT_EQ(taskIndices(degrees, 11), (Indices{1, 0, 2}));
}

TEST(Accesses, RangesRoundTowardsMinusInfinityAndClamp) {
  // A 3-wide window with stride 2 and one element of padding.
  DimAccess window = DimAccess::window(0, 2, -1, 1);
  EXPECT_EQ(unclampedRange(window, {0, 4}), (Range{-1, 8}));
  EXPECT_EQ(accessRange(window, {0, 4}, 7), (Range{0, 7}));
  EXPECT_EQ(accessRange(window, {1, 2}, 7), (Range{1, 4}));
  EXPECT_TRUE(accessRange(window, {2, 2}, 7).empty());
  // Gradient of a strided convolution: floor((h + [-1, 1]) / 2).
  DimAccess gradient{0, 1, -1, 1, 2};
  EXPECT_EQ(unclampedRange(gradient, {0, 1}), (Range{-1, 1}));
  EXPECT_EQ(unclampedRange(gradient, {1, 3}), (Range{0, 2}));
  // A slice that walks backwards from element 9 in steps of 2.
  DimAccess backwards{0, -2, 9, 9, 1};
  EXPECT_EQ(accessRange(backwards, {0, 2}, 10), (Range{7, 10}));
  EXPECT_EQ(accessRange(backwards, {4, 5}, 10), (Range{1, 2}));
  EXPECT_EQ(accessRange(DimAccess::whole(6), {3, 4}, 6), (Range{0, 6}));
  // Wholly in the padding: empty, and inside the tensor.
  Range before = accessRange(DimAccess::window(0, 1, -5, -5), {0, 2}, 8);
  EXPECT_TRUE(before.empty());
  EXPECT_EQ(before.lo, 0);
}

TEST(Accesses, ConvolutionBoxes) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, /*kernel=*/3, /*stride=*/2,
                                /*pad=*/1);
  Degrees degrees{{2, 1, 2, 1, 3}, 1};
  // Task 7 is n = 1, h = 0, c = 1; the input has height 13 and width 9.
  EXPECT_EQ(operandBox(conv, 0, degrees, 7, {4, 3, 13, 9}),
            (Box{{2, 4}, {1, 2}, {0, 6}, {0, 9}}));
  EXPECT_EQ(operandBox(conv, 1, degrees, 7, {6, 3, 3, 3}),
            (Box{{0, 6}, {1, 2}, {0, 3}, {0, 3}}));
  EXPECT_TRUE(isEmpty(operandBox(conv, 2, degrees, 7, {6})))
      << "only the first part adds the bias";
  EXPECT_EQ(operandBox(conv, 2, degrees, 6, {6}), (Box{{0, 6}}));
  EXPECT_EQ(resultBox(conv, 0, degrees, 7, {4, 6, 7, 5}),
            (Box{{2, 4}, {0, 6}, {0, 3}, {0, 5}}));
}

TEST(Accesses, ShiftRuleFindsLocalPads) {
  // Height 14, window 3, stride 2, pad 1 on both sides: 7 rows of output. The
  // tile [2, 5) reads rows [3, 10), without padding.
  DimAccess access = DimAccess::window(0, 2, -1, 1);
  Range box = accessRange(access, {2, 5}, 14);
  EXPECT_EQ(box, (Range{3, 10}));
  LocalPads inner = localPads(shiftAccess(access, 2, box.lo), 3, box.size());
  EXPECT_EQ(inner.lo, 0);
  EXPECT_EQ(inner.hi, 0);
  // The first tile keeps the low pad only.
  box = accessRange(access, {0, 3}, 14);
  LocalPads first = localPads(shiftAccess(access, 0, box.lo), 3, box.size());
  EXPECT_EQ(first.lo, 1);
  EXPECT_EQ(first.hi, 0);
  // The last window ends at row 13: no high pad although the op has one.
  box = accessRange(access, {5, 7}, 14);
  LocalPads last = localPads(shiftAccess(access, 5, box.lo), 2, box.size());
  EXPECT_EQ(last.lo, 0);
  EXPECT_EQ(last.hi, 0);
  // A constant access moves by the box start alone.
  EXPECT_EQ(shiftAccess(DimAccess{-1, 0, 2, 5, 1}, 7, 2),
            (DimAccess{-1, 0, 0, 3, 1}));
}

TEST(Accesses, ShiftedAccessReadsTheSameElements) {
  for (DimAccess access :
       {DimAccess::window(0, 3, -2, 4), DimAccess{0, 1, -1, 2, 3},
        DimAccess{0, -2, 30, 31, 1}, DimAccess{0, 6, 1, 5, 4}})
    for (int64_t lo = 0; lo != 8; ++lo)
      for (int64_t hi = lo + 1; hi != 9; ++hi) {
        Range box = accessRange(access, {lo, hi}, 40);
        DimAccess local = shiftAccess(access, lo, box.lo);
        for (int64_t unit = lo; unit != hi; ++unit) {
          Range global = unclampedRange(access, {unit, unit + 1});
          Range shifted = unclampedRange(local, {unit - lo, unit - lo + 1});
          EXPECT_EQ(shifted.lo + box.lo, global.lo);
          EXPECT_EQ(shifted.hi + box.lo, global.hi);
        }
      }
}

TEST(Loops, KindsOfAConvolution) {
  PartitionSpec conv = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  llvm::SmallVector<Shape> shapes{{4, 3, 13, 9}, {6, 3, 3, 3}, {6}};
  DimTraits input{/*sampleDims=*/1, false}, weight{0, true};
  auto kinds = inferLoopKinds(conv, {input, weight, weight}, shapes);
  using Kinds = llvm::SmallVector<LoopKind, 6>;
  EXPECT_EQ(kinds,
            (Kinds{LoopKind::Sample, LoopKind::Parameter, LoopKind::Attribute,
                   LoopKind::Attribute, LoopKind::Parameter}));
  DimTraits result = inferResultTraits(conv, 0, kinds, {input, weight, weight});
  EXPECT_EQ(result.sampleDims, 1u);
  EXPECT_FALSE(result.parameterOnly);
  EXPECT_TRUE(inferResultTraits(conv, 0, kinds, {weight, weight, weight})
                  .parameterOnly);
  EXPECT_FALSE(inferResultTraits(conv, 0, kinds, {}).parameterOnly)
      << "an op without operands is seeded by its caller";
  EXPECT_EQ(conv.findLoop("c"), 4);
  EXPECT_EQ(conv.findLoop("z"), -1);
  EXPECT_TRUE(conv.isReduction(4));
  EXPECT_FALSE(conv.isReduction(0));
}

TEST(Loops, SampleWinsWhateverTheOperandOrder) {
  PartitionSpec add = elementwiseSpec({4, 8});
  llvm::SmallVector<Shape> shapes{{4, 8}, {4, 8}};
  for (bool swapped : {false, true}) {
    DimTraits sample{1, false}, parameter{0, true};
    llvm::SmallVector<DimTraits> traits{sample, parameter};
    if (swapped)
      std::swap(traits[0], traits[1]);
    auto kinds = inferLoopKinds(add, traits, shapes);
    EXPECT_EQ(kinds[0], LoopKind::Sample);
    EXPECT_EQ(kinds[1], LoopKind::Parameter);
  }
}

//===----------------------------------------------------------------------===//
// Invariants: a valid spec, broken in one place each
//===----------------------------------------------------------------------===//

namespace {
struct SpecVerifier : testing::Test {
  PartitionSpec spec = convSpec(4, 6, 7, 5, 3, 3, 2, 1);
  llvm::SmallVector<Shape> operands{{4, 3, 13, 9}, {6, 3, 3, 3}, {6}};
  llvm::SmallVector<Shape> results{{4, 6, 7, 5}};
  std::string check() { return toString(verify(spec, operands, results)); }
};
} // namespace

TEST_F(SpecVerifier, AcceptsAConvolution) { EXPECT_EQ(check(), ""); }

TEST_F(SpecVerifier, Ranks) {
  operands[1].pop_back();
  EXPECT_EQ(check(), "operand 1: expected 3 dimension accesses, got: 4");
  operands.pop_back();
  EXPECT_EQ(check(), "expected 2 operand accesses, got: 3");
}

TEST_F(SpecVerifier, Loops) {
  spec.loops[1].name = "n";
  EXPECT_EQ(check(), "expected distinct loop names, got: 'n' twice");
  spec.loops[1] = {"f", 0};
  EXPECT_EQ(check(), "expected a positive extent of loop 'f', got: 0");
}

TEST_F(SpecVerifier, ResultWindowsAbutAndCover) {
  spec.results[0].dims[2] = DimAccess::window(2, 1, 0, 1);
  EXPECT_EQ(check(), "result 0, dimension 2: expected abutting windows of 1 "
                     "elements, got: 2");
  spec.results[0].dims[2] = DimAccess::window(2, 1, 1, 1);
  EXPECT_EQ(check(), "result 0, dimension 2: expected [0:7] to be covered, "
                     "got: [1:8]");
  spec.results[0].dims[2] = {2, 1, 0, 0, 2};
  EXPECT_EQ(check(), "result 0, dimension 2: expected div = 1 and mul > 0, "
                     "got: 2 and 1");
  spec.results[0].dims[2] = DimAccess::whole(6);
  EXPECT_EQ(check(), "result 0, dimension 2: expected [0:7] to be covered, "
                     "got: [0:6]");
}

TEST_F(SpecVerifier, OneLoopPerDimension) {
  spec.results[0].dims[2] = DimAccess::identity(0);
  EXPECT_EQ(check(), "result 0, dimension 2: expected each loop in at most one "
                     "dimension, got: 'n' again");
  spec.results[0].dims[2] = DimAccess::identity(9);
  EXPECT_EQ(check(), "result 0, dimension 2: expected a loop below 5 or -1, "
                     "got: 9");
}

TEST_F(SpecVerifier, ReductionsNeedACombiner) {
  spec.results[0].combine = Combine::None;
  EXPECT_EQ(check(), "result 0: expected a combiner, because loop 'c' indexes "
                     "none of its dimensions");
}

TEST_F(SpecVerifier, Operands) {
  spec.operands[0].dims[2].mul = 0;
  EXPECT_EQ(check(), "operand 0, dimension 2: expected a monotone access, got: "
                     "mul = 0");
  spec.operands[0].dims[2] = DimAccess::window(2, 1, 1, 0);
  EXPECT_EQ(check(), "operand 0, dimension 2: expected lo <= hi, got: 1 and 0");
  spec.operands[0].dims[2] = DimAccess::window(2, -1, 6, 6);
  EXPECT_EQ(check(), "") << "descending accesses are monotone";
  spec.operands[0].combine = Combine::Sum;
  EXPECT_EQ(check(),
            "operand 0: expected a combiner on results only, got: sum");
}

TEST_F(SpecVerifier, FirstOnly) {
  spec.operands[1].firstOnly = true;
  EXPECT_EQ(check(), "operand 1, dimension 1: expected no reduction loop in a "
                     "firstOnly operand, got: 'c'");
  spec.operands[1].firstOnly = false;
  spec.results[0].firstOnly = true;
  EXPECT_EQ(check(), "result 0: expected firstOnly on operands only");
}

TEST_F(SpecVerifier, Unreduced) {
  spec.operands[2].unreduced = true;
  EXPECT_EQ(check(), "operand 2: expected firstOnly or unreduced, got both");
  spec.operands[2].firstOnly = false;
  EXPECT_EQ(check(), "") << "the bias of a sum over channels";
  spec.results[0].combine = Combine::Max;
  EXPECT_EQ(check(), "operand 2: expected sums as results where an operand is "
                     "unreduced, got: 'max' of result 0");
  spec.results[0].combine = Combine::Sum;
  spec.operands[2].unreduced = false;
  spec.operands[1].unreduced = true;
  EXPECT_EQ(check(), "operand 1, dimension 1: expected no reduction loop in an "
                     "unreduced operand, got: 'c'");
  spec.operands[1].unreduced = false;
  spec.results[0].unreduced = true;
  EXPECT_EQ(check(), "result 0: expected unreduced on operands only");
}
