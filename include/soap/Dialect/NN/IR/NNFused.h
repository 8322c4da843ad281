//===- NNFused.h - Several operations as one --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operation of the nn dialect that several others are fused into.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNFUSED_H
#define SOAP_DIALECT_NN_IR_NNFUSED_H

#include "soap/Dialect/NN/IR/NN.h"

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNFusedOps.h.inc"

#endif // SOAP_DIALECT_NN_IR_NNFUSED_H
