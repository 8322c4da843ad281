//===- Folding.cpp - Shape arithmetic ---------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace soap::onnx_import;
using onnx::TensorProto;

// Operands of all functions here are constants known by value.

llvm::SmallVector<int64_t>
soap::onnx_import::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

/// Calls `visit(indices, flat)` for all elements of a tensor of `shape`.
static void forEachElement(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> visit) {
  int64_t count = countElements(shape).value_or(0);
  SmallVector<int64_t> indices(shape.size(), 0);
  for (int64_t flat = 0; flat != count; ++flat) {
    visit(indices, flat);
    for (size_t d = shape.size(); d-- != 0;) {
      if (++indices[d] != shape[d])
        break;
      indices[d] = 0;
    }
  }
}

/// The element of a tensor of `shape` that broadcasts to `indices`.
static int64_t broadcastIndex(llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> indices) {
  int64_t flat = 0;
  size_t skip = indices.size() - shape.size();
  for (size_t d = 0; d != shape.size(); ++d)
    flat = flat * shape[d] + (shape[d] == 1 ? 0 : indices[skip + d]);
  return flat;
}

static void copyElement(const HostTensor &from, int64_t i, HostTensor &to,
                        int64_t j) {
  if (to.integral())
    to.ints[j] = from.ints[i];
  else
    to.floats[j] = from.floats[i];
}

/// Zeros of a shape that is small enough to fold; else the node is computed at
/// run time, if that is possible.
static FailureOr<HostTensor> makeResult(NodeContext &node, int elementType,
                                        llvm::ArrayRef<int64_t> shape) {
  if (countElements(shape).value_or(maxElements) > maxHostElements) {
    if (node.canRun)
      return node.tooLargeToFold();
    return node.fail("expected a small constant, got: shape " +
                     toString(shape));
  }
  return HostTensor::zeros(elementType, shape);
}

/// One operand type and one element at a time; wraps around like the machine.
static FailureOr<int64_t> applyInteger(NodeContext &node, llvm::StringRef op,
                                       int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if (op == "Div" || op == "Mod") {
    if (b == 0 || (a == INT64_MIN && b == -1))
      return node.fail("expected a divisor other than 0, got: " +
                       llvm::Twine(a) + " / " + llvm::Twine(b));
    if (op == "Div")
      return a / b;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return llvm::StringSwitch<int64_t>(op)
      .Case("Add", static_cast<int64_t>(ua + ub))
      .Case("Sub", static_cast<int64_t>(ua - ub))
      .Case("Mul", static_cast<int64_t>(ua * ub))
      .Case("Max", std::max(a, b))
      .Case("Min", std::min(a, b))
      .Case("Equal", a == b)
      .Case("Less", a < b)
      .Case("LessOrEqual", a <= b)
      .Case("Greater", a > b)
      .Case("GreaterOrEqual", a >= b)
      .Case("And", a && b)
      .Case("Or", a || b)
      .Case("Xor", !a != !b)
      .Default(0);
}

static double applyNumber(llvm::StringRef op, double a, double b) {
  return llvm::StringSwitch<double>(op)
      .Case("Add", a + b)
      .Case("Sub", a - b)
      .Case("Mul", a * b)
      .Case("Div", a / b)
      .Case("Mod", std::fmod(a, b))
      .Case("Max", std::max(a, b))
      .Case("Min", std::min(a, b))
      .Case("Equal", a == b)
      .Case("Less", a < b)
      .Case("LessOrEqual", a <= b)
      .Case("Greater", a > b)
      .Case("GreaterOrEqual", a >= b)
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
      auto value = applyInteger(node, op, a.ints[x], b.ints[y]);
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
      auto negated = static_cast<int64_t>(-static_cast<uint64_t>(x));
      result.setInteger(i, llvm::StringSwitch<int64_t>(op)
                               .Case("Neg", negated)
                               .Case("Abs", x < 0 ? negated : x)
                               .Case("Not", !x)
                               .Case("Relu", std::max<int64_t>(x, 0))
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
  if (elementSize(type) == 0)
    return node.fail("expected a cast to a type of numbers, got: " +
                     typeName(type));
  const HostTensor &x = node.input(0).host;
  HostTensor result = HostTensor::zeros(type, x.shape);
  for (int64_t i = 0, e = x.size(); i != e; ++i)
    if (x.integral())
      result.setInteger(i, x.ints[i]);
    else
      result.setNumber(i, x.floats[i]);
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldGather(NodeContext &node) {
  const HostTensor &data = node.input(0).host, &indices = node.input(1).host;
  auto axis = node.axis(node.integer("axis", 0), data.shape.size());
  if (failed(axis))
    return failure();
  if (!indices.integral())
    return node.fail("expected integer indices, got: " +
                     typeName(indices.elementType));
  auto along = static_cast<size_t>(*axis);
  int64_t size = data.shape[along];
  for (int64_t index : indices.ints)
    if (index < -size || index >= size)
      return node.fail("expected indices inside size " + llvm::Twine(size) +
                       ", got: " + llvm::Twine(index));
  Shape shape(llvm::ArrayRef<int64_t>(data.shape).take_front(along));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape,
                     llvm::ArrayRef<int64_t>(data.shape).drop_front(along + 1));
  auto result = makeResult(node, data.elementType, shape);
  if (failed(result))
    return failure();
  SmallVector<int64_t> strides = rowMajorStrides(data.shape);
  size_t indexRank = indices.shape.size();
  forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t index =
        indices.ints[broadcastIndex(indices.shape, at.slice(along, indexRank))];
    int64_t from = (index < 0 ? index + size : index) * strides[along];
    for (size_t d = 0; d != along; ++d)
      from += at[d] * strides[d];
    for (size_t d = along + 1; d != data.shape.size(); ++d)
      from += at[d - 1 + indexRank] * strides[d];
    copyElement(data, from, *result, flat);
  });
  node.setResult(0, std::move(*result));
  return success();
}

