//===- Operators.h - The table of supported operators -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_OPERATORS_H
#define SOAP_LIB_TARGET_ONNX_OPERATORS_H

#include "NodeContext.h"

namespace soap::onnx_import {

/// One ONNX operator. Adding an operator is adding a row and its function.
struct OperatorEntry {
  llvm::StringLiteral name;
  /// First operator set in which it exists (7 where it is older).
  int since;
  /// Imports a node whose operands were all imported. Null: only with constant
  /// operands, or by its function body if it does not fold either.
  mlir::LogicalResult (*import)(NodeContext &);
  /// Computes results from constant operands; null if it does not fold.
  mlir::LogicalResult (*fold)(NodeContext &);
  unsigned minInputs, maxInputs;
  /// Attributes that are known, separated by spaces.
  llvm::StringLiteral attributes;
  /// What it becomes and what is not supported, for the documentation.
  llvm::StringLiteral becomes, limits;
};

/// Two tables, each sorted by name: operators of which each has an nn op or a
/// fold, and those that are several ops (Compositions.cpp). Rows of the latter
/// without functions are imported by their function bodies (Functions.cpp).
llvm::ArrayRef<OperatorEntry> operators();
llvm::ArrayRef<OperatorEntry> compositions();
const OperatorEntry *findOperator(llvm::StringRef name);

// Windows.cpp, Linear.cpp, Einsum.cpp
mlir::LogicalResult importConv(NodeContext &);
mlir::LogicalResult importMaxPool(NodeContext &);
mlir::LogicalResult importAveragePool(NodeContext &);
mlir::LogicalResult importLpPool(NodeContext &);
mlir::LogicalResult importGemm(NodeContext &);
mlir::LogicalResult importMatMul(NodeContext &);
mlir::LogicalResult importConvTranspose(NodeContext &);
mlir::LogicalResult importEinsum(NodeContext &);
/// What MatMul and Conv make of operands that are values already, of one type;
/// the bias may be null. The attributes are those of the node.
mlir::FailureOr<mlir::Value> matrixProduct(NodeContext &, mlir::Value a,
                                           mlir::Value b,
                                           llvm::StringRef suffix);
mlir::FailureOr<mlir::Value> convolution(NodeContext &, mlir::Value input,
                                         mlir::Value weight, mlir::Value bias,
                                         llvm::StringRef suffix);

// Quantization.cpp
mlir::LogicalResult importQuantizeLinear(NodeContext &);
mlir::LogicalResult importDequantizeLinear(NodeContext &);
mlir::LogicalResult importMatMulInteger(NodeContext &);
mlir::LogicalResult importConvInteger(NodeContext &);
mlir::LogicalResult importQLinearMatMul(NodeContext &);
mlir::LogicalResult importQLinearConv(NodeContext &);

// Elementwise.cpp
mlir::LogicalResult importUnary(NodeContext &);
mlir::LogicalResult importBinary(NodeContext &);
mlir::LogicalResult importPow(NodeContext &);
mlir::LogicalResult importGelu(NodeContext &);
mlir::LogicalResult importCompare(NodeContext &);
mlir::LogicalResult importWhere(NodeContext &);
mlir::LogicalResult importClip(NodeContext &);
mlir::LogicalResult importCast(NodeContext &);
/// Whether a cast to `type` makes large numbers the largest one.
bool saturates(const NodeContext &, int type);
mlir::LogicalResult importExpand(NodeContext &);

// ComposedActivations.cpp
mlir::LogicalResult importLeakyRelu(NodeContext &);
mlir::LogicalResult importSoftplus(NodeContext &);
mlir::LogicalResult importMish(NodeContext &);
mlir::LogicalResult importHardSigmoid(NodeContext &);

// ComposedNormalization.cpp
mlir::LogicalResult importLpNormalization(NodeContext &);
mlir::LogicalResult importMeanVarianceNormalization(NodeContext &);
/// InstanceNormalization, too.
mlir::LogicalResult importGroupNormalization(NodeContext &);

// Numbers.cpp, Scatter.cpp, Order.cpp
mlir::LogicalResult importMod(NodeContext &);
mlir::LogicalResult importIsNaN(NodeContext &);
mlir::LogicalResult importIsInf(NodeContext &);
mlir::LogicalResult importGatherElements(NodeContext &);
mlir::LogicalResult importGatherND(NodeContext &);
mlir::LogicalResult importScatterElements(NodeContext &);
mlir::LogicalResult importScatterND(NodeContext &);
mlir::LogicalResult importArg(NodeContext &);
mlir::LogicalResult importTopK(NodeContext &);
mlir::LogicalResult importCumSum(NodeContext &);
mlir::LogicalResult importTrilu(NodeContext &);
mlir::LogicalResult importOneHot(NodeContext &);

// Bits.cpp
mlir::LogicalResult importBitShift(NodeContext &);
mlir::LogicalResult importBitCast(NodeContext &);
/// A parameter of integers of 4 bits, `type`, whose bytes are at `source`. Two
/// elements share a byte. `nameOf` makes a unique name of a suffix; the result
/// has that of the empty one.
mlir::Value
unpackedParameter(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, mlir::Attribute source,
                  llvm::function_ref<std::string(llvm::StringRef)> nameOf);

// Ngrams.cpp, Suppression.cpp
mlir::LogicalResult importTfIdfVectorizer(NodeContext &);
mlir::LogicalResult importNonMaxSuppression(NodeContext &);

// Places.cpp, Unpooling.cpp, Selections.cpp, Sampling.cpp, Spectra.cpp:
// operators that are several others.
mlir::LogicalResult importHardmax(NodeContext &);
mlir::LogicalResult importReverseSequence(NodeContext &);
mlir::LogicalResult importTensorScatter(NodeContext &);
mlir::LogicalResult importCumProd(NodeContext &);
mlir::LogicalResult importDet(NodeContext &);
mlir::LogicalResult importMaxUnpool(NodeContext &);
mlir::LogicalResult importCol2Im(NodeContext &);
mlir::LogicalResult importCompress(NodeContext &);
mlir::LogicalResult importNonZero(NodeContext &);
mlir::LogicalResult importUnique(NodeContext &);
mlir::LogicalResult importGridSample(NodeContext &);
mlir::LogicalResult importRoiAlign(NodeContext &);
mlir::LogicalResult importDeformConv(NodeContext &);
mlir::LogicalResult importDFT(NodeContext &);
mlir::LogicalResult importSTFT(NodeContext &);
mlir::LogicalResult foldMelWeightMatrix(NodeContext &);

// Indices.cpp, Recurrent.cpp
mlir::LogicalResult importGather(NodeContext &);
mlir::LogicalResult importTile(NodeContext &);
mlir::LogicalResult importResize(NodeContext &);
mlir::LogicalResult importLSTM(NodeContext &);
mlir::LogicalResult importGRU(NodeContext &);
mlir::LogicalResult importRNN(NodeContext &);

// Normalization.cpp
mlir::LogicalResult importBatchNormalization(NodeContext &);
mlir::LogicalResult importLRN(NodeContext &);
mlir::LogicalResult importSoftmax(NodeContext &);
mlir::LogicalResult importLayerNormalization(NodeContext &);
mlir::LogicalResult importRMSNormalization(NodeContext &);
mlir::LogicalResult importDropout(NodeContext &);
mlir::LogicalResult importReduce(NodeContext &);
mlir::LogicalResult importGlobalPool(NodeContext &);

// Layout.cpp, Pieces.cpp, Pad.cpp: operators that move elements; also on
// constants.
mlir::LogicalResult importIdentity(NodeContext &);
mlir::LogicalResult importReshape(NodeContext &);
mlir::LogicalResult importFlatten(NodeContext &);
mlir::LogicalResult importSqueeze(NodeContext &);
mlir::LogicalResult importUnsqueeze(NodeContext &);
mlir::LogicalResult importTranspose(NodeContext &);
mlir::LogicalResult importConcat(NodeContext &);
mlir::LogicalResult importSlice(NodeContext &);
mlir::LogicalResult importSplit(NodeContext &);
mlir::LogicalResult importPad(NodeContext &);

// Constants.cpp
mlir::LogicalResult importConstant(NodeContext &);
mlir::LogicalResult importConstantOfShape(NodeContext &);
mlir::LogicalResult importShape(NodeContext &);
mlir::LogicalResult importSize(NodeContext &);

// Folding.cpp, FoldLayout.cpp: shape arithmetic.
mlir::LogicalResult foldBinary(NodeContext &);
mlir::LogicalResult foldUnary(NodeContext &);
mlir::LogicalResult foldCast(NodeContext &);
mlir::LogicalResult foldSplit(NodeContext &);
mlir::LogicalResult foldGather(NodeContext &);
mlir::LogicalResult foldConcat(NodeContext &);
mlir::LogicalResult foldSlice(NodeContext &);
mlir::LogicalResult foldTranspose(NodeContext &);
mlir::LogicalResult foldExpand(NodeContext &);
mlir::LogicalResult foldTile(NodeContext &);
mlir::LogicalResult foldPow(NodeContext &);
mlir::LogicalResult foldWhere(NodeContext &);
mlir::LogicalResult foldRange(NodeContext &);
mlir::LogicalResult foldReduce(NodeContext &);

/// A Split of a product with a parameter, along its columns, becomes one
/// product per part (SplitProducts.cpp). True if it did.
mlir::FailureOr<bool> splitProduct(NodeContext &,
                                   llvm::ArrayRef<int64_t> sizes);

/// The activations of all directions of a recurrent layer with so many gates; a
/// null attribute for the default ones. Their alphas and betas are those that
/// the node lists, in turn (RecurrentActivations.cpp).
mlir::FailureOr<mlir::ArrayAttr> readActivations(NodeContext &, int64_t gates,
                                                 int64_t directions);

/// A sliding window over the spatial dimensions, in normal form.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, padsLo, padsHi;
  /// Padding at the end without what ceil_mode adds.
  llvm::SmallVector<int64_t> declaredHi;
  llvm::SmallVector<int64_t> result;
};
/// Result 1 of a MaxPool node (Unpooling.cpp).
mlir::LogicalResult importMaxPoolIndices(NodeContext &, const Window &window);

// Shared with FoldLayout.cpp.

/// The permutation of a Transpose node.
mlir::FailureOr<llvm::SmallVector<int64_t>> permutationOf(NodeContext &);
/// Start, step and result size per dimension of a Slice node.
struct SliceBounds {
  llvm::SmallVector<int64_t> starts, steps;
  Shape shape;
};
mlir::FailureOr<SliceBounds> sliceBounds(NodeContext &);
/// The shape of the result of a Concat node, and the axis that it joins.
struct ConcatShape {
  Shape shape;
  int64_t axis;
};
mlir::FailureOr<ConcatShape> concatShape(NodeContext &);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_OPERATORS_H
