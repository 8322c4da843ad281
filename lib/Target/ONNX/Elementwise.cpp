//===- Elementwise.cpp - Operators per element ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::onnx_import;

namespace {
/// What a node per element becomes, and the types of its operands.
struct PerElement {
  llvm::StringLiteral onnx, op;
  ElementTypes types;
};
} // namespace

static constexpr PerElement unaries[] = {
    {"Abs", "nn.abs", ElementTypes::Numbers},
    {"Acos", "nn.acos", ElementTypes::Floats},
    {"Acosh", "nn.acosh", ElementTypes::Floats},
    {"Asin", "nn.asin", ElementTypes::Floats},
    {"Asinh", "nn.asinh", ElementTypes::Floats},
    {"Atan", "nn.atan", ElementTypes::Floats},
    {"Atanh", "nn.atanh", ElementTypes::Floats},
    {"BitwiseNot", "nn.not", ElementTypes::Integers},
    {"Ceil", "nn.ceil", ElementTypes::Floats},
    {"Cos", "nn.cos", ElementTypes::Floats},
    {"Cosh", "nn.cosh", ElementTypes::Floats},
    {"Erf", "nn.erf", ElementTypes::Floats},
    {"Exp", "nn.exp", ElementTypes::Floats},
    {"Floor", "nn.floor", ElementTypes::Floats},
    {"Log", "nn.log", ElementTypes::Floats},
    {"Neg", "nn.neg", ElementTypes::Numbers},
    {"Not", "nn.not", ElementTypes::Booleans},
    {"Reciprocal", "nn.reciprocal", ElementTypes::Floats},
    {"Relu", "nn.relu", ElementTypes::Numbers},
    {"Round", "nn.round", ElementTypes::Floats},
    {"Sigmoid", "nn.sigmoid", ElementTypes::Floats},
    {"Sign", "nn.sign", ElementTypes::Numbers},
    {"Sin", "nn.sin", ElementTypes::Floats},
    {"Sinh", "nn.sinh", ElementTypes::Floats},
    {"Sqrt", "nn.sqrt", ElementTypes::Floats},
    {"Tan", "nn.tan", ElementTypes::Floats},
    {"Tanh", "nn.tanh", ElementTypes::Floats},
};

static constexpr PerElement binaries[] = {
    {"Add", "nn.add", ElementTypes::Numbers},
    {"And", "nn.and", ElementTypes::Booleans},
    {"BitwiseAnd", "nn.and", ElementTypes::Integers},
    {"BitwiseOr", "nn.or", ElementTypes::Integers},
    {"BitwiseXor", "nn.xor", ElementTypes::Integers},
    {"Div", "nn.div", ElementTypes::Numbers},
    {"Max", "nn.max", ElementTypes::Numbers},
    {"Min", "nn.min", ElementTypes::Numbers},
    {"Mul", "nn.mul", ElementTypes::Numbers},
    {"Or", "nn.or", ElementTypes::Booleans},
    {"Pow", "nn.pow", ElementTypes::Numbers},
    {"Sub", "nn.sub", ElementTypes::Numbers},
    {"Sum", "nn.add", ElementTypes::Floats},
    {"Xor", "nn.xor", ElementTypes::Booleans},
};

static const PerElement &entryOf(llvm::ArrayRef<PerElement> table,
                                 NodeContext &node) {
  return *llvm::find_if(table, [&](const PerElement &entry) {
    return entry.onnx == node.node.op_type();
  });
}

/// Reports operands of different types.
static LogicalResult checkEqualTypes(NodeContext &node, size_t first) {
  for (size_t i = first + 1; i < node.numInputs(); ++i)
    if (node.hasInput(i) &&
        node.input(i).elementType != node.input(first).elementType)
      return node.fail("expected operands of one type, got: " +
                       typeName(node.input(first).elementType) + " and " +
                       typeName(node.input(i).elementType));
  return success();
}

LogicalResult soap::onnx_import::importUnary(NodeContext &node) {
  const PerElement &entry = entryOf(unaries, node);
  auto x = node.tensor(0, entry.types);
  if (failed(x))
    return failure();
  auto op =
      node.createNamed(entry.op, cast<RankedTensorType>(x->getType()), *x);
  if (failed(op))
    return failure();
  node.setResult(0, (*op)->getResult(0));
  return success();
}

/// A chain over all operands (Sum, Max and Min take any number).
LogicalResult soap::onnx_import::importBinary(NodeContext &node) {
  const PerElement &entry = entryOf(binaries, node);
  auto result = node.tensor(0, entry.types);
  if (failed(result) || failed(checkEqualTypes(node, 0)))
    return failure();
  Shape shape(node.shape(0));
  for (size_t i = 1, e = node.numInputs(); i != e; ++i) {
    auto operand = node.tensor(i, entry.types);
    if (failed(operand))
      return failure();
    auto joined = node.broadcast(shape, node.shape(i));
    if (failed(joined))
      return failure();
    shape = *joined;
    std::string suffix = i + 1 == e ? "" : "_" + std::to_string(i);
    auto op = node.createNamed(
        entry.op, cast<RankedTensorType>(result->getType()).clone(shape),
        {*result, *operand}, {}, suffix);
    if (failed(op))
      return failure();
    result = (*op)->getResult(0);
  }
  return node.finish(result);
}