LogicalResult soap::onnx_import::foldConcat(NodeContext &node) {
  Shape shape(node.shape(0));
  auto axis = node.axis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  auto along = static_cast<size_t>(*axis);
  shape[along] = 0;
  for (size_t i = 0, e = node.numInputs(); i != e; ++i) {
    const HostTensor &x = node.input(i).host;
    bool fits = node.hasInput(i) && x.shape.size() == shape.size() &&
                x.elementType == node.input(0).elementType;
    for (size_t d = 0; fits && d != shape.size(); ++d)
      fits = d == along || x.shape[d] == shape[d];
    if (!fits)
      return node.fail("expected operands of one type and of shapes that are "
                       "equal but for axis " +
                       llvm::Twine(along) + ", got: " + toString(x.shape));
    shape[along] += x.shape[along];
  }
  auto result = makeResult(node, node.input(0).elementType, shape);
  if (failed(result))
    return failure();
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  int64_t offset = 0;
  for (size_t i = 0, e = node.numInputs(); i != e; ++i) {
    const HostTensor &x = node.input(i).host;
    forEachElement(x.shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
      int64_t to = offset * strides[along];
      for (size_t d = 0; d != at.size(); ++d)
        to += at[d] * strides[d];
      copyElement(x, flat, *result, to);
    });
    offset += x.shape[along];
  }
  node.setResult(0, std::move(*result));
  return success();
}

LogicalResult soap::onnx_import::foldSlice(NodeContext &node) {
  auto bounds = sliceBounds(node);
  if (failed(bounds))
    return failure();
  const HostTensor &x = node.input(0).host;
  auto result = makeResult(node, x.elementType, bounds->shape);
  if (failed(result))
    return failure();
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  forEachElement(bounds->shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t from = 0;
    for (size_t d = 0; d != at.size(); ++d)
      from += (bounds->starts[d] + at[d] * bounds->steps[d]) * strides[d];
    copyElement(x, from, *result, flat);
  });
  node.setResult(0, std::move(*result));
  return success();
}

