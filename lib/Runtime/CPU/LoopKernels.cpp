//===- LoopKernels.cpp - Plain loops for what oneDNN lacks ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Kernel.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

using namespace soap;
using namespace soap::runtime;

namespace {
/// A launch of any function of its operands and results.
class BoundLoop final : public BoundKernel {
public:
  explicit BoundLoop(std::function<void()> body) : body(std::move(body)) {}
  void run() override { body(); }

private:
  std::function<void()> body;
};

using LoopBody = std::function<void(const Binding &)>;

class LoopKernel final : public Kernel {
public:
  LoopKernel(std::string loopName, LoopBody body) : body(std::move(body)) {
    name = "soap:" + std::move(loopName);
  }
  std::unique_ptr<BoundKernel> bind(const Binding &binding) override {
    return std::make_unique<BoundLoop>(
        [body = body, binding] { body(binding); });
  }

private:
  LoopBody body;
};

/// make(T()) for the type T of elements that the loops are compiled for, or
/// null for another one.
template <typename Fn>
std::unique_ptr<Kernel> forElement(fb::ElementType element, Fn make) {
  switch (element) {
  case fb::ElementType::F32:
    return make(float());
  case fb::ElementType::F64:
    return make(double());
  case fb::ElementType::I32:
    return make(int32_t());
  case fb::ElementType::I64:
    return make(int64_t());
  default:
    return nullptr;
  }
}

/// A nest over a result of `extents`, innermost last, in which every operand
/// moves by its own strides (in elements; 0 broadcasts).
struct Nest {
  Shape extents;
  std::vector<Shape> strides; ///< Per operand.

  /// Calls row(offsets of the operands, count, innermost strides) for every
  /// innermost row.
  template <typename Fn>
  void rows(Fn row) const {
    size_t rank = extents.size(), operands = strides.size();
    int64_t inner = rank ? extents.back() : 1;
    std::vector<int64_t> offsets(operands, 0), steps(operands, 0);
    for (size_t o = 0; o != operands; ++o)
      steps[o] = rank ? strides[o].back() : 0;
    int64_t outer = 1;
    for (size_t d = 0; d + 1 < rank; ++d)
      outer *= extents[d];
    if (inner == 0)
      return;
    std::vector<int64_t> index(rank, 0);
    for (int64_t i = 0; i < outer; ++i) {
      row(offsets, inner, steps);
      for (size_t d = rank; d-- > 1;) {
        size_t dim = d - 1;
        for (size_t o = 0; o != operands; ++o)
          offsets[o] += strides[o][dim];
        if (++index[dim] != extents[dim])
          break;
        for (size_t o = 0; o != operands; ++o)
          offsets[o] -= strides[o][dim] * extents[dim];
        index[dim] = 0;
      }
    }
  }
};
} // namespace

