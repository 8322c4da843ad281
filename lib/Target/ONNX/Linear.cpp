//===- Linear.cpp - Matrix products -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

/// True if C can be the bias of a matrix product with `features` columns: one
/// value per column, the same in every row.
static bool fitsBias(llvm::ArrayRef<int64_t> c, int64_t features) {
  return !c.empty() && c.back() == features &&
         llvm::all_of(c.drop_back(), [](int64_t dim) { return dim == 1; });
}

/// A product over a dimension without elements: beta times C.
static LogicalResult importScaledC(NodeContext &node,
                                   llvm::ArrayRef<int64_t> shape) {
  Body body(node);
  double beta = node.number("beta", 1);
  bool hasC = node.hasInput(2) && beta != 0;
  if (hasC) {
    auto whole = node.broadcast(node.shape(2), shape);
    if (failed(whole))
      return failure();
    if (*whole != Shape(shape))
      return node.fail("expected a C that broadcasts to " + toString(shape) +
                       ", got: " + toString(node.shape(2)));
  }
  std::string c = hasC ? body.input(2) : body.number(0);
  if (beta != 1)
    c = body.add("Mul", {c, body.number(beta)});
  return body.finish({body.add("Expand", {c, body.integers(shape)})});
}

LogicalResult soap::onnx_import::importGemm(NodeContext &node) {
  llvm::ArrayRef<int64_t> x = node.shape(0), y = node.shape(1);
  if (x.size() != 2 || y.size() != 2)
    return node.fail("expected two matrices, got: " + toString(x) + " and " +
                     toString(y));
  bool transposeA = node.integer("transA", 0) != 0;
  bool transposeB = node.integer("transB", 0) != 0;
  float alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  int64_t rows = x[transposeA ? 1 : 0], inner = x[transposeA ? 0 : 1];
  int64_t columns = y[transposeB ? 0 : 1];
  if (y[transposeB ? 1 : 0] != inner)
    return node.fail("expected matrices with the same inner size, got: " +
                     toString(x) + " and " + toString(y));
  if (isIntegral(node.input(0).elementType) && (alpha != 1 || beta != 1))
    return node.fail("expected alpha 1 and beta 1 for integers, got: " +
                     std::to_string(alpha) + " and " + std::to_string(beta));
  if (inner == 0)
    return importScaledC(node, {rows, columns});
  auto a = node.tensor(0, ElementTypes::Numbers),
       b = node.tensor(1, ElementTypes::Numbers);
  if (failed(a) || failed(b))
    return failure();
  bool hasC = node.hasInput(2) && beta != 0;
  SmallVector<Value> operands = {*a, *b};
  Value addend;
  if (hasC) {
    auto c = node.tensor(2, ElementTypes::Numbers);
    if (failed(c))
      return failure();
    auto shape = node.broadcast(node.shape(2), {rows, columns});
    if (failed(shape))
      return failure();
    if (*shape != Shape{rows, columns})
      return node.fail("expected a C that broadcasts to " +
                       toString({rows, columns}) +
                       ", got: " + toString(node.shape(2)));
    addend = *c;
    if (beta != 1) {
      auto scaled = node.create<nn::MulOp>(
          node.shape(2), {addend, node.scalar(beta, "_beta")}, {}, "_scaled");
      if (failed(scaled))
        return failure();
      addend = *scaled;
    }
    if (fitsBias(node.shape(2), columns)) {
      auto bias = node.reshape(addend, {columns}, "_bias");
      if (failed(bias))
        return failure();
      operands.push_back(*bias);
      addend = nullptr;
    }
  }
  SmallVector<NamedAttribute> attributes = {node.attr("alpha", alpha)};
  if (transposeA)
    attributes.push_back(
        node.attr("transpose_a", Attribute(node.builder().getUnitAttr())));
  if (transposeB)
    attributes.push_back(
        node.attr("transpose_b", Attribute(node.builder().getUnitAttr())));
  auto result = node.create<nn::MatMulOp>({rows, columns}, operands, attributes,
                                          addend ? "_product" : "");
  if (succeeded(result) && addend)
    result = node.create<nn::AddOp>({rows, columns}, {*result, addend});
  return node.finish(result);
}

FailureOr<Value> soap::onnx_import::matrixProduct(NodeContext &node, Value a,
                                                  Value b,
                                                  llvm::StringRef suffix) {
  const Shape first(cast<RankedTensorType>(a.getType()).getShape()),
      second(cast<RankedTensorType>(b.getType()).getShape());
  Shape x = first, y = second;
  if (x.empty() || y.empty())
    return node.fail("expected operands of rank 1 or more, got: " +
                     toString(x) + " and " + toString(y));
  // Vectors become matrices; their dimension goes again at the end.
  bool vectorA = x.size() == 1, vectorB = y.size() == 1;
  if (vectorA)
    x.insert(x.begin(), 1);
  if (vectorB)
    y.push_back(1);
  int64_t rows = x[x.size() - 2], inner = x.back(), columns = y.back();
  if (y[y.size() - 2] != inner)
    return node.fail("expected matrices with the same inner size, got: " +
                     toString(first) + " and " + toString(second));
  auto batch = node.broadcast(llvm::ArrayRef<int64_t>(x).drop_back(2),
                              llvm::ArrayRef<int64_t>(y).drop_back(2));
  if (failed(batch))
    return failure();
  Shape full = *batch;
  full.append({rows, columns});
  // The first operand carries all batch dimensions.
  while (x.size() < full.size())
    x.insert(x.begin(), 1);
  auto left = node.reshape(a, x, "_a"), right = node.reshape(b, y, "_b");
  if (failed(left) || failed(right))
    return failure();
  Shape shape = *batch;
  if (!vectorA)
    shape.push_back(rows);
  if (!vectorB)
    shape.push_back(columns);
  auto result = node.create<nn::MatMulOp>(
      full, {*left, *right}, {},
      shape == full ? suffix.str() : suffix.str() + "_product");
  if (succeeded(result))
    result = node.reshape(*result, shape, suffix);
  return result;
}

LogicalResult soap::onnx_import::importMatMul(NodeContext &node) {
  auto a = node.tensor(0, ElementTypes::Numbers),
       b = node.tensor(1, ElementTypes::Numbers);
  if (failed(a) || failed(b))
    return failure();
  return node.finish(matrixProduct(node, *a, *b, ""));
}
