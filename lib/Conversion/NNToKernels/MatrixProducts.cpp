//===- MatrixProducts.cpp - Products of matrices in kernels ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Conversion/NNToKernels/MatrixProducts.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

using namespace mlir;
using namespace soap;
using native::MatrixProduct;
using Loops = MatrixProduct::Loops;
using Strides = MatrixProduct::Strides;

/// Those of `dims` that run, the largest steps in `first` first.
static SmallVector<Loops> loopsOf(ArrayRef<unsigned> dims,
                                  ArrayRef<Loops> domain,
                                  MatrixProduct::Matrix first) {
  SmallVector<Loops> loops;
  for (unsigned dim : dims)
    if (domain[dim].size != 1)
      loops.push_back(domain[dim]);
  llvm::stable_sort(loops, [&](const Loops &x, const Loops &y) {
    return x.strides[first] > y.strides[first];
  });
  return loops;
}

/// As many of the inner `loops` as one as lie behind each other in every
/// matrix; those outside of them are appended to `others`.
static Loops joined(SmallVector<Loops> loops, SmallVectorImpl<Loops> &others) {
  if (loops.empty())
    return Loops();
  Loops all = loops.pop_back_val();
  while (!loops.empty() && llvm::all_of(llvm::seq(3), [&](int matrix) {
    return loops.back().strides[matrix] == all.strides[matrix] * all.size;
  }))
    all.size *= loops.pop_back_val().size;
  llvm::append_range(others, loops);
  return all;
}

/// How the library reads the elements of `rows` x `columns` in `matrix`, if it
/// can: one of the strides must be 1.
static std::optional<Strides> stridesIn(MatrixProduct::Matrix matrix,
                                        const Loops &rows,
                                        const Loops &columns) {
  Strides strides = {rows.strides[matrix], columns.strides[matrix]};
  if (columns.size == 1)
    strides.column = 1;
  else if (rows.size == 1 && strides.column != 1)
    strides.row = 1;
  if (strides.column == 1) {
    if (rows.size == 1)
      strides.row = columns.size;
    return strides.row >= columns.size ? std::optional(strides) : std::nullopt;
  }
  if (strides.row != 1 || strides.column < rows.size)
    return std::nullopt;
  return strides;
}

/// The loops of `op` with their strides in the three buffers; none if a size or
/// a stride is not known, or if a buffer is not of f32.
static std::optional<SmallVector<Loops>> domainOf(linalg::LinalgOp op) {
  SmallVector<Loops> domain(op.getNumLoops());
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(ranges))
    return std::nullopt;
  for (auto [loops, range] : llvm::zip_equal(domain, ranges))
    loops.size = range;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || !type.getElementType().isF32() ||
        failed(getStridesAndOffset(type, strides, offset)) ||
        llvm::is_contained(strides, ShapedType::kDynamic))
      return std::nullopt;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [result, stride] : llvm::zip_equal(map.getResults(), strides))
      domain[cast<AffineDimExpr>(result).getPosition()]
          .strides[operand.getOperandNumber()] = stride;
  }
  return domain;
}

std::optional<MatrixProduct> native::findMatrixProduct(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  std::optional<SmallVector<Loops>> domain = domainOf(op);
  if (failed(dims) || !domain)
    return std::nullopt;
  MatrixProduct product;
  Loops batch =
      joined(loopsOf(dims->batch, *domain, MatrixProduct::C), product.others);
  if (batch.size != 1)
    product.others.push_back(batch);
  product.rows =
      joined(loopsOf(dims->m, *domain, MatrixProduct::C), product.others);
  product.columns =
      joined(loopsOf(dims->n, *domain, MatrixProduct::C), product.others);
  product.sum =
      joined(loopsOf(dims->k, *domain, MatrixProduct::A), product.others);
  if (!stridesIn(MatrixProduct::A, product.rows, product.sum) ||
      !stridesIn(MatrixProduct::B, product.sum, product.columns))
    return std::nullopt;
  std::optional<Strides> result =
      stridesIn(MatrixProduct::C, product.rows, product.columns);
  if (!result || result->column != 1)
    return std::nullopt;
  return product;
}

MatrixProduct::Strides MatrixProduct::stridesOf(Matrix matrix) const {
  return *stridesIn(matrix, matrix == B ? sum : rows,
                    matrix == A ? sum : columns);
}