/// A power whose exponent has another type than the base, which the result has:
/// it is computed in the base's type, or in f64 if only the exponent is a
/// float.
static LogicalResult powerOfTwoTypes(NodeContext &node) {
  auto base = node.tensor(0, ElementTypes::Numbers),
       exponent = node.tensor(1, ElementTypes::Numbers);
  if (failed(base) || failed(exponent))
    return failure();
  auto shape = node.broadcast(node.shape(0), node.shape(1));
  if (failed(shape))
    return failure();
  Type type = node.elementType(node.input(0).elementType), computed = type;
  if (isIntegral(node.input(0).elementType) &&
      !isIntegral(node.input(1).elementType)) {
    computed = node.builder().getF64Type();
    base =
        node.createOf<nn::CastOp>(computed, node.shape(0), *base, {}, "_base");
  }
  exponent = node.createOf<nn::CastOp>(computed, node.shape(1), *exponent, {},
                                       "_exponent");
  if (failed(base) || failed(exponent))
    return failure();
  auto value = node.create<nn::PowOp>(*shape, {*base, *exponent}, {},
                                      computed == type ? "" : "_power");
  if (succeeded(value) && computed != type)
    value = node.createOf<nn::CastOp>(type, *shape, *value);
  return node.finish(value);
}

/// Powers that occur in networks, by what computes them well: squares and cubes
/// of decomposed normalisations and of GPT-2's Gelu.
LogicalResult soap::onnx_import::importPow(NodeContext &node) {
  int type = node.input(0).elementType, other = node.input(1).elementType;
  bool isFloat = !isIntegral(type);
  if (!isFloat || !node.isConstant(1) || countElements(node.shape(1)) != 1 ||
      node.shape(1).size() > node.shape(0).size())
    return type == other ? importBinary(node) : powerOfTwoTypes(node);
  auto x = node.tensor(0);
  auto exponent = node.constant(1, "exponents");
  if (failed(x) || failed(exponent))
    return failure();
  llvm::ArrayRef<int64_t> shape = node.shape(0);
  double value = exponent->number(0);
  if (value == 1)
    return importIdentity(node);
  if (value == 0.5)
    return node.finish(node.create<nn::SqrtOp>(shape, *x));
  if (value == -1)
    return node.finish(node.create<nn::ReciprocalOp>(shape, *x));
  if (value == 2 || value == 3) {
    auto square = node.create<nn::MulOp>(shape, {*x, *x}, {},
                                         value == 2 ? "" : "_square");
    if (succeeded(square) && value == 3)
      square = node.create<nn::MulOp>(shape, {*square, *x});
    return node.finish(square);
  }
  return node.finish(
      node.create<nn::PowOp>(shape, {*x, node.scalar(value, "_exponent")}));
}

LogicalResult soap::onnx_import::importGelu(NodeContext &node) {
  auto x = node.tensor(0);
  if (failed(x))
    return failure();
  std::string approximate = node.string("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.fail("expected approximate none or tanh, got: '" + approximate +
                     "'");
  SmallVector<NamedAttribute> attributes;
  if (approximate == "tanh")
    attributes.push_back(node.unitAttr("approximate"));
  return node.finish(node.create<nn::GeluOp>(node.shape(0), *x, attributes));
}

LogicalResult soap::onnx_import::importCompare(NodeContext &node) {
  llvm::StringRef name = node.node.op_type();
  nn::Predicate predicate = llvm::StringSwitch<nn::Predicate>(name)
                                .Case("Equal", nn::Predicate::Eq)
                                .Case("Less", nn::Predicate::Lt)
                                .Case("LessOrEqual", nn::Predicate::Le)
                                .Case("Greater", nn::Predicate::Gt)
                                .Default(nn::Predicate::Ge);
  ElementTypes types = predicate == nn::Predicate::Eq
                           ? ElementTypes::NumbersOrBooleans
                           : ElementTypes::Numbers;
  auto a = node.tensor(0, types), b = node.tensor(1, types);
  if (failed(a) || failed(b) || failed(checkEqualTypes(node, 0)))
    return failure();
  auto shape = node.broadcast(node.shape(0), node.shape(1));
  if (failed(shape))
    return failure();
  return node.finish(node.createOf<nn::CompareOp>(
      node.builder().getI1Type(), *shape, {*a, *b},
      {node.attr("predicate", nn::PredicateAttr::get(
                                  node.builder().getContext(), predicate))}));
}

