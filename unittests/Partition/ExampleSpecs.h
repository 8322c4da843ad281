//===- ExampleSpecs.h - Specs of common operations --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partition specs as the operations of the nn dialect declare them, for tests
// that know no IR.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_PARTITION_EXAMPLESPECS_H
#define SOAP_UNITTESTS_PARTITION_EXAMPLESPECS_H

#include "soap/Partition/PartitionSpec.h"

namespace soap::test {

/// Loops n, f, h, w, c; operands input [n, c, H, W], weight [f, c, k, k], bias
/// [f]; result [n, f, h, w].
inline PartitionSpec convSpec(int64_t n, int64_t f, int64_t h, int64_t w,
                              int64_t c, int64_t kernel, int64_t stride,
                              int64_t pad) {
  PartitionSpec spec;
  spec.loops = {{"n", n}, {"f", f}, {"h", h}, {"w", w}, {"c", c}};
  auto window = [&](unsigned loop) {
    return DimAccess::window(loop, stride, -pad, kernel - 1 - pad);
  };
  ValueAccess input, weight, bias, result;
  input.dims = {DimAccess::identity(0), DimAccess::identity(4), window(2),
                window(3)};
  weight.dims = {DimAccess::identity(1), DimAccess::identity(4),
                 DimAccess::whole(kernel), DimAccess::whole(kernel)};
  bias.dims = {DimAccess::identity(1)};
  bias.firstOnly = true;
  result.dims = {DimAccess::identity(0), DimAccess::identity(1),
                 DimAccess::identity(2), DimAccess::identity(3)};
  result.combine = Combine::Sum;
  spec.operands = {input, weight, bias};
  spec.results = {result};
  return spec;
}

/// Two operands and a result of the same shape.
inline PartitionSpec elementwiseSpec(llvm::ArrayRef<int64_t> shape) {
  static constexpr const char *names[] = {"d0", "d1", "d2", "d3", "d4"};
  PartitionSpec spec;
  ValueAccess access;
  for (unsigned d = 0; d != shape.size(); ++d) {
    spec.loops.push_back({names[d], shape[d]});
    access.dims.push_back(DimAccess::identity(d));
  }
  spec.operands = {access, access};
  spec.results = {access};
  return spec;
}

} // namespace soap::test

#endif // SOAP_UNITTESTS_PARTITION_EXAMPLESPECS_H
