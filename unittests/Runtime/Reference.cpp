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
const double &Tensor::at(const Shape &index) const {
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

/// Elements from one channel to the next.
static int64_t pixels(const Shape &shape) {
  return count({shape.begin() + 2, shape.end()});
}

Tensor test::reference(const fb::ConvT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  const Tensor &w = x[1];
  int64_t perGroup = w.shape[1], features = w.shape[0] / op.groups;
  Shape kernel(w.shape.begin() + 2, w.shape.end());
  int64_t inputs = pixels(x[0].shape), weights = pixels(w.shape);
  forEachIndex(shape, [&](const Shape &out) {
    double sum = op.bias ? x[2].at({out[1]}) : 0;
    int64_t group = out[1] / features * perGroup;
    window(op, kernel, x[0].shape, out,
           [&](const Shape &at, const Shape &k, bool inside) {
             if (!inside)
               return;
             const double *input = &x[0].at(join({out[0], group}, at));
             const double *weight = &w.at(join({out[1], 0}, k));
             for (int64_t c = 0; c != perGroup; ++c)
               sum += input[c * inputs] * weight[c * weights];
           });
    result.at(out) = sum;
  });
  return result;
}

/// Every product of the convolution, of an element of x and one of w, takes an
/// element of dy back to both.
Tensor test::reference(const fb::ConvBackwardT &op,
                       const std::vector<Tensor> &x, const Shape &shape) {
  Tensor result(shape);
  const Tensor &dy = x[op.of_filter ? 1 : 0];
  const Shape &wShape = op.of_filter ? shape : x[1].shape;
  const Shape &xShape = op.of_filter ? x[0].shape : shape;
  int64_t perGroup = wShape[1], features = wShape[0] / op.groups;
  Shape kernel(wShape.begin() + 2, wShape.end());
  const Tensor &other = op.of_filter ? x[0] : x[1];
  int64_t ofOther = pixels(other.shape), ofResult = pixels(shape);
  forEachIndex(dy.shape, [&](const Shape &out) {
    int64_t group = out[1] / features * perGroup;
    double gradient = dy.at(out);
    window(op, kernel, xShape, out,
           [&](const Shape &at, const Shape &k, bool inside) {
             if (!inside)
               return;
             Shape ofX = join({out[0], group}, at), ofW = join({out[1], 0}, k);
             const double *from = &other.at(op.of_filter ? ofX : ofW);
             double *to = &result.at(op.of_filter ? ofW : ofX);
             for (int64_t c = 0; c != perGroup; ++c)
               to[c * ofResult] += from[c * ofOther] * gradient;
           });
  });
  if (op.bias)
    forEachIndex(shape,
                 [&](const Shape &at) { result.at(at) += x[2].at({at[1]}); });
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

Tensor test::reference(const fb::LayerNormT &op, const std::vector<Tensor> &x,
                       const Shape &shape) {
  Tensor result(shape);
  size_t columns = x[1].values.size();
  for (size_t row = 0; row != x[0].values.size(); row += columns) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i != columns; ++i)
      mean += x[0].values[row + i] / columns;
    for (size_t i = 0; i != columns; ++i)
      variance += std::pow(x[0].values[row + i] - mean, 2) / columns;
    for (size_t i = 0; i != columns; ++i)
      result.values[row + i] = (x[0].values[row + i] - mean) /
                                   std::sqrt(variance + op.epsilon) *
                                   x[1].values[i] +
                               (op.bias ? x[2].values[i] : 0);
  }
  return result;
}

double test::applyFollower(fb::FollowerKind kind, double alpha, double beta,
                           double y, double other) {
  switch (kind) {
  case fb::FollowerKind::Relu:
    return std::max(y, 0.0);
  case fb::FollowerKind::Clip:
    return std::min(std::max(y, alpha), beta);
  case fb::FollowerKind::Gelu:
    return 0.5 * y * (1 + std::erf(y * std::sqrt(0.5)));
  case fb::FollowerKind::GeluTanh:
    return 0.5 * y *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
  case fb::FollowerKind::Add:
    return y + other;
  case fb::FollowerKind::Subtract:
    return y - other;
  case fb::FollowerKind::Multiply:
    return y * other;
  }
  return NAN;
}
