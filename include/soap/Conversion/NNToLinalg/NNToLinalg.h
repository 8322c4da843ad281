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
#include "llvm/ADT/SmallBitVector.h"

namespace soap {

#define GEN_PASS_DECL
#include "soap/Conversion/NNToLinalg/Passes.h.inc"

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
/// an element of each of its arguments.
mlir::Value buildPartScalars(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::ValueRange arguments,
                             llvm::iterator_range<mlir::Block::iterator> parts,
                             mlir::ValueRange elements);

#define GEN_PASS_REGISTRATION
#include "soap/Conversion/NNToLinalg/Passes.h.inc"

} // namespace soap

#endif // SOAP_CONVERSION_NNTOLINALG_NNTOLINALG_H
