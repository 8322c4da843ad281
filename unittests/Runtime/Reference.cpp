//===- Reference.cpp - Naive definitions of all kernels -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace soap;
using namespace soap::test;

static size_t flatten(const Shape &shape, const Shape &index) {
  int64_t result = 0;
  for (size_t d = 0; d != shape.size(); ++d)
    result = result * shape[d] + index[d];
  return static_cast<size_t>(result);
}

double &Tensor::at(const Shape &index) { return values[flatten(shape, index)]; }
double Tensor::at(const Shape &index) const {
  return values[flatten(shape, index)];
}

void test::forEachIndex(const Shape &shape,
                        const std::function<void(const Shape &)> &fn) {
  Shape index(shape.size(), 0);
  for (int64_t i = 0, n = count(shape); i != n; ++i) {
    fn(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] != shape[d])
        break;
      index[d] = 0;
    }
  }
}

/// Element of `x` that broadcasts to `index` of a larger shape.
static double broadcastAt(const Tensor &x, const Shape &index) {
  Shape own(x.shape.size());
  size_t lead = index.size() - own.size();
  for (size_t d = 0; d != own.size(); ++d)
    own[d] = x.shape[d] == 1 ? 0 : index[lead + d];
  return x.at(own);
}

/// Calls fn(position in x, position in the kernel, inside?) for every position
/// of a window.
template <typename Op, typename Fn>
static void window(const Op &op, const Shape &kernel, const Shape &x,
                   const Shape &out, Fn fn) {
  forEachIndex(kernel, [&](const Shape &k) {
    Shape at(kernel.size());
    bool inside = true;
    for (size_t d = 0; d != kernel.size(); ++d) {
      at[d] =
          out[d + 2] * op.strides[d] + k[d] * op.dilations[d] - op.pads_lo[d];
      inside &= at[d] >= 0 && at[d] < x[d + 2];
    }
    fn(at, k, inside);
  });
}

static Shape join(std::initializer_list<int64_t> head, const Shape &tail) {
  Shape result(head);
  result.insert(result.end(), tail.begin(), tail.end());
  return result;
}

Tensor test::reference(const fb::ConvT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  const Tensor &w = x[1];
  int64_t perGroup = w.shape[1], features = w.shape[0] / op.groups;
  Shape kernel(w.shape.begin() + 2, w.shape.end());
  forEachIndex(shape, [&](const Shape &out) {
    double sum = op.bias ? x[2].at({out[1]}) : 0;
    for (int64_t c = 0; c != perGroup; ++c)
      window(op, kernel, x[0].shape, out,
             [&](const Shape &at, const Shape &k, bool inside) {
               int64_t channel = out[1] / features * perGroup + c;
               if (inside)
                 sum += x[0].at(join({out[0], channel}, at)) *
                        w.at(join({out[1], c}, k));
             });
    result.at(out) = sum;
  });
  return result;
}

Tensor test::reference(const fb::PoolT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    double sum = 0, max = -std::numeric_limits<double>::infinity();
    int64_t inWindow = 0;
    window(op, op.kernel, x[0].shape, out,
           [&](const Shape &at, const Shape &, bool inside) {
             if (!inside)
               return;
             double value = x[0].at(join({out[0], out[1]}, at));
             sum += value;
             max = std::max(max, value);
             ++inWindow;
           });
    result.at(out) =
        op.kind == fb::PoolKind::Max
            ? max
            : sum / (op.count_include_pad ? count(op.kernel) : inWindow);
  });
  return result;
}

Tensor test::reference(const fb::MatMulT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  size_t rank = shape.size();
  const Shape &a = x[0].shape;
  int64_t k = op.transpose_a ? a[a.size() - 2] : a.back();
  auto element = [&](const Tensor &t, const Shape &out, int64_t row,
                     int64_t column, bool transposed) {
    Shape index(out.begin(), out.end() - 2);
    index.push_back(transposed ? column : row);
    index.push_back(transposed ? row : column);
    return broadcastAt(t, index);
  };
  forEachIndex(shape, [&](const Shape &out) {
    double sum = 0;
    for (int64_t i = 0; i != k; ++i)
      sum += element(x[0], out, out[rank - 2], i, op.transpose_a) *
             element(x[1], out, i, out[rank - 1], op.transpose_b);
    result.at(out) = op.alpha * sum + (op.bias ? broadcastAt(x[2], out) : 0);
  });
  return result;
}

