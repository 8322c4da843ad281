//===- ByteFactors.h - Factors of 8-bit integers ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_BYTEFACTORS_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_BYTEFACTORS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace soap::nn {

/// A factor of i32 as the difference of 8-bit integers and a zero point.
struct ByteFactor {
  mlir::Value bytes;
  mlir::Value zero; ///< Of i32, broadcasts to `bytes`; null: `known`.
  std::optional<int64_t> known = 0; ///< What the zero point is, if known.

  bool isZero() const { return known == 0; }
};

/// `value` as such a difference, if an operation made it of 8-bit integers.
std::optional<ByteFactor> matchByteFactor(mlir::Value value);

/// Whether `value` has more than one element along no dim but `behind`, counted
/// from the end, 1 being the last one.
bool variesOnlyAlong(mlir::Value value, size_t behind);

/// Whether the sum of products of `a` and `b` is one of their bytes, with terms
/// for the zero points (NarrowProducts.cpp).
bool canMultiplyBytes(mlir::Operation *product, const ByteFactor &a,
                      const ByteFactor &b);

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_BYTEFACTORS_H
