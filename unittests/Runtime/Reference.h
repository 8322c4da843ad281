//===- Reference.h - Naive definitions of all kernels -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_UNITTESTS_RUNTIME_REFERENCE_H
#define SOAP_UNITTESTS_RUNTIME_REFERENCE_H

#include "ModelBuilder.h"

namespace soap::test {

/// A tensor of doubles, row-major.
struct Tensor {
  Shape shape;
  std::vector<double> values;

  explicit Tensor(Shape shape)
      : shape(std::move(shape)), values(count(this->shape), 0.0) {}
  Tensor(Shape shape, const Floats &floats)
      : shape(std::move(shape)), values(floats.begin(), floats.end()) {}
  double &at(const Shape &index);
  const double &at(const Shape &index) const;
};

/// Calls fn(index) for every index of a shape, in order.
void forEachIndex(const Shape &shape,
                  const std::function<void(const Shape &)> &fn);

/// By definition, in double, from the comments of Model.fbs.
Tensor reference(const fb::ConvT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::ConvBackwardT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::PoolT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::MatMulT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::SoftmaxT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::LrnT &op, const std::vector<Tensor> &x,
                 const Shape &result);
Tensor reference(const fb::LayerNormT &op, const std::vector<Tensor> &x,
                 const Shape &result);

/// What a follower makes of the element `y`, where its operand, if it has one,
/// has `other`.
double applyFollower(fb::FollowerKind kind, double alpha, double beta, double y,
                     double other);

} // namespace soap::test

#endif // SOAP_UNITTESTS_RUNTIME_REFERENCE_H
