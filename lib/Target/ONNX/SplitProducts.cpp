//===- SplitProducts.cpp - Fused products, apart ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

namespace {
/// A matrix product with a weight that is a parameter, and its bias: an operand
/// of the product, or added to it.
struct Product {
  nn::MatMulOp matmul;
  nn::AddOp add;
  nn::ParameterOp weight, bias;
};
} // namespace

/// The parameter, if it is whole.
static nn::ParameterOp wholeParameter(Value value) {
  auto parameter = value.getDefiningOp<nn::ParameterOp>();
  return parameter && !parameter.getOffsets() ? parameter : nn::ParameterOp();
}

/// The product that `value` is; nullopt if it is something else.
static std::optional<Product> productOf(Value value) {
  Product product;
  product.add = value.getDefiningOp<nn::AddOp>();
  int64_t columns = cast<RankedTensorType>(value.getType()).getShape().back();
  if (product.add) {
    Value a = product.add.getA(), b = product.add.getB();
    if (!a.getDefiningOp<nn::MatMulOp>())
      std::swap(a, b);
    product.bias = wholeParameter(b);
    if (!product.bias || product.bias.getResult().getType().getShape() !=
                             llvm::ArrayRef<int64_t>(columns))
      return std::nullopt;
    value = a;
  }
  product.matmul = value.getDefiningOp<nn::MatMulOp>();
  // A bias may broadcast one column to many.
  if (!product.matmul ||
      cast<RankedTensorType>(value.getType()).getShape().back() != columns)
    return std::nullopt;
  product.weight = wholeParameter(product.matmul.getB());
  if (!product.weight || product.weight.getResult().getType().getRank() != 2)
    return std::nullopt;
  if (Value bias = product.matmul.getBias()) {
    if (product.add || !wholeParameter(bias))
      return std::nullopt;
    product.bias = wholeParameter(bias);
  }
  return product;
}

FailureOr<bool> soap::onnx_import::splitProduct(NodeContext &node,
                                                llvm::ArrayRef<int64_t> sizes) {
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  // Other readers need the product as a whole.
  std::optional<Product> product = productOf(*x);
  if (!product || node.numReaders(0) != 1 || llvm::is_contained(sizes, 0))
    return false;
  nn::MatMulOp matmul = product->matmul;
  SmallVector<NamedAttribute> attributes = {
      node.attr("alpha", matmul.getAlpha().convertToFloat())};
  if (matmul.getTransposeA())
    attributes.push_back(node.unitAttr("transpose_a"));
  if (matmul.getTransposeB())
    attributes.push_back(node.unitAttr("transpose_b"));
  Shape shape(cast<RankedTensorType>(x->getType()).getShape());
  int64_t start = 0;
  for (size_t i = 0; i != sizes.size(); start += sizes[i++]) {
    if (!node.usesOutput(i))
      continue;
    shape.back() = sizes[i];
    SmallVector<Value> operands = {matmul.getA(),
                                   node.partOf(product->weight,
                                               matmul.getTransposeB() ? 0 : 1,
                                               start, sizes[i])};
    Value bias;
    if (product->bias)
      bias = node.partOf(product->bias, 0, start, sizes[i]);
    if (bias && !product->add)
      operands.push_back(bias);
    std::string suffix = "_" + std::to_string(i);
    auto part =
        node.create<nn::MatMulOp>(shape, operands, attributes,
                                  product->add ? suffix + "_product" : suffix);
    if (succeeded(part) && product->add)
      part = node.create<nn::AddOp>(shape, {*part, bias}, {}, suffix);
    if (failed(part))
      return failure();
    node.setResult(i, *part);
  }
  for (Operation *op :
       {product->add.getOperation(), matmul.getOperation(),
        product->weight.getOperation(), product->bias.getOperation()})
    if (op)
      node.mayGo(op);
  return true;
}
