//===- TileComparison.cpp - A tile against the whole value ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/TileComparison.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace soap;
using namespace soap::tensors;

/// Errors of single elements may be this much larger than of whole tiles.
static constexpr double elementSlack = 100;

Box tensors::boxOf(const soap_tile &tile) {
  Box box;
  for (size_t d = 0; d != tile.rank; ++d)
    box.emplace_back(tile.box[2 * d], tile.box[2 * d + 1]);
  return box;
}

std::string tensors::toString(const Box &box) {
  std::string text;
  for (auto [lo, hi] : box)
    text += (text.empty() ? "" : ", ") + std::to_string(lo) + ":" +
            std::to_string(hi);
  return "[" + text + "]";
}

std::string tensors::toString(const std::vector<int64_t> &index) {
  std::string text;
  for (int64_t i : index)
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

double TileComparison::normRelative() const {
  if (squaredError == 0)
    return unequal ? std::numeric_limits<double>::infinity() : 0;
  return std::sqrt(squaredError / squaredExpected);
}

/// Calls `fn` with something that reads an element.
template <typename Fn>
static void withReader(soap_element element, Fn fn) {
  if (element == SOAP_F32) // By far the most.
    fn([](const unsigned char *data, size_t i) {
      float value;
      std::memcpy(&value, data + i * sizeof(float), sizeof(float));
      return static_cast<double>(value);
    });
  else
    fn([element](const unsigned char *data, size_t i) {
      return elementAt(element, data, i);
    });
}

double tensors::rootMeanSquare(const Tensor &tensor) {
  double squares = 0;
  size_t count = tensor.count();
  withReader(tensor.element, [&](auto read) {
    for (size_t i = 0; i != count; ++i)
      if (double value = read(tensor.bytes.data(), i); std::isfinite(value))
        squares += value * value;
  });
  return count ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

TileComparison tensors::compareTile(const soap_tile &tile,
                                    const Tensor &expected, double scale,
                                    const Tolerance &tolerance) {
  TileComparison result;
  const auto *data = static_cast<const unsigned char *>(tile.data);
  const unsigned char *reference = expected.bytes.data();
  bool floats = isFloat(tile.element), small = scale < tolerance.absolute;
  size_t size = soap_element_size(tile.element), worst = 0;
  double relative = tolerance.relativeOf(tile.element);
  double worstError = 0; // In units of what is allowed.
  withReader(tile.element, [&](auto read) {
    forEachRow(
        expected.shape, boxOf(tile), [&](size_t to, size_t from, size_t run) {
          result.elements += run;
          if (!floats && std::memcmp(data + from * size, reference + to * size,
                                     run * size) == 0)
            return;
          for (size_t i = 0; i != run; ++i) {
            double got = read(data, from + i), want = read(reference, to + i);
            double magnitude = std::fabs(want);
            if (std::isfinite(want))
              result.squaredExpected += want * want;
            bool same =
                floats ? got == want || (std::isnan(got) && std::isnan(want))
                       : std::memcmp(data + (from + i) * size,
                                     reference + (to + i) * size, size) == 0;
            if (same)
              continue;
            ++result.unequal;
            double error = std::fabs(got - want);
            double allowed =
                !floats ? 0
                : small ? tolerance.absolute
                        : elementSlack * relative * std::max(scale, magnitude);
            double excess = std::numeric_limits<double>::infinity();
            if (std::isfinite(error)) {
              result.squaredError += error * error;
              if (allowed > 0)
                excess = error / allowed;
            }
            if (excess > worstError || result.unequal == 1) {
              worst = to + i;
              worstError = excess;
              result.got = got;
              result.expected = want;
            }
          }
        });
  });
  if (result.unequal) {
    result.worst.resize(expected.shape.size());
    for (size_t d = expected.shape.size(); d-- > 0;) {
      auto extent = static_cast<size_t>(expected.shape[d]);
      result.worst[d] = static_cast<int64_t>(worst % extent);
      worst /= extent;
    }
  }
  auto count = static_cast<double>(std::max<size_t>(result.elements, 1));
  double error = std::sqrt(result.squaredError / count);
  double own = std::sqrt(result.squaredExpected / count);
  result.equal =
      worstError <= 1 && (small || error <= relative * std::max(scale, own));
  return result;
}
