//===- Patterns.h - Shared by the nn to linalg patterns ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_CONVERSION_NNTOLINALG_PATTERNS_H
#define SOAP_LIB_CONVERSION_NNTOLINALG_PATTERNS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "soap/Conversion/NNToLinalg/NNToLinalg.h"
#include "soap/Dialect/NN/IR/NN.h"

namespace soap {
namespace linalg_lowering {

void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
void populateContractionPatterns(mlir::RewritePatternSet &patterns);
void populateDropoutPatterns(mlir::RewritePatternSet &patterns);
void populateElementwisePatterns(mlir::RewritePatternSet &patterns);
void populateGradientPatterns(mlir::RewritePatternSet &patterns);
void populateIndexPatterns(mlir::RewritePatternSet &patterns);
void populateMaxPoolGradientPatterns(mlir::RewritePatternSet &patterns);
void populateOrderPatterns(mlir::RewritePatternSet &patterns);
void populateRecurrentGradientPatterns(mlir::RewritePatternSet &patterns);
void populateRecurrentPatterns(mlir::RewritePatternSet &patterns);
void populateReductionPatterns(mlir::RewritePatternSet &patterns);
void populateScatterPatterns(mlir::RewritePatternSet &patterns);
void populateShapePatterns(mlir::RewritePatternSet &patterns);
void populateSuppressionPatterns(mlir::RewritePatternSet &patterns);
/// `byIndex`: pools read their input where a window is, without a padded copy.
void populateWindowPatterns(mlir::RewritePatternSet &patterns, bool byIndex);

/// Sums may be reordered and their products fused.
inline constexpr mlir::arith::FastMathFlags sumFlags =
    mlir::arith::FastMathFlags::reassoc | mlir::arith::FastMathFlags::contract;

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Makes all types below `root` storage types, and casts floats of 16 bits to
/// f32 and back around operations that compute with them.
void legalizeElementTypes(mlir::Operation *root);

/// The element type of operand `index`, or of result `index` - the number of
/// operands, before it became a storage type.
mlir::Type elementTypeOf(mlir::Operation *op, unsigned index);
inline bool isUnsigned(mlir::Operation *op, unsigned operand = 0) {
  return nn::isUnsigned(elementTypeOf(op, operand));
}

/// Conversions between f32 and floats of 16 bits in `root`, of arith, become
/// integer arithmetic on their bits.
void expandNarrowCasts(mlir::Operation *root);

/// A number of type `type` as f32 if it is a narrow float, which `stored`
/// holds; else `stored` itself.
mlir::Value widened(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value stored, mlir::Type type);
/// `x`, of type f32 or f64, rounded to `type` if that is a narrow float, and
/// what holds it; else x itself.
mlir::Value narrowed(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x, mlir::Type type, bool saturate = false);
/// What nn.cast makes of an element.
mlir::Value converted(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value x, mlir::Type from, mlir::Type to,
                      bool saturate);

/// What nn.bit_cast makes of an element.
mlir::Value sameBits(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value x, mlir::Type to);

/// What a reduction of elements of type `element` starts with, or 0.
mlir::Value neutral(mlir::OpBuilder &builder, mlir::Location loc,
                    std::optional<nn::ReduceKind> kind, mlir::Type element);
/// How two numbers are joined. Max and min of floats are NaN if one of them is;
/// sums and products of floats may be reordered if `flags` say so.
struct Join {
  nn::ReduceKind kind;
  bool isUnsigned = false;
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
};
mlir::Value joined(mlir::OpBuilder &builder, mlir::Location loc, Join how,
                   mlir::Value a, mlir::Value b);

/// A float or integer constant of type `type`.
mlir::Value scalar(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Type type, double value);

/// An uninitialised tensor.
mlir::Value empty(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::ArrayRef<int64_t> shape, mlir::Type element);

/// A tensor whose elements are all `value`.
mlir::Value filled(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::ArrayRef<int64_t> shape, mlir::Value value);

/// `tensor` with `lo` elements of `value` before and `hi` behind each dim;
/// `tensor` itself if that is none.
mlir::Value padded(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value tensor, llvm::ArrayRef<int64_t> lo,
                   llvm::ArrayRef<int64_t> hi, mlir::Value value);

/// The same elements in another shape.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value tensor, llvm::ArrayRef<int64_t> shape);

/// `input` without `axes`, each element joined from all along them.
mlir::Value reduce(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value input, llvm::ArrayRef<int64_t> axes,
                   nn::ReduceKind kind, bool isUnsigned = false);

/// What products are added to: the bias along dim `dim`, else zeros.
mlir::Value initialSum(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type, mlir::Value bias,
                       int64_t dim);
/// Adds `a * b` to `sum`.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value a, mlir::Value b, mlir::Value sum);

/// Dim `dim` of `value` as `groups` times the rest, and back to `type`.
mlir::Value splitGroups(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, unsigned dim, int64_t groups);
mlir::Value mergeGroups(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type, mlir::Value value,
                        unsigned dim);
/// Adds a product of elements of the two `inputs` to `sum` for every point of
/// the loops; `accesses` are those of the inputs and of the sum.
mlir::Value
sumOfProducts(mlir::PatternRewriter &rewriter, mlir::Location loc,
              mlir::ValueRange inputs, mlir::Value sum,
              llvm::ArrayRef<llvm::SmallVector<mlir::AffineExpr>> accesses,
              llvm::ArrayRef<mlir::utils::IteratorType> iterators);
/// Windows along the spatial dimensions: the first starts `pads[i]` elements
/// before the operand, `counts[i]` follow each other.
struct Reach {
  llvm::ArrayRef<int64_t> pads, counts, strides;
  llvm::SmallVector<int64_t, 3> extents; ///< Elements of a window.
};
/// What windows read of `x`, and no more; `fill` is what lies outside of x. The
/// spatial dimensions begin at dim `firstSpatial`.
mlir::Value reached(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
                    const Reach &reach, mlir::Value fill,
                    int64_t firstSpatial = 2);

/// The result of a batch norm of `elements` of its operands with that factor.
mlir::Value normalised(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::ValueRange elements, mlir::Value factor);

/// 1 / (1 + exp(-x)).
mlir::Value sigmoid(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value x);

/// The row that an index names, of rows [base, base + size) of a table.
struct Row {
  mlir::Value index;    ///< In [0, size), also where there is none.
  mlir::Value isInside; ///< Whether there is one.
};
/// `index` counts from the end of the table of `tableSize` rows if it is
/// negative.
Row rowOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value index,
          int64_t base, int64_t size, int64_t tableSize);
/// The element of `table` at `position`, or 0 unless `isInside`.
mlir::Value elementOrZero(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value table, mlir::ValueRange position,
                          mlir::Value isInside);
/// The element of `op`'s data that `index` names along the axis, and
/// `loopOf(dim)`, the number of a loop, along each other dimension.
template <typename Op>
mlir::Value elementAlongAxis(mlir::OpBuilder &builder, mlir::Location loc,
                             Op op, mlir::Value index,
                             llvm::function_ref<unsigned(unsigned)> loopOf) {
  mlir::RankedTensorType data = tensorType(op.getData());
  unsigned axis = op.getAxis();
  int64_t size = data.getDimSize(axis);
  Row row = rowOf(builder, loc, index, op.getBase(), size,
                  op.getTableSize().value_or(size));
  llvm::SmallVector<mlir::Value> position;
  for (unsigned dim = 0, rank = data.getRank(); dim < rank; ++dim)
    position.push_back(dim == axis
                           ? row.index
                           : mlir::Value(builder.create<mlir::linalg::IndexOp>(
                                 loc, loopOf(dim))));
  return elementOrZero(builder, loc, op.getData(), position, row.isInside);
}

/// The result element of an element-wise operation on elements in the types in
/// which it is computed: no narrow floats.
mlir::Value computeScalar(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Operation *op, mlir::ValueRange elements,
                          bool isUnsigned);
/// The result element of an operation per element that is made of several
/// (tan, asinh, mod, ...); null for others.
mlir::Value function(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Operation *op, mlir::ValueRange elements,
                     bool isUnsigned);

/// Builds the result element from elements of inputs and of the output.
using ElementBuilder = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The loops of a linalg.generic. `maps` has one entry per input, then that of
/// the output.
struct Loops {
  llvm::ArrayRef<mlir::AffineMap> maps;
  llvm::ArrayRef<mlir::utils::IteratorType> iterators;
};

/// A linalg.generic with one output.
mlir::Value generic(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::ValueRange inputs, mlir::Value output, Loops loops,
                    ElementBuilder element);

/// The same with identity maps: all shapes are equal, all loops parallel.
mlir::Value elementwise(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::ValueRange inputs, mlir::Value output,
                        ElementBuilder element);

} // namespace linalg_lowering
} // namespace soap

#endif // SOAP_LIB_CONVERSION_NNTOLINALG_PATTERNS_H
