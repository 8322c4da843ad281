//===- NNRecurrentGradients.h - Recurrent layers, back ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the nn dialect for the gradients of recurrent layers.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTS_H
#define SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTS_H

#include "soap/Dialect/NN/IR/NN.h"

#define GET_OP_CLASSES
#include "soap/Dialect/NN/IR/NNRecurrentGradientOps.h.inc"

#endif // SOAP_DIALECT_NN_IR_NNRECURRENTGRADIENTS_H
