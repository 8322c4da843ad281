//===- TileComparisonTest.cpp - Tiles against whole values ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/TileComparison.h"
#include "TestTensors.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace soap::tensors;

namespace {
/// The tile of a whole tensor of floats, with a copy of its elements.
struct Tile {
  Tile(const Tensor &whole, const Box &box) {
    tile.element = whole.element;
    tile.rank = whole.shape.size();
    tile.shape = whole.shape.data();
    for (auto [lo, hi] : box) {
      bounds.push_back(lo);
      bounds.push_back(hi);
    }
    tile.box = bounds.data();
    std::vector<int64_t> index;
    for (auto [lo, hi] : box)
      index.push_back(lo);
    bool empty = false;
    for (auto [lo, hi] : box)
      empty |= lo == hi;
    for (bool more = !empty; more;) {
      int64_t at = 0;
      for (size_t d = 0; d != box.size(); ++d)
        at = at * whole.shape[d] + index[d];
      values.push_back(static_cast<float>(whole.at(static_cast<size_t>(at))));
      more = false;
      for (size_t d = box.size(); d-- > 0 && !more;) {
        more = ++index[d] != box[d].second;
        if (!more)
          index[d] = box[d].first;
      }
    }
    tile.data = values.data();
  }
  soap_tile tile = {};
  std::vector<int64_t> bounds;
  std::vector<float> values;
};
} // namespace

static Tensor counting(std::vector<int64_t> shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  Tensor tensor = tensorOf(SOAP_F32, values, shape);
  tensor.shape = shape; // Rank 0, too.
  return tensor;
}

TEST(TileComparison, EveryBoxOfATensorEqualsIt) {
  Tensor whole = counting({3, 2, 4});
  double scale = rootMeanSquare(whole);
  size_t boxes = 0;
  for (int64_t a = 0; a <= 3; ++a)
    for (int64_t b = a; b <= 3; ++b)
      for (int64_t c = 0; c <= 2; ++c)
        for (int64_t d = c; d <= 2; ++d)
          for (int64_t e = 0; e <= 4; ++e)
            for (int64_t f = e; f <= 4; ++f, ++boxes) {
              Box box = {{a, b}, {c, d}, {e, f}};
              Tile tile(whole, box);
              EXPECT_EQ(boxOf(tile.tile), box);
              TileComparison result =
                  compareTile(tile.tile, whole, scale, Tolerance());
              EXPECT_TRUE(result.equal) << toString(box);
              EXPECT_EQ(result.elements, tile.values.size()) << toString(box);
              // Every single wrong element is found, at its place.
              for (size_t i = 0; i != tile.values.size(); ++i) {
                float right = tile.values[i];
                tile.values[i] = right + 3;
                result = compareTile(tile.tile, whole, scale, Tolerance());
                EXPECT_FALSE(result.equal) << toString(box);
                EXPECT_EQ(result.unequal, 1u);
                EXPECT_EQ(result.expected, right);
                EXPECT_EQ(result.got, right + 3);
                ASSERT_EQ(result.worst.size(), 3u);
                EXPECT_EQ((result.worst[0] * 2 + result.worst[1]) * 4 +
                              result.worst[2] + 1,
                          static_cast<int64_t>(right));
                tile.values[i] = right;
              }
            }
  EXPECT_EQ(boxes, 10u * 6 * 15);
}

TEST(TileComparison, ScalarsHaveOneElement) {
  Tensor whole = counting({});
  Tile tile(whole, {});
  EXPECT_EQ(compareTile(tile.tile, whole, 1, Tolerance()).elements, 1u);
  tile.values[0] = 2;
  TileComparison result = compareTile(tile.tile, whole, 1, Tolerance());
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(toString(result.worst), "[]");
}

TEST(TileComparison, NotANumberAndInfinitiesEqualThemselves) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Tensor whole = tensorOf<float>(SOAP_F32, {1, nan, infinity, -infinity});
  double scale = rootMeanSquare(whole);
  EXPECT_EQ(scale, 0.5); // Of the finite ones.
  Tile tile(whole, {{0, 4}});
  EXPECT_TRUE(compareTile(tile.tile, whole, scale, Tolerance()).equal);
  for (auto [at, value] : {std::pair(0, nan), {1, 1.0f}, {2, -infinity}}) {
    Tile wrong(whole, {{0, 4}});
    wrong.values[static_cast<size_t>(at)] = value;
    EXPECT_FALSE(compareTile(wrong.tile, whole, scale, Tolerance()).equal);
  }
}

TEST(TileComparison, OneLargeErrorAndManySmallOnes) {
  Tensor whole = counting({1000});
  double scale = rootMeanSquare(whole);
  Tolerance tolerance;
  tolerance.relative = 1e-3;
  // One element may be off by 100 * 1e-3 of the scale, all of them by 1e-3.
  Tile tile(whole, {{0, 1000}});
  tile.values[0] += static_cast<float>(0.02 * scale);
  EXPECT_TRUE(compareTile(tile.tile, whole, scale, tolerance).equal);
  tile.values[0] += static_cast<float>(0.1 * scale);
  EXPECT_FALSE(compareTile(tile.tile, whole, scale, tolerance).equal);
  for (auto [error, equal] : {std::pair(0.9e-3, true), {1.1e-3, false}}) {
    Tile all(whole, {{0, 1000}});
    for (float &value : all.values)
      value += static_cast<float>(error * scale);
    EXPECT_EQ(compareTile(all.tile, whole, scale, tolerance).equal, equal);
  }
}

TEST(TileComparison, SmallValuesAreComparedAbsolutely) {
  Tensor whole = tensorOf<float>(SOAP_F32, {1e-6f, 0});
  double scale = rootMeanSquare(whole);
  Tile tile(whole, {{0, 2}});
  tile.values[1] = 0.9e-5f;
  EXPECT_TRUE(compareTile(tile.tile, whole, scale, Tolerance()).equal);
  tile.values[1] = 1.1e-5f;
  EXPECT_FALSE(compareTile(tile.tile, whole, scale, Tolerance()).equal);
}
