//===- AttentionAVX512.cpp - Attention with AVX-512 ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_ATTENTION_ROWS 12
#define SOAP_ATTENTION_NAME attentionAVX512
#include "CPU/AttentionLoops.inc"
