//===- ReferenceOps.h - Parts of the naive evaluator ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_NN_REFERENCEOPS_H
#define SOAP_UNITTESTS_NN_REFERENCEOPS_H

#include "Reference.h"
#include "soap/Dialect/NN/IR/NNTraining.h"

namespace soap::nn::test {

/// One element of an operation per element (nn.add, nn.exp, ...), from one
/// element of every operand. Booleans are 0 and 1.
double elementOf(mlir::Operation *op, llvm::ArrayRef<double> x);

Tensor gather(GatherOp op, llvm::ArrayRef<Tensor> operands);
Tensor tile(TileOp op, const Tensor &x);
Tensor resize(ResizeOp op, const Tensor &x);
Tensor attention(AttentionOp op, llvm::ArrayRef<Tensor> operands);

// ReferenceIndices.cpp
Tensor gatherElements(GatherElementsOp op, llvm::ArrayRef<Tensor> operands);
Tensor gatherND(GatherNDOp op, llvm::ArrayRef<Tensor> operands);
Tensor scatterElements(ScatterElementsOp op, llvm::ArrayRef<Tensor> operands);
Tensor scatterND(ScatterNDOp op, llvm::ArrayRef<Tensor> operands);
Tensor sparseSGD(SparseSGDOp op, llvm::ArrayRef<Tensor> operands);
/// The result of nn.arg_max, or nn.arg_min if `smallest`.
Tensor argOf(mlir::Value result, const Tensor &x, int64_t axis, bool keepdims,
             bool smallest, bool last);
std::vector<Tensor> topK(TopKOp op, const Tensor &x);
Tensor cumSum(CumSumOp op, const Tensor &x);
Tensor trilu(TriluOp op, const Tensor &x);
Tensor oneHot(OneHotOp op, llvm::ArrayRef<Tensor> operands);
Tensor nonMaxSuppression(NonMaxSuppressionOp op,
                         llvm::ArrayRef<Tensor> operands);

// ReferenceGradients.cpp
Tensor convBackwardFilter(ConvBackwardFilterOp op,
                          llvm::ArrayRef<Tensor> operands);
Tensor maxPoolBackward(MaxPoolBackwardOp op, llvm::ArrayRef<Tensor> operands);

// ReferenceRecurrent.cpp
std::vector<Tensor> evaluateLSTM(LSTMOp op, llvm::ArrayRef<Tensor> operands);
Tensor evaluateGRU(GRUOp op, llvm::ArrayRef<Tensor> operands);
Tensor evaluateRNN(RNNOp op, llvm::ArrayRef<Tensor> operands);
std::vector<Tensor> evaluateLSTMBackward(LSTMBackwardOp op,
                                         llvm::ArrayRef<Tensor> operands);
std::vector<Tensor> evaluateGRUBackward(GRUBackwardOp op,
                                        llvm::ArrayRef<Tensor> operands);
std::vector<Tensor> evaluateRNNBackward(RNNBackwardOp op,
                                        llvm::ArrayRef<Tensor> operands);

// ReferenceTraining.cpp
/// All results of a schedule or an optimizer's operation.
std::vector<Tensor> evaluateTraining(mlir::Operation *op,
                                     llvm::ArrayRef<Tensor> operands);
Tensor dropout(DropoutOp op, llvm::ArrayRef<Tensor> operands);

} // namespace soap::nn::test

#endif // SOAP_UNITTESTS_NN_REFERENCEOPS_H
