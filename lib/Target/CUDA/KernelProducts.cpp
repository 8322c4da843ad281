//===- KernelProducts.cpp - Products in a kernel, by cuBLASLt -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProducts.h"
#include "KernelBuffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "soap/Testing/PlantedFault.h"

using namespace mlir;
using namespace soap;
using namespace soap::cuda;
using native::MatrixProduct;

/// An integer that a kernel computes of its induction variables, by the folders
/// of the operations.
static std::optional<int64_t> evaluate(OpFoldResult given,
                                       const Iterations &ivs) {
  if (std::optional<int64_t> constant = getConstantIntValue(given))
    return constant;
  auto value = dyn_cast<Value>(given);
  if (!value)
    return std::nullopt;
  if (auto iv = ivs.find(value); iv != ivs.end())
    return SOAP_FAULT("product-of-first-iteration") ? 0 : iv->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || !isPure(op))
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> known = evaluate(operand, ivs);
    if (!known)
      return std::nullopt;
    operands.push_back(IntegerAttr::get(operand.getType(), *known));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.empty())
    return std::nullopt;
  return evaluate(results[cast<OpResult>(value).getResultNumber()], ivs);
}

/// The elements from the start of its buffer to the first one of a view.
static std::optional<int64_t> offsetOf(Value view, const Iterations &ivs) {
  int64_t offset = 0;
  while (Operation *op = view.getDefiningOp()) {
    if (isa<memref::AllocOp>(op))
      return offset;
    if (auto part = dyn_cast<memref::SubViewOp>(op)) {
      SmallVector<int64_t> strides;
      int64_t ofSource;
      if (failed(
              getStridesAndOffset(part.getSourceType(), strides, ofSource)) ||
          llvm::is_contained(strides, ShapedType::kDynamic))
        return std::nullopt;
      for (auto [start, stride] :
           llvm::zip_equal(part.getMixedOffsets(), strides)) {
        std::optional<int64_t> known = evaluate(start, ivs);
        if (!known)
          return std::nullopt;
        offset += *known * stride;
      }
    } else if (!isa<memref::CastOp, memref::CollapseShapeOp,
                    memref::ExpandShapeOp>(op)) {
      return std::nullopt;
    }
    view = op->getOperand(0);
  }
  return offset;
}

std::optional<KernelProduct> KernelProduct::find(linalg::LinalgOp op,
                                                 const Iterations &ivs) {
  // Below so many multiplications, a launch of its own takes longer than it
  // saves. This bound is an estimate: no GPU has measured it.
  constexpr int64_t fewMultiplications = int64_t{1} << 18;
  std::optional<MatrixProduct> product = native::findMatrixProduct(op);
  // Matrices at equal distances are one call.
  if (!product || product->others.size() > 1)
    return std::nullopt;
  int64_t multiplications = product->multiplications();
  for (const MatrixProduct::Loops &loops : product->others) {
    // Sums of several products would meet in one element.
    if (loops.strides[MatrixProduct::C] == 0)
      return std::nullopt;
    multiplications *= loops.size;
  }
  if (multiplications < fewMultiplications)
    return std::nullopt;
  linalg::FillOp fill = fillBefore(op);
  if (fill && !matchPattern(fill.value(), m_AnyZeroFloat()))
    return std::nullopt;
  bool adds = !fill && !SOAP_FAULT("product-replaces-sum");
  KernelProduct result{op, *product, adds};
  if (!result.offsets(ivs))
    return std::nullopt;
  return result;
}

DictionaryAttr
KernelProduct::describe(Builder &builder,
                        llvm::function_ref<int64_t(Value)> numberOf) const {
  NamedAttrList result;
  int64_t batch = product.others.empty() ? 1 : product.others.front().size;
  result.set("sizes", builder.getDenseI64ArrayAttr({batch, product.rows.size,
                                                    product.columns.size,
                                                    product.sum.size}));
  auto set = [&](StringRef name, MatrixProduct::Matrix matrix) {
    MatrixProduct::Strides strides = product.stridesOf(matrix);
    int64_t apart =
        product.others.empty() ? 0 : product.others.front().strides[matrix];
    result.set(name, builder.getDenseI64ArrayAttr(
                         {numberOf(bufferOf(op->getOperand(matrix))), apart,
                          strides.row, strides.column}));
  };
  set("a", MatrixProduct::A);
  set("b", MatrixProduct::B);
  set("c", MatrixProduct::C);
  if (adds)
    result.set("adds", builder.getUnitAttr());
  return result.getDictionary(builder.getContext());
}

std::optional<SmallVector<int64_t>>
KernelProduct::offsets(const Iterations &ivs) const {
  SmallVector<int64_t> result;
  for (Value view : op->getOperands()) {
    std::optional<int64_t> elements = offsetOf(view, ivs);
    if (!elements)
      return std::nullopt;
    result.push_back(*elements * static_cast<int64_t>(sizeof(float)));
  }
  return result;
}
