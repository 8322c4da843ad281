//===- Folding.cpp - Arithmetic on constants --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Folding.h"
#include "Operators.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

/// What depends on the order of numbers alone; nullopt for other operators.
template <typename T>
static std::optional<T> applyOrder(llvm::StringRef op, T a, T b) {
  return llvm::StringSwitch<std::optional<T>>(op)
      .Case("Max", std::max(a, b))
      .Case("Min", std::min(a, b))
      .Case("Equal", a == b)
      .Case("Less", a < b)
      .Case("LessOrEqual", a <= b)
      .Case("Greater", a > b)
      .Case("GreaterOrEqual", a >= b)
      .Default(std::nullopt);
}

/// One element of operands of `type`; wraps around like the machine. UINT64 is
/// the only type whose order and quotients are not those of int64_t.
static FailureOr<int64_t> applyInteger(NodeContext &node, llvm::StringRef op,
                                       int type, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  bool isWide = type == TensorProto::UINT64;
  if (op == "Div" || op == "Mod") {
    if (b == 0 || (!isWide && a == INT64_MIN && b == -1))
      return node.fail("expected a divisor other than 0, got: " +
                       llvm::Twine(a) + " / " + llvm::Twine(b));
    if (isWide)
      return static_cast<int64_t>(op == "Div" ? ua / ub : ua % ub);
    if (op == "Div")
      return a / b;
    int64_t rest = a % b;
    if (node.integer("fmod", 0) != 0)
      return rest;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (isWide) {
    if (std::optional<uint64_t> result = applyOrder(op, ua, ub))
      return static_cast<int64_t>(*result);
  } else if (std::optional<int64_t> result = applyOrder(op, a, b)) {
    return *result;
  }
  return llvm::StringSwitch<int64_t>(op)
      .Case("Add", static_cast<int64_t>(ua + ub))
      .Case("Sub", static_cast<int64_t>(ua - ub))
      .Case("Mul", static_cast<int64_t>(ua * ub))
      .Case("And", a && b)
      .Case("Or", a || b)
      .Case("Xor", !a != !b)
      .Default(0);
}

static double applyNumber(llvm::StringRef op, double a, double b) {
  if (std::optional<double> result = applyOrder(op, a, b))
    return *result;
  return llvm::StringSwitch<double>(op)
      .Case("Add", a + b)
      .Case("Sub", a - b)
      .Case("Mul", a * b)
      .Case("Div", a / b)
      .Case("Mod", std::fmod(a, b))
      .Default(0);
}

LogicalResult soap::onnx_import::foldBinary(NodeContext &node) {
  llvm::StringRef op = node.node.op_type();
  bool compares = llvm::StringSwitch<bool>(op)
                      .Cases("Equal", "Less", "LessOrEqual", "Greater",
                             "GreaterOrEqual", "And", "Or", "Xor", true)
                      .Default(false);
  HostTensor result = node.input(0).host;
  for (size_t i = 1, e = node.numInputs(); i != e; ++i) {
    const HostTensor a = std::move(result);
    const HostTensor &b = node.input(i).host;
    if (a.elementType != b.elementType)
      return node.fail(
          "expected operands of one type, got: " + typeName(a.elementType) +
          " and " + typeName(b.elementType));
    auto shape = node.broadcast(a.shape, b.shape);
    if (failed(shape))
      return failure();
    auto joined =
        makeResult(node, compares ? TensorProto::BOOL : a.elementType, *shape);
    if (failed(joined))
      return failure();
    bool valid = true;
    forEachElement(*shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
      int64_t x = broadcastIndex(a.shape, at), y = broadcastIndex(b.shape, at);
      if (!valid)
        return;
      if (!a.integral()) {
        joined->setNumber(flat, applyNumber(op, a.floats[x], b.floats[y]));
        return;
      }
      auto value = applyInteger(node, op, a.elementType, a.ints[x], b.ints[y]);
      valid = succeeded(value);
      if (valid)
        joined->setInteger(flat, *value);
    });
    if (!valid)
      return failure();
    result = std::move(*joined);
  }
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldUnary(NodeContext &node) {
  llvm::StringRef op = node.node.op_type();
  HostTensor result = node.input(0).host;
  for (int64_t i = 0, e = result.size(); i != e; ++i) {
    if (result.integral()) {
      int64_t x = result.ints[i];
      bool hasSign = !isUnsigned(result.elementType);
      auto negated = static_cast<int64_t>(-static_cast<uint64_t>(x));
      result.setInteger(i, llvm::StringSwitch<int64_t>(op)
                               .Case("Neg", negated)
                               .Case("Abs", x < 0 && hasSign ? negated : x)
                               .Case("Not", !x)
                               .Case("Relu", x < 0 && hasSign ? 0 : x)
                               .Default(x));
      continue;
    }
    double x = result.floats[i];
    result.setNumber(i, llvm::StringSwitch<double>(op)
                            .Case("Neg", -x)
                            .Case("Abs", std::fabs(x))
                            .Case("Floor", std::floor(x))
                            .Case("Ceil", std::ceil(x))
                            .Case("Round", std::nearbyint(x))
                            .Case("Sqrt", std::sqrt(x))
                            .Case("Exp", std::exp(x))
                            .Case("Log", std::log(x))
                            .Case("Erf", std::erf(x))
                            .Case("Sin", std::sin(x))
                            .Case("Cos", std::cos(x))
                            .Case("Reciprocal", 1 / x)
                            .Case("Relu", std::max(x, 0.0))
                            .Case("Sigmoid", 1 / (1 + std::exp(-x)))
                            .Case("Tanh", std::tanh(x))
                            .Default(x));
  }
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldCast(NodeContext &node) {
  int type = static_cast<int>(node.integer("to", 0));
  if (!isKnownType(type))
    return node.fail("expected a cast to a type of numbers, got: " +
                     typeName(type));
  const HostTensor &x = node.input(0).host;
  HostTensor result = HostTensor::zeros(type, x.shape);
  for (int64_t i = 0, e = x.size(); i != e; ++i)
    if (x.integral() && result.integral()) {
      result.setInteger(i, x.ints[i]);
    } else {
      double number = x.number(i);
      if (saturates(node, type))
        number = std::clamp(number, -largestOf(type), largestOf(type));
      result.setNumber(i, number);
    }
  node.setResult(0, std::move(result));
  return success();
}

/// Powers with an exponent of another type.
LogicalResult soap::onnx_import::foldPow(NodeContext &node) {
  const HostTensor &x = node.input(0).host, &y = node.input(1).host;
  auto shape = node.broadcast(x.shape, y.shape);
  if (failed(shape))
    return failure();
  return foldElements(
      node, x.elementType, *shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        result.setNumber(flat, std::pow(x.number(broadcastIndex(x.shape, at)),
                                        y.number(broadcastIndex(y.shape, at))));
      });
}

LogicalResult soap::onnx_import::foldWhere(NodeContext &node) {
  const HostTensor &condition = node.input(0).host;
  const HostTensor &a = node.input(1).host, &b = node.input(2).host;
  if (!condition.integral() || a.elementType != b.elementType)
    return node.fail("expected a boolean and two operands of one type, got: " +
                     typeName(condition.elementType) + ", " +
                     typeName(a.elementType) + ", " + typeName(b.elementType));
  auto values = node.broadcast(a.shape, b.shape);
  if (failed(values))
    return failure();
  auto shape = node.broadcast(condition.shape, *values);
  if (failed(shape))
    return failure();
  return foldElements(
      node, a.elementType, *shape,
      [&](HostTensor &result, llvm::ArrayRef<int64_t> at, int64_t flat) {
        bool first = condition.ints[broadcastIndex(condition.shape, at)] != 0;
        const HostTensor &from = first ? a : b;
        copyElement(from, broadcastIndex(from.shape, at), result, flat);
      });
}

LogicalResult soap::onnx_import::foldRange(NodeContext &node) {
  for (size_t i = 0; i != 3; ++i)
    if (node.input(i).host.size() != 1 ||
        node.input(i).elementType != node.input(0).elementType)
      return node.fail("expected three numbers of one type, got: shape " +
                       toString(node.shape(i)));
  double start = node.input(0).host.number(0),
         end = node.input(1).host.number(0);
  double step = node.input(2).host.number(0);
  double count = std::ceil((end - start) / step);
  if (!(std::fabs(count) <= static_cast<double>(maxHostElements)))
    return node.fail("expected a short range, got: from " +
                     std::to_string(start) + " to " + std::to_string(end) +
                     " by " + std::to_string(step));
  HostTensor result =
      HostTensor::zeros(node.input(0).elementType,
                        {std::max<int64_t>(static_cast<int64_t>(count), 0)});
  for (int64_t i = 0, e = result.size(); i != e; ++i)
    result.setNumber(i, start + static_cast<double>(i) * step);
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldReduce(NodeContext &node) {
  llvm::StringRef op = node.node.op_type();
  const HostTensor &x = node.input(0).host;
  SmallVector<int64_t> axes =
      node.integers("axes").value_or(SmallVector<int64_t>());
  if (node.hasInput(1)) {
    auto operand = node.constantIntegers(1, "axes");
    if (failed(operand))
      return failure();
    axes = *operand;
  }
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0)
    return importIdentity(node);
  SmallVector<bool> reduced(x.shape.size(), axes.empty());
  for (int64_t axis : axes) {
    auto index = node.axis(axis, x.shape.size());
    if (failed(index))
      return failure();
    reduced[static_cast<size_t>(*index)] = true;
  }
  Shape kept(x.shape), shape;
  bool keep = node.integer("keepdims", 1) != 0;
  int64_t count = 1;
  for (size_t d = 0; d != kept.size(); ++d) {
    if (reduced[d]) {
      count *= kept[d];
      kept[d] = 1;
    }
    if (!reduced[d] || keep)
      shape.push_back(kept[d]);
  }
  if (count == 0) {
    node.setResult(0, reducedNothing(op, x.elementType, shape));
    return success();
  }
  HostTensor result = HostTensor::zeros(x.elementType, kept);
  std::vector<bool> started(static_cast<size_t>(result.size()), false);
  bool prod = op == "ReduceProd", max = op == "ReduceMax",
       min = op == "ReduceMin";
  forEachElement(x.shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t to = broadcastIndex(kept, at);
    if (!started[static_cast<size_t>(to)]) {
      started[static_cast<size_t>(to)] = true;
      copyElement(x, flat, result, to);
      return;
    }
    llvm::StringRef join = prod ? "Mul" : max ? "Max" : min ? "Min" : "Add";
    if (x.integral())
      result.setInteger(to, *applyInteger(node, join, x.elementType,
                                          result.ints[to], x.ints[flat]));
    else
      result.setNumber(to,
                       applyNumber(join, result.floats[to], x.floats[flat]));
  });
  if (op == "ReduceMean")
    for (int64_t i = 0, e = result.size(); i != e; ++i)
      result.setNumber(i, result.number(i) / static_cast<double>(count));
  result.shape = shape;
  node.setResult(0, std::move(result));
  return success();
}
