//===- Quantization.cpp - Quantized operators -------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These operators are computed as in ONNX's reference implementation. Products
// of quantized tensors are exact sums of INT32, which wrap around. Scales are
// applied to them in f64, the type in which the reference multiplies an INT32
// by a float.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;
using onnx::TensorProto;

static llvm::ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static FailureOr<Value> castTo(NodeContext &node, Value value, Type element,
                               llvm::StringRef suffix) {
  if (elementOf(value) == element)
    return value;
  return node.createOf<nn::CastOp>(element, shapeOf(value), value, {}, suffix);
}

/// An operation per element of two operands that broadcast, of one type.
template <typename Op>
static FailureOr<Value> joined(NodeContext &node, Value a, Value b,
                               llvm::StringRef suffix) {
  auto shape = node.broadcast(shapeOf(a), shapeOf(b));
  if (failed(shape))
    return failure();
  return node.create<Op>(*shape, {a, b}, {}, suffix);
}

static bool isScalar(llvm::ArrayRef<int64_t> shape) {
  return countElements(shape) == 1;
}

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

/// Operand i, a scale or a zero point, so that it broadcasts to x: one number,
/// one per element of an axis, or one per block of `block` elements of it.
static FailureOr<Value> arranged(NodeContext &node, size_t i,
                                 llvm::StringRef suffix) {
  auto value = node.tensor(i, ElementTypes::Any);
  if (failed(value))
    return failure();
  llvm::ArrayRef<int64_t> x = node.shape(0), shape = node.shape(i);
  if (isScalar(shape))
    return node.reshape(*value, {}, suffix);
  auto axis = node.axis(node.integer("axis", 1), x.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  int64_t size = x[along], block = node.integer("block_size", 0);
  auto wrong = [&] {
    return node.fail("expected one number, one per element along the axis, or "
                     "one per block, got: " +
                     toString(shape) + " for " + toString(x));
  };
  if (block == 0) {
    if (shape != llvm::ArrayRef<int64_t>(size))
      return wrong();
    Shape column(x.size(), 1);
    column[along] = size;
    return node.reshape(*value, column, suffix);
  }
  if (block < 0 || block > maxDim || shape.size() != x.size())
    return wrong();
  int64_t blocks = shape[along];
  for (size_t d = 0; d != x.size(); ++d)
    if (shape[d] != (d == along ? (size + block - 1) / block : x[d]))
      return wrong();
  Shape split(shape), repeated, whole(x);
  split.insert(split.begin() + *axis + 1, 1);
  repeated = split;
  repeated[along + 1] = block;
  whole[along] = blocks * block;
  value = node.reshape(*value, split, suffix.str() + "_blocks");
  if (succeeded(value))
    value = node.create<nn::ExpandOp>(repeated, *value, {},
                                      suffix.str() + "_repeated");
  if (succeeded(value))
    value = node.reshape(*value, whole, suffix);
  if (failed(value) || blocks * block == size)
    return value;
  llvm::SmallVector<int64_t> starts(x.size(), 0), steps(x.size(), 1);
  return node.create<nn::SliceOp>(
      x, *value, {node.attr("starts", starts), node.attr("steps", steps)},
      suffix.str() + "_cut");
}

/// The bounds of a quantized integer type.
static std::pair<float, float> boundsOf(int type) {
  auto width = static_cast<int>(storedBits(type));
  auto count = static_cast<float>(int64_t{1} << width);
  return isUnsigned(type) ? std::pair(0.0f, count - 1)
                          : std::pair(-count / 2, count / 2 - 1);
}

/// `value` within the bounds of `type`, in that type. The bounds are exact in
/// f32.
static FailureOr<Value> clipped(NodeContext &node, Value value, int type,
                                llvm::StringRef suffix = "") {
  auto [least, most] = boundsOf(type);
  auto inside = node.create<nn::ClipOp>(
      shapeOf(value), value, {node.attr("min", least), node.attr("max", most)},
      "_clipped");
  return failed(inside) ? inside
                        : castTo(node, *inside, node.elementType(type), suffix);
}

LogicalResult soap::onnx_import::importQuantizeLinear(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Numbers);
  bool shifts = node.hasInput(2);
  auto type = static_cast<int>(node.integer("output_dtype", 0));
  if (shifts)
    type = node.input(2).elementType;
  else if (type == 0)
    type = TensorProto::UINT8;
  if (!isKnownType(type))
    return node.fail("expected a quantized type that is supported, got: " +
                     typeName(type));
  auto scale = arranged(node, 1, "_scale");
  if (failed(x) || failed(scale))
    return failure();
  // Integers are divided in f64, others in their type, or the one given.
  auto precision = static_cast<int>(node.integer("precision", 0));
  Type computed = precision != 0 ? node.elementType(precision)
                  : isIntegral(node.input(0).elementType)
                      ? Type(node.builder().getF64Type())
                      : elementOf(*x);
  auto value = castTo(node, *x, computed, "_x");
  scale = castTo(node, *scale, computed, "_scale_wide");
  if (failed(value) || failed(scale))
    return failure();
  value = joined<nn::DivOp>(node, *value, *scale, "_scaled");
  if (failed(value))
    return failure();
  if (!isIntegral(type)) {
    llvm::SmallVector<NamedAttribute> attributes;
    if (saturates(node, type))
      attributes.push_back(node.unitAttr("saturate"));
    return node.finish(node.createOf<nn::CastOp>(
        node.elementType(type), node.shape(0), *value, attributes));
  }
  value = node.create<nn::RoundOp>(node.shape(0), *value, {}, "_rounded");
  if (failed(value))
    return failure();
  // Zero points are exact in f32, sums with them in f16 are not.
  Type wide = nn::accumulatorType(computed);
  value = castTo(node, *value, wide, "_wide");
  if (succeeded(value) && shifts) {
    auto zero = arranged(node, 2, "_zero");
    if (succeeded(zero))
      zero = castTo(node, *zero, wide, "_zero_wide");
    if (failed(zero))
      return failure();
    value = joined<nn::AddOp>(node, *value, *zero, "_shifted");
  }
  if (failed(value))
    return failure();
  return node.finish(clipped(node, *value, type));
}

