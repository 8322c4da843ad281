//===- PointwiseWide.cpp - Pointwise loops with wide vectors --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors as wide as those of AVX-512, for any processor: the compiler takes
// several narrow ones in place of each.
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_POINTWISE_SUMS 24
#define SOAP_POINTWISE_AHEAD 512
#define SOAP_POINTWISE_NAME pointwiseWide
namespace soap::runtime {
struct PointwiseLoops;
extern const PointwiseLoops pointwiseWide;
} // namespace soap::runtime
#include "CPU/PointwiseLoops.inc"
