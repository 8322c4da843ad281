//===- AttentionAVX2.cpp - Attention with AVX2 and FMA ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 8
#define SOAP_ATTENTION_ROWS 6
#define SOAP_ATTENTION_NAME attentionAVX2
#include "CPU/AttentionLoops.inc"
