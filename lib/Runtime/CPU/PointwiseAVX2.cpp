//===- PointwiseAVX2.cpp - Pointwise convolutions with AVX2 and FMA -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_POINTWISE_SUMS 12
#define SOAP_POINTWISE_AHEAD 0
#define SOAP_POINTWISE_NAME pointwiseAVX2
#include "CPU/PointwiseLoops.inc"