Tensor test::reference(const fb::SoftmaxT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    double sum = 0;
    Shape at = out;
    for (at[op.axis] = 0; at[op.axis] != shape[op.axis]; ++at[op.axis])
      sum += std::exp(x[0].at(at));
    double share = std::exp(x[0].at(out)) / sum;
    result.at(out) = op.log ? std::log(share) : share;
  });
  return result;
}

Tensor test::reference(const fb::LrnT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    double sum = 0;
    for (int64_t c = out[1] - (op.size - 1) / 2; c <= out[1] + op.size / 2; ++c)
      if (c >= 0 && c < shape[1]) {
        Shape at = out;
        at[1] = c;
        sum += x[0].at(at) * x[0].at(at);
      }
    result.at(out) =
        x[0].at(out) *
        std::pow(op.bias + double(op.alpha) / op.size * sum, -op.beta);
  });
  return result;
}

Tensor test::reference(const fb::BatchNormT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    auto channel = [&](int i) { return x[i].at({out[1]}); };
    result.at(out) = channel(1) * (x[0].at(out) - channel(3)) /
                         std::sqrt(channel(4) + op.epsilon) +
                     channel(2);
  });
  return result;
}

static double binary(fb::BinaryKind kind, double a, double b) {
  switch (kind) {
  case fb::BinaryKind::Add:
    return a + b;
  case fb::BinaryKind::Sub:
    return a - b;
  case fb::BinaryKind::Mul:
    return a * b;
  case fb::BinaryKind::Div:
    return a / b;
  case fb::BinaryKind::Max:
    return std::max(a, b);
  case fb::BinaryKind::Min:
    return std::min(a, b);
  }
  return 0;
}

Tensor test::reference(const fb::BinaryT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    result.at(out) =
        binary(op.kind, broadcastAt(x[0], out), broadcastAt(x[1], out));
  });
  return result;
}

Tensor test::reference(const fb::NaryT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  forEachIndex(shape, [&](const Shape &out) {
    double value = x[0].at(out);
    for (size_t i = 1; i != x.size(); ++i)
      value = binary(op.kind, value, x[i].at(out));
    result.at(out) = value;
  });
  return result;
}

Tensor test::reference(const fb::UnaryT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  for (size_t i = 0; i != x[0].values.size(); ++i) {
    double v = x[0].values[i], a = op.alpha, b = op.beta;
    switch (op.kind) {
    case fb::UnaryKind::Relu:
      v = v > 0 ? v : a * v;
      break;
    case fb::UnaryKind::Sigmoid:
      v = 1 / (1 + std::exp(-v));
      break;
    case fb::UnaryKind::Tanh:
      v = std::tanh(v);
      break;
    case fb::UnaryKind::Clip:
      v = std::min(std::max(v, a), b);
      break;
    case fb::UnaryKind::Exp:
      v = std::exp(v);
      break;
    case fb::UnaryKind::Log:
      v = std::log(v);
      break;
    case fb::UnaryKind::Sqrt:
      v = std::sqrt(v);
      break;
    case fb::UnaryKind::Abs:
      v = std::fabs(v);
      break;
    case fb::UnaryKind::Square:
      v = v * v;
      break;
    case fb::UnaryKind::Elu:
      v = v > 0 ? v : a * (std::exp(v) - 1);
      break;
    case fb::UnaryKind::Gelu:
      v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      break;
    case fb::UnaryKind::Linear:
      v = a * v + b;
      break;
    case fb::UnaryKind::Identity:
      break;
    }
    result.values[i] = v;
  }
  return result;
}

Tensor test::reference(const fb::ReductionT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  // With the reduced dims as 1; only the element order counts.
  Shape kept = x[0].shape;
  for (int32_t axis : op.axes)
    kept[axis] = 1;
  Tensor result(kept);
  std::vector<bool> seen(result.values.size(), false);
  forEachIndex(x[0].shape, [&](const Shape &in) {
    Shape out = in;
    for (int32_t axis : op.axes)
      out[axis] = 0;
    double value = x[0].at(in), &sum = result.at(out);
    size_t flat = static_cast<size_t>(&sum - result.values.data());
    if (!seen[flat]) {
      seen[flat] = true;
      sum = value;
      return;
    }
    switch (op.kind) {
    case fb::ReductionKind::Sum:
      sum += value;
      break;
    case fb::ReductionKind::Prod:
      sum *= value;
      break;
    case fb::ReductionKind::Max:
      sum = std::max(sum, value);
      break;
    case fb::ReductionKind::Min:
      sum = std::min(sum, value);
      break;
    }
  });
  for (double &value : result.values)
    value *= op.scale;
  result.shape = shape;
  return result;
}
