//===- Compare.h - Compares tensors -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_COMPARE_H
#define SOAP_TENSORS_COMPARE_H

#include "soap/Tensors/Tensor.h"

namespace soap::tensors {

struct Tolerance {
  double relative = 1e-4, absolute = 1e-5;

  /// `relative`, but at least as much as rounding to a type of 16 bits changes,
  /// unless less than the default is asked for.
  double relativeOf(soap_element element) const {
    if (relative < Tolerance().relative)
      return relative;
    double rounding = element == SOAP_F16    ? 0x1p-10
                      : element == SOAP_BF16 ? 0x1p-7
                                             : 0;
    return relative > rounding ? relative : rounding;
  }
  bool nanEqual = false; ///< NaN equals NaN.
};

struct Comparison {
  std::string name;
  bool equal = false;
  double maxAbsolute = 0;  ///< Largest |got - expected|.
  double maxRelative = 0;  ///< Largest |got - expected| / |expected|.
  double normRelative = 0; ///< 2-norm of the difference / that of expected.
  std::string reason;      ///< Why they differ.
};

/// Floats are equal if the 2-norm of the difference is at most `relativeOf()`
/// their type times that of `expected`; where the root mean square of
/// `expected` is below `absolute`, if no element differs by more than
/// `absolute`. NaN is equal to nothing, or, with `nanEqual`, to NaN; an
/// infinity to itself. Other types are equal bit by bit. Throws UsageError if
/// types or shapes differ.
Comparison compare(const std::string &name, const Tensor &got,
                   const Tensor &expected, const Tolerance &tolerance);

} // namespace soap::tensors

#endif // SOAP_TENSORS_COMPARE_H
