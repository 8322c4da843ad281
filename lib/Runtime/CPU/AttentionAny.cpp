//===- AttentionAny.cpp - Attention with vectors of four floats ------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 4
#define SOAP_ATTENTION_ROWS 6
#define SOAP_ATTENTION_NAME attentionAny
#include "CPU/AttentionLoops.inc"
