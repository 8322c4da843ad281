//===- AttentionAMX.cpp - Attention with AMX ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define SOAP_VECTOR_WIDTH 16
#define SOAP_ATTENTION_TILES
#define SOAP_ATTENTION_NAME attentionAMX
#include "CPU/AttentionLoops.inc"