LogicalResult soap::onnx_import::foldTranspose(NodeContext &node) {
  auto permutation = permutationOf(node);
  if (failed(permutation))
    return failure();
  const HostTensor &x = node.input(0).host;
  Shape shape;
  for (int64_t dim : *permutation)
    shape.push_back(x.shape[static_cast<size_t>(dim)]);
  HostTensor result = HostTensor::zeros(x.elementType, shape);
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t from = 0;
    for (size_t d = 0; d != at.size(); ++d)
      from += at[d] * strides[static_cast<size_t>((*permutation)[d])];
    copyElement(x, from, result, flat);
  });
  node.setResult(0, std::move(result));
  return success();
}

LogicalResult soap::onnx_import::foldExpand(NodeContext &node) {
  auto wanted = node.constantIntegers(1, "shapes");
  if (failed(wanted))
    return failure();
  const HostTensor &x = node.input(0).host;
  if (!countElements(*wanted))
    return node.fail("expected a shape within bounds, got: " +
                     toString(*wanted));
  auto shape = node.broadcast(x.shape, *wanted);
  if (failed(shape))
    return failure();
  auto result = makeResult(node, x.elementType, *shape);
  if (failed(result))
    return failure();
  forEachElement(*shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    copyElement(x, broadcastIndex(x.shape, at), *result, flat);
  });
  node.setResult(0, std::move(*result));
  return success();
}

LogicalResult soap::onnx_import::foldTile(NodeContext &node) {
  auto repeats = node.constantIntegers(1, "repeats");
  if (failed(repeats))
    return failure();
  const HostTensor &x = node.input(0).host;
  Shape shape(x.shape);
  if (repeats->size() != shape.size())
    return node.fail("expected one repeat per dimension of " + toString(shape) +
                     ", got: " + toString(*repeats));
  for (auto [size, repeat] : llvm::zip_equal(shape, *repeats)) {
    if (repeat < 0 || repeat > maxDim || size > maxDim)
      return node.fail("expected repeats within bounds, got: " +
                       toString(*repeats));
    size *= repeat;
  }
  auto result = makeResult(node, x.elementType, shape);
  if (failed(result))
    return failure();
  SmallVector<int64_t> strides = rowMajorStrides(x.shape);
  forEachElement(shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    int64_t from = 0;
    for (size_t d = 0; d != at.size(); ++d)
      from += at[d] % x.shape[d] * strides[d];
    copyElement(x, from, *result, flat);
  });
  node.setResult(0, std::move(*result));
  return success();
}

/// Powers with an exponent of another type.
LogicalResult soap::onnx_import::foldPow(NodeContext &node) {
  const HostTensor &x = node.input(0).host, &y = node.input(1).host;
  auto shape = node.broadcast(x.shape, y.shape);
  if (failed(shape))
    return failure();
  auto result = makeResult(node, x.elementType, *shape);
  if (failed(result))
    return failure();
  forEachElement(*shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    result->setNumber(flat, std::pow(x.number(broadcastIndex(x.shape, at)),
                                     y.number(broadcastIndex(y.shape, at))));
  });
  node.setResult(0, std::move(*result));
  return success();
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
  auto result = makeResult(node, a.elementType, *shape);
  if (failed(result))
    return failure();
  forEachElement(*shape, [&](llvm::ArrayRef<int64_t> at, int64_t flat) {
    bool first = condition.ints[broadcastIndex(condition.shape, at)] != 0;
    const HostTensor &from = first ? a : b;
    copyElement(from, broadcastIndex(from.shape, at), *result, flat);
  });
  node.setResult(0, std::move(*result));
  return success();
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
  if (count == 0)
    return node.fail("expected elements to reduce, got: shape " +
                     toString(x.shape));
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
      result.setInteger(
          to, *applyInteger(node, join, result.ints[to], x.ints[flat]));
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
