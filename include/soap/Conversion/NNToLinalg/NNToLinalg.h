//===- NNToLinalg.h - From nn to linalg -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOLINALG_NNTOLINALG_H
#define SOAP_CONVERSION_NNTOLINALG_NNTOLINALG_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>

namespace soap {

#define GEN_PASS_DECL
#include "soap/Conversion/NNToLinalg/Passes.h.inc"

/// Threads share loops in pieces: neighbouring elements of a cache line belong
/// to one, and so many are enough for any machine.
inline constexpr int64_t elementsOfPiece = 16, enoughPieces = 64;

/// On an operation on local tensors, a unit: elements of the operands and
/// results that channelsLastValues() names lie with dim 1 last, whatever their
/// types say.
inline constexpr llvm::StringLiteral channelsLastAttr = "native.channels_last";

/// The dims of a tensor in the order in which its elements lie then, the
/// innermost one last.
llvm::SmallVector<int64_t> channelsLastOrder(int64_t rank);

/// Which operands, and behind them which results, of an operation on tensors of
/// rank 3 or more have channels last if one of them has: what an element-wise
/// operation makes and what varies as that does, what a reduction over all
/// spatial dims sums up, all of the gradient of a maximum over windows. Nothing
/// for other operations, or where the order of another operand would matter.
std::optional<llvm::SmallBitVector> channelsLastValues(mlir::Operation *op);

/// Patterns that lower every nn operation but the ends of the graph.
void populateNNToLinalgPatterns(mlir::RewritePatternSet &patterns,
                                bool windowsByIndex = false);

/// True if each result element of `op` depends on one element of each operand.
bool isElementwise(mlir::Operation *op);

/// The dims of the result along which operand `operand` of an element-wise
/// operation varies: bit d is clear where the operand is broadcast along d.
/// Dims of size 1 count as varying.
llvm::SmallBitVector elementwiseAccess(mlir::Operation *op, unsigned operand);

/// The type that holds elements of `element` in memory, as linalg sees it:
/// integers without a signedness, of 8 bits for those of 4 and for floats of 8.
mlir::Type storageType(mlir::Type element);

/// An element of each result of the element-wise operation `op`, computed from
/// one element of each operand; all are of storage types.
llvm::SmallVector<mlir::Value>
buildElementwiseScalars(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Operation *op, mlir::ValueRange elements);
/// The same of the last of `parts`, element-wise operations of a region, from
/// an element of each of its arguments; behind them, of the factor of each of
/// `norms`, which are parts.
mlir::Value buildPartScalars(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::ValueRange arguments,
                             llvm::iterator_range<mlir::Block::iterator> parts,
                             mlir::ValueRange elements,
                             llvm::ArrayRef<nn::BatchNormOp> norms = {});

/// The batch norms of f32 among `parts` whose scale and variance are arguments
/// of the region. Where channels are the innermost loop, their factors are made
/// once per channel: each element would take a root and a quotient.
llvm::SmallVector<nn::BatchNormOp>
normsOfArguments(llvm::iterator_range<mlir::Block::iterator> parts);

/// scale / sqrt(variance + epsilon), the factor of a batch norm's channel.
mlir::Value batchNormFactor(mlir::OpBuilder &builder, mlir::Location loc,
                            nn::BatchNormOp op, mlir::Value scale,
                            mlir::Value variance);

#define GEN_PASS_REGISTRATION
#include "soap/Conversion/NNToLinalg/Passes.h.inc"

} // namespace soap

#endif // SOAP_CONVERSION_NNTOLINALG_NNTOLINALG_H
