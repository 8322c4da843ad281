//===- Compare.cpp - Compares tensors -------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Tensors/Compare.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace soap;
using namespace soap::tensors;

Comparison tensors::compare(const std::string &name, const Tensor &got,
                            const Tensor &expected,
                            const Tolerance &tolerance) {
  if (got.element != expected.element || got.shape != expected.shape)
    throw UsageError("expected " + typeOf(expected) + " of output '" + name +
                     "', got: " + typeOf(got) +
                     (got.shape == expected.shape
                          ? "; compare models of the same types"
                          : "; compare models of the same types and --batch"));
  Comparison result;
  result.name = name;
  double differences = 0, squares = 0;
  size_t notNumbers = 0, unequal = 0;
  size_t count = got.count(), size = soap_element_size(got.element);
  for (size_t i = 0; i != count; ++i) {
    double a = got.at(i), b = expected.at(i);
    if (std::isnan(a) || std::isnan(b)) {
      notNumbers += !tolerance.nanEqual || !std::isnan(a) || !std::isnan(b);
      continue;
    }
    squares += std::isinf(b) ? 0 : b * b;
    // A double does not tell all 64-bit integers apart.
    bool same = got.isFloat()
                    ? a == b
                    : std::memcmp(got.bytes.data() + i * size,
                                  expected.bytes.data() + i * size, size) == 0;
    if (same)
      continue;
    ++unequal;
    double difference = std::fabs(a - b);
    differences += difference * difference;
    result.maxAbsolute = std::max(result.maxAbsolute, difference);
    result.maxRelative =
        std::max(result.maxRelative, difference / std::fabs(b));
  }
  double norm = std::sqrt(squares);
  result.normRelative = differences == 0 ? 0 : std::sqrt(differences) / norm;
  if (notNumbers) {
    result.reason = std::to_string(notNumbers) + " elements are NaN" +
                    (tolerance.nanEqual ? " on one side only" : "");
    return result;
  }
  if (!got.isFloat()) {
    result.equal = unequal == 0;
  } else {
    double meanSquare = count ? squares / static_cast<double>(count) : 0;
    result.equal =
        std::sqrt(meanSquare) < tolerance.absolute
            ? result.maxAbsolute <= tolerance.absolute
            : result.normRelative <= tolerance.relativeOf(got.element);
  }
  if (!result.equal)
    result.reason = std::to_string(unequal) + " of " + std::to_string(count) +
                    " elements differ";
  return result;
}
