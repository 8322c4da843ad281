//===- NNOps.td - All operations of the nn dialect ---------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNOPS_TD
#define SOAP_DIALECT_NN_IR_NNOPS_TD

include "soap/Dialect/NN/IR/NNGraphOps.td"
include "soap/Dialect/NN/IR/NNContractionOps.td"
include "soap/Dialect/NN/IR/NNAttentionOps.td"
include "soap/Dialect/NN/IR/NNWindowOps.td"
include "soap/Dialect/NN/IR/NNElementwiseOps.td"
include "soap/Dialect/NN/IR/NNShapeOps.td"
include "soap/Dialect/NN/IR/NNIndexOps.td"
include "soap/Dialect/NN/IR/NNScatterOps.td"
include "soap/Dialect/NN/IR/NNOrderOps.td"
include "soap/Dialect/NN/IR/NNRecurrentOps.td"
include "soap/Dialect/NN/IR/NNGradientOps.td"

#endif // SOAP_DIALECT_NN_IR_NNOPS_TD
