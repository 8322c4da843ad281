//===- StridedCopy.h - The geometry of a copy of a box ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_BACKEND_STRIDEDCOPY_H
#define SOAP_LIB_RUNTIME_BACKEND_STRIDEDCOPY_H

#include "Types.h"

namespace soap::runtime {

/// A strided copy of `run` contiguous bytes for each index of `extents`
/// (outermost first; empty: one run). Offsets and strides are in bytes.
struct StridedCopy {
  uint64_t fromOffset = 0, toOffset = 0, run = 0;
  Shape extents, fromStrides, toStrides;

  /// A copy of so many contiguous bytes.
  static StridedCopy dense(uint64_t bytes);

  /// Merges dims that are dense on both sides.
  void simplify();
  uint64_t bytes() const;
  /// Copies between two bases in host memory; of `parts` parts of about the
  /// same size the one with number `part`.
  void execute(const char *from, char *to, size_t part = 0,
               size_t parts = 1) const;
};

/// The copy that a table describes, simplified.
StridedCopy makeStrided(const fb::BoxCopy &box);

/// Sets `bytes` of host memory to a repeated pattern (empty: zero bytes); of
/// `parts` parts the one with number `part`.
void fillHost(char *to, uint64_t bytes, const std::vector<uint8_t> &pattern,
              size_t part = 0, size_t parts = 1);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_BACKEND_STRIDEDCOPY_H