LogicalResult soap::onnx_import::importDequantizeLinear(NodeContext &node) {
  auto x = node.tensor(0, ElementTypes::Any);
  auto scale = arranged(node, 1, "_scale");
  if (failed(x) || failed(scale))
    return failure();
  Type f32 = node.builder().getF32Type();
  auto value = castTo(node, *x, f32, "_x");
  if (failed(value))
    return failure();
  // The zero point of floats is 0.
  if (node.hasInput(2) && isIntegral(node.input(0).elementType)) {
    auto zero = arranged(node, 2, "_zero");
    if (succeeded(zero))
      zero = castTo(node, *zero, f32, "_zero_wide");
    if (failed(zero))
      return failure();
    value = joined<nn::SubOp>(node, *value, *zero, "_shifted");
  }
  auto type = static_cast<int>(node.integer("output_dtype", 0));
  Type made = type == 0 ? elementOf(*scale) : node.elementType(type);
  scale = castTo(node, *scale, f32, "_scale_wide");
  if (failed(value) || failed(scale))
    return failure();
  value = joined<nn::MulOp>(node, *value, *scale, made == f32 ? "" : "_scaled");
  return node.finish(failed(value) ? value : castTo(node, *value, made, ""));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Operand i in INT32, less its zero point, operand `zero`, if there is one. A
/// zero point of one dimension belongs to dimension `axis`.
static FailureOr<Value> centred(NodeContext &node, size_t i, size_t zero,
                                size_t axis, llvm::StringRef suffix) {
  auto value = node.tensor(i, ElementTypes::Integers);
  if (failed(value))
    return failure();
  Type i32 = node.builder().getI32Type();
  auto wide = castTo(node, *value, i32, suffix.str() + "_wide");
  if (failed(wide) || !node.hasInput(zero))
    return wide;
  auto point = node.tensor(zero, ElementTypes::Integers);
  if (failed(point))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(zero), whole = node.shape(i);
  Shape column;
  if (!isScalar(shape)) {
    // One number per row, or columns of numbers as they broadcast.
    column.assign(shape.begin(), shape.end());
    if (shape.size() == 1 && axis < whole.size()) {
      column.assign(whole.size(), 1);
      column[axis] = shape[0];
    }
  }
  auto shaped = node.reshape(*point, column, suffix.str() + "_zero");
  if (succeeded(shaped))
    shaped = castTo(node, *shaped, i32, suffix.str() + "_zero_wide");
  if (failed(shaped))
    return failure();
  return joined<nn::SubOp>(node, *wide, *shaped, suffix.str() + "_centred");
}

LogicalResult soap::onnx_import::importMatMulInteger(NodeContext &node) {
  size_t rows = std::max<size_t>(node.shape(0).size(), 2) - 2;
  size_t columns = node.shape(1).size() - 1;
  auto a = centred(node, 0, 2, rows, "_a");
  auto b = centred(node, 1, 3, columns, "_b");
  if (failed(a) || failed(b))
    return failure();
  return node.finish(matrixProduct(node, *a, *b, ""));
}

LogicalResult soap::onnx_import::importConvInteger(NodeContext &node) {
  auto x = centred(node, 0, 2, 1, "_x");
  auto w = centred(node, 1, 3, 0, "_w");
  if (failed(x) || failed(w))
    return failure();
  return node.finish(convolution(node, *x, *w, nullptr, ""));
}

/// A sum of INT32 by the scales of its operands and of the result, as the
/// latter's type. Scales are those operands of the node; one per channel
/// belongs to dimension `axis` of the second operand's or the result's `rank`.
static LogicalResult requantize(NodeContext &node, Value sum,
                                std::array<size_t, 3> scales, size_t zero,
                                int64_t axis) {
  size_t rank = shapeOf(sum).size();
  llvm::SmallVector<Value> factors;
  for (size_t i : scales) {
    auto scale = node.tensor(i);
    if (failed(scale))
      return failure();
    Shape column;
    if (!isScalar(node.shape(i))) {
      column.assign(node.shape(i).begin(), node.shape(i).end());
      if (column.size() == 1) {
        column.assign(rank, 1);
        column[axis < 0 ? rank - 1 : static_cast<size_t>(axis)] =
            node.shape(i)[0];
      }
    }
    scale = node.reshape(*scale, column, "_scale" + std::to_string(i));
    if (failed(scale))
      return failure();
    factors.push_back(*scale);
  }
  Type f64 = node.builder().getF64Type();
  auto factor = joined<nn::MulOp>(node, factors[0], factors[1], "_scales");
  if (succeeded(factor))
    factor = joined<nn::DivOp>(node, *factor, factors[2], "_ratio");
  if (succeeded(factor))
    factor = castTo(node, *factor, f64, "_factor");
  auto value = castTo(node, sum, f64, "_wide");
  if (failed(factor) || failed(value))
    return failure();
  value = joined<nn::MulOp>(node, *value, *factor, "_scaled");
  auto point = node.tensor(zero, ElementTypes::Integers);
  if (failed(value) || failed(point))
    return failure();
  Shape scalar;
  if (!isScalar(node.shape(zero)))
    scalar.assign(node.shape(zero).begin(), node.shape(zero).end());
  auto shift = node.reshape(*point, scalar, "_zero");
  if (succeeded(shift))
    shift = castTo(node, *shift, f64, "_zero_wide");
  if (failed(shift))
    return failure();
  value = joined<nn::AddOp>(node, *value, *shift, "_shifted");
  if (succeeded(value))
    value = node.create<nn::RoundOp>(shapeOf(*value), *value, {}, "_rounded");
  if (failed(value))
    return failure();
  return node.finish(clipped(node, *value, node.input(zero).elementType));
}

LogicalResult soap::onnx_import::importQLinearMatMul(NodeContext &node) {
  size_t rows = std::max<size_t>(node.shape(0).size(), 2) - 2;
  size_t columns = node.shape(3).size() - 1;
  auto a = centred(node, 0, 2, rows, "_a");
  auto b = centred(node, 3, 5, columns, "_b");
  if (failed(a) || failed(b))
    return failure();
  auto sum = matrixProduct(node, *a, *b, "_product");
  return failed(sum) ? failure() : requantize(node, *sum, {1, 4, 6}, 7, -1);
}

LogicalResult soap::onnx_import::importQLinearConv(NodeContext &node) {
  auto x = centred(node, 0, 2, 1, "_x");
  auto w = centred(node, 3, 5, 0, "_w");
  if (failed(x) || failed(w))
    return failure();
  Value bias;
  if (node.hasInput(8)) {
    auto given = node.tensor(8, ElementTypes::Integers);
    if (failed(given))
      return failure();
    bias = *given;
  }
  auto sum = convolution(node, *x, *w, bias, "_product");
  return failed(sum) ? failure() : requantize(node, *sum, {1, 4, 6}, 7, 1);
}
