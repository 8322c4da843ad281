//===- PointwiseAVX512.cpp - Pointwise convolutions with AVX-512 ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_POINTWISE_SUMS 24
#define SOAP_POINTWISE_AHEAD 512
#define SOAP_POINTWISE_NAME pointwiseAVX512
#include "CPU/PointwiseLoops.inc"