LogicalResult soap::onnx_import::importWhere(NodeContext &node) {
  auto condition = node.tensor(0, ElementTypes::Booleans);
  auto a = node.tensor(1, ElementTypes::Any),
       b = node.tensor(2, ElementTypes::Any);
  if (failed(condition) || failed(a) || failed(b) ||
      failed(checkEqualTypes(node, 1)))
    return failure();
  auto values = node.broadcast(node.shape(1), node.shape(2));
  if (failed(values))
    return failure();
  auto shape = node.broadcast(node.shape(0), *values);
  if (failed(shape))
    return failure();
  return node.finish(
      node.createOf<nn::WhereOp>(node.elementType(node.input(1).elementType),
                                 *shape, {*condition, *a, *b}));
}

/// A bound of Clip: an attribute before operator set 11, an operand since.
static FailureOr<float> clipBound(NodeContext &node, llvm::StringRef name,
                                  size_t operand, float otherwise) {
  if (node.opset() < 11)
    return node.number(name, otherwise);
  if (node.hasAttribute(name))
    return node.fail("expected the bound '" + name +
                     "' as an operand, got: an "
                     "attribute, which ended with operator set 11");
  if (!node.hasInput(operand))
    return otherwise;
  auto bound = node.constant(operand, "bounds");
  if (failed(bound))
    return failure();
  if (bound->size() != 1)
    return node.fail("expected one number as bound '" + name +
                     "', got: shape " + toString(bound->shape));
  return static_cast<float>(bound->number(0));
}

/// Clip between bounds that are computed: the upper one counts where the lower
/// one is above it.
static LogicalResult clipBetween(NodeContext &node) {
  auto value = node.tensor(0, ElementTypes::Numbers);
  if (failed(value) || failed(checkEqualTypes(node, 0)))
    return failure();
  for (size_t i = 1; i != 3; ++i) {
    if (!node.hasInput(i))
      continue;
    auto bound = node.tensor(i, ElementTypes::Numbers);
    if (failed(bound))
      return failure();
    if (countElements(node.shape(i)) != 1)
      return node.fail("expected one number as bound, got: shape " +
                       toString(node.shape(i)));
    bound = node.reshape(*bound, {}, "_bound");
    if (failed(bound))
      return failure();
    llvm::ArrayRef<int64_t> shape = node.shape(0);
    bool last = i == 2 || !node.hasInput(2);
    value = i == 1 ? node.create<nn::MaxOp>(shape, {*value, *bound}, {},
                                            last ? "" : "_above")
                   : node.create<nn::MinOp>(shape, {*value, *bound});
    if (failed(value))
      return failure();
  }
  return node.finish(value);
}

LogicalResult soap::onnx_import::importClip(NodeContext &node) {
  // The bounds of nn.clip are f32.
  int type = node.input(0).elementType;
  bool isExact = !isIntegral(type) && type != onnx::TensorProto::DOUBLE;
  bool isKnown = true;
  for (size_t i = 1; i < node.numInputs(); ++i)
    isKnown &= !node.hasInput(i) || node.isConstant(i);
  if (node.opset() >= 11 && (!isKnown || !isExact))
    return clipBetween(node);
  auto x = node.tensor(0);
  auto lo = clipBound(node, "min", 1, -std::numeric_limits<float>::infinity());
  auto hi = clipBound(node, "max", 2, std::numeric_limits<float>::infinity());
  if (failed(x) || failed(lo) || failed(hi))
    return failure();
  if (std::isnan(*lo) || std::isnan(*hi))
    return node.fail("expected bounds that are numbers, got: NaN");
  auto result = node.create<nn::ClipOp>(
      node.shape(0), *x, {node.attr("min", *lo), node.attr("max", *hi)});
  return node.finish(result);
}

bool soap::onnx_import::saturates(const NodeContext &node, int type) {
  return !isIntegral(type) && isStorageOnly(type) &&
         node.integer("saturate", 1) != 0;
}

LogicalResult soap::onnx_import::importCast(NodeContext &node) {
  auto type = static_cast<int>(node.integer("to", 0));
  if (node.input(0).elementType == type)
    return importIdentity(node);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  if (!isKnownType(type))
    return node.fail("expected a cast to numbers or booleans, got: " +
                     typeName(type));
  SmallVector<NamedAttribute> attributes;
  if (saturates(node, type))
    attributes.push_back(node.unitAttr("saturate"));
  return node.finish(node.createOf<nn::CastOp>(node.elementType(type),
                                               node.shape(0), *x, attributes));
}

LogicalResult soap::onnx_import::importExpand(NodeContext &node) {
  auto wanted = node.constantIntegers(1, "shapes");
  if (failed(wanted))
    return failure();
  auto shape = node.broadcast(node.shape(0), *wanted);
  if (failed(shape))
    return failure();
  if (llvm::ArrayRef<int64_t>(*shape) == node.shape(0))
    return importIdentity(node);
  auto x = node.tensor(0, ElementTypes::Any);
  if (failed(x))
    return failure();
  return node.finish(node.create<nn::ExpandOp>(*shape, *x));
}