static Shape denseStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Strides of an operand of `shape` in a nest over `result` (aligned at the
/// last dim); nothing if it does not broadcast.
static bool broadcastStrides(const Shape &shape, const Shape &result,
                             Shape &strides) {
  if (shape.size() > result.size())
    return false;
  Shape dense = denseStrides(shape);
  strides.assign(result.size(), 0);
  size_t lead = result.size() - shape.size();
  for (size_t d = 0; d != shape.size(); ++d) {
    if (shape[d] == result[lead + d])
      strides[lead + d] = shape[d] == 1 ? 0 : dense[d];
    else if (shape[d] != 1)
      return false;
  }
  return true;
}

static Shape shapeOf(const fb::TensorType *type) {
  return toVector(type->shape());
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

template <typename T, typename Op>
static void binaryRows(const Nest &nest, const Binding &b, Op op) {
  const T *lhs = static_cast<const T *>(b.operands[0]);
  const T *rhs = static_cast<const T *>(b.operands[1]);
  T *out = static_cast<T *>(b.results[0]);
  nest.rows([&](const auto &at, int64_t count, const auto &step) {
    const T *x = lhs + at[0], *y = rhs + at[1];
    T *z = out + at[2];
    int64_t dx = step[0], dy = step[1];
    for (int64_t i = 0; i != count; ++i)
      z[i] = op(x[i * dx], y[i * dy]);
  });
}

template <typename T>
static void binary(fb::BinaryKind kind, const Nest &nest, const Binding &b) {
  switch (kind) {
  case fb::BinaryKind::Add:
    return binaryRows<T>(nest, b, [](T x, T y) { return x + y; });
  case fb::BinaryKind::Sub:
    return binaryRows<T>(nest, b, [](T x, T y) { return x - y; });
  case fb::BinaryKind::Mul:
    return binaryRows<T>(nest, b, [](T x, T y) { return x * y; });
  case fb::BinaryKind::Div:
    return binaryRows<T>(nest, b, [](T x, T y) {
      if constexpr (std::is_integral_v<T>)
        return y == 0 ? T(0) : y == T(-1) ? T(0) - x : T(x / y);
      else
        return x / y;
    });
  case fb::BinaryKind::Max:
    return binaryRows<T>(nest, b, [](T x, T y) { return x < y ? y : x; });
  case fb::BinaryKind::Min:
    return binaryRows<T>(nest, b, [](T x, T y) { return y < x ? y : x; });
  }
}

static std::unique_ptr<Kernel> makeBinary(const fb::Kernel &kernel,
                                          fb::BinaryKind kind) {
  if (kernel.operands()->size() != 2)
    return nullptr;
  const auto *lhs = kernel.operands()->Get(0);
  const auto *rhs = kernel.operands()->Get(1);
  const auto *out = kernel.results()->Get(0);
  if (lhs->element() != out->element() || rhs->element() != out->element())
    return nullptr;
  Nest nest;
  nest.extents = shapeOf(out);
  nest.strides.resize(3);
  if (!broadcastStrides(shapeOf(lhs), nest.extents, nest.strides[0]) ||
      !broadcastStrides(shapeOf(rhs), nest.extents, nest.strides[1]))
    return nullptr;
  nest.strides[2] = denseStrides(nest.extents);
  auto make = [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return std::make_unique<LoopKernel>(
        "binary", [=](const Binding &b) { binary<T>(kind, nest, b); });
  };
  return forElement(out->element(), make);
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

template <typename T>
static T combine(fb::ReductionKind kind, T a, T b) {
  switch (kind) {
  case fb::ReductionKind::Sum:
    return a + b;
  case fb::ReductionKind::Prod:
    return a * b;
  case fb::ReductionKind::Max:
    return a < b ? b : a;
  case fb::ReductionKind::Min:
    return b < a ? b : a;
  }
  return a;
}

/// Reduces contiguous elements in 16 lanes, so that the compiler vectorises it.
template <typename T>
static T reduceRow(fb::ReductionKind kind, const T *x, int64_t count, T start) {
  constexpr int64_t lanes = 16;
  T partial[lanes];
  std::fill(partial, partial + lanes, start);
  int64_t i = 0;
  auto blocks = [&](auto op) {
    for (; i + lanes <= count; i += lanes)
      for (int64_t l = 0; l != lanes; ++l)
        partial[l] = op(partial[l], x[i + l]);
  };
  switch (kind) {
  case fb::ReductionKind::Sum:
    blocks([](T a, T b) { return a + b; });
    break;
  case fb::ReductionKind::Prod:
    blocks([](T a, T b) { return a * b; });
    break;
  case fb::ReductionKind::Max:
    blocks([](T a, T b) { return a < b ? b : a; });
    break;
  case fb::ReductionKind::Min:
    blocks([](T a, T b) { return b < a ? b : a; });
    break;
  }
  T result = start;
  for (T lane : partial)
    result = combine(kind, result, lane);
  for (; i != count; ++i)
    result = combine(kind, result, x[i]);
  return result;
}

template <typename T>
static T neutral(fb::ReductionKind kind) {
  switch (kind) {
  case fb::ReductionKind::Sum:
    return T(0);
  case fb::ReductionKind::Prod:
    return T(1);
  case fb::ReductionKind::Max:
    return std::numeric_limits<T>::has_infinity
               ? -std::numeric_limits<T>::infinity()
               : std::numeric_limits<T>::lowest();
  case fb::ReductionKind::Min:
    return std::numeric_limits<T>::has_infinity
               ? std::numeric_limits<T>::infinity()
               : std::numeric_limits<T>::max();
  }
  return T(0);
}

namespace {
/// The dims of an operand in two nests: kept dims (over the result), and
/// reduced dims (inside of one result element).
struct ReductionPlan {
  fb::ReductionKind kind;
  float scale;
  Shape kept, keptStrides, reduced, reducedStrides;
};
} // namespace

template <typename T>
static void reduce(const ReductionPlan &plan, const Binding &b) {
  const T *x = static_cast<const T *>(b.operands[0]);
  T *y = static_cast<T *>(b.results[0]);
  int64_t next = 0;
  Nest outer{plan.kept, {plan.keptStrides}};
  Nest inner{plan.reduced, {plan.reducedStrides}};
  outer.rows([&](const auto &at, int64_t count, const auto &step) {
    for (int64_t i = 0; i != count; ++i) {
      const T *base = x + at[0] + i * step[0];
      T result = neutral<T>(plan.kind);
      inner.rows([&](const auto &in, int64_t n, const auto &stride) {
        const T *row = base + in[0];
        if (stride[0] == 1) {
          result = combine(plan.kind, result,
                           reduceRow(plan.kind, row, n, neutral<T>(plan.kind)));
          return;
        }
        for (int64_t j = 0; j != n; ++j)
          result = combine(plan.kind, result, row[j * stride[0]]);
      });
      y[next++] =
          plan.scale == 1.0f ? result : static_cast<T>(result * plan.scale);
    }
  });
}

static std::unique_ptr<Kernel> makeReduction(const fb::Kernel &kernel,
                                             const fb::Reduction *op) {
  if (kernel.operands()->size() != 1)
    return nullptr;
  const auto *in = kernel.operands()->Get(0);
  const auto *out = kernel.results()->Get(0);
  if (in->element() != out->element())
    return nullptr;
  Shape shape = shapeOf(in), strides = denseStrides(shape);
  std::vector<bool> isReduced(shape.size(), false);
  for (int32_t axis : items(op->axes())) {
    if (axis < 0 || static_cast<size_t>(axis) >= shape.size())
      return nullptr;
    isReduced[axis] = true;
  }
  ReductionPlan plan{op->kind(), op->scale(), {}, {}, {}, {}};
  for (size_t d = 0; d != shape.size(); ++d) {
    Shape &extents = isReduced[d] ? plan.reduced : plan.kept;
    Shape &steps = isReduced[d] ? plan.reducedStrides : plan.keptStrides;
    // Neighbouring dims that lie densely become one.
    if (d && isReduced[d] == isReduced[d - 1] && !extents.empty()) {
      extents.back() *= shape[d];
      steps.back() = strides[d];
      continue;
    }
    extents.push_back(shape[d]);
    steps.push_back(strides[d]);
  }
  if (elementCount(plan.kept) != elementCount(shapeOf(out)))
    return nullptr;
  auto make = [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return std::make_unique<LoopKernel>(
        "reduction", [=](const Binding &b) { reduce<T>(plan, b); });
  };
  return forElement(out->element(), make);
}

//===----------------------------------------------------------------------===//
// Softmax along a dim that is not the last
//===----------------------------------------------------------------------===//

static void softmax(const float *x, float *y, int64_t outer, int64_t axis,
                    int64_t inner, bool log) {
  std::vector<float> max(inner), sum(inner);
  for (int64_t o = 0; o != outer; ++o, x += axis * inner, y += axis * inner) {
    std::copy(x, x + inner, max.begin());
    for (int64_t a = 1; a < axis; ++a)
      for (int64_t i = 0; i != inner; ++i)
        max[i] = std::max(max[i], x[a * inner + i]);
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int64_t a = 0; a != axis; ++a)
      for (int64_t i = 0; i != inner; ++i) {
        float shifted = x[a * inner + i] - max[i];
        float power = std::exp(shifted);
        sum[i] += power;
        y[a * inner + i] = log ? shifted : power;
      }
    for (int64_t i = 0; i != inner; ++i)
      sum[i] = log ? std::log(sum[i]) : 1.0f / sum[i];
    for (int64_t a = 0; a != axis; ++a)
      for (int64_t i = 0; i != inner; ++i) {
        float &value = y[a * inner + i];
        value = log ? value - sum[i] : value * sum[i];
      }
  }
}

static std::unique_ptr<Kernel> makeSoftmax(const fb::Kernel &kernel,
                                           const fb::Softmax *op) {
  const auto *in = kernel.operands()->Get(0);
  Shape shape = shapeOf(in);
  if (in->element() != fb::ElementType::F32 || op->axis() < 0 ||
      op->axis() >= static_cast<int>(shape.size()) ||
      shapeOf(kernel.results()->Get(0)) != shape)
    return nullptr;
  auto at = shape.begin() + op->axis();
  int64_t outer = elementCount(Shape(shape.begin(), at)), axis = *at;
  int64_t inner = elementCount(Shape(at + 1, shape.end()));
  return std::make_unique<LoopKernel>(
      "softmax", [=, log = op->log()](const Binding &b) {
        softmax(static_cast<const float *>(b.operands[0]),
                static_cast<float *>(b.results[0]), outer, axis, inner, log);
      });
}

/// Copies the operand, whatever its type.
static std::unique_ptr<Kernel> makeIdentity(const fb::Kernel &kernel) {
  const auto *in = kernel.operands()->Get(0);
  const auto *out = kernel.results()->Get(0);
  int64_t bytes = byteCount(out->element(), shapeOf(out));
  if (byteCount(in->element(), shapeOf(in)) != bytes)
    return nullptr;
  return std::make_unique<LoopKernel>("copy", [bytes](const Binding &b) {
    std::memcpy(b.results[0], b.operands[0], static_cast<size_t>(bytes));
  });
}

std::unique_ptr<Kernel> runtime::makeLoopKernel(const fb::Kernel &kernel) {
  if (elementCount(shapeOf(kernel.results()->Get(0))) == 0)
    return std::make_unique<LoopKernel>("empty", [](const Binding &) {});
  if (const auto *op = kernel.op_as_Unary())
    return op->kind() == fb::UnaryKind::Identity ? makeIdentity(kernel)
                                                 : nullptr;
  if (const auto *op = kernel.op_as_Binary())
    return makeBinary(kernel, op->kind());
  if (const auto *op = kernel.op_as_Nary())
    return makeBinary(kernel, op->kind());
  if (const auto *op = kernel.op_as_Reduction())
    return makeReduction(kernel, op);
  if (const auto *op = kernel.op_as_Softmax())
    return makeSoftmax(kernel, op);
  return nullptr;
}
