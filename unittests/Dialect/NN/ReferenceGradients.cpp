//===- ReferenceGradients.cpp - Gradient operations, one by one -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

static Tensor zerosOf(Value value) {
  return Tensor(cast<RankedTensorType>(value.getType()).getShape());
}

/// Every pair of an element of dy and a kernel position adds one product.
Tensor soap::nn::test::convBackwardFilter(ConvBackwardFilterOp op,
                                          ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0], &dy = operands[1];
  Tensor result = zerosOf(op.getResult());
  int64_t inside = x.shape[1] / op.getGroups();
  int64_t made = dy.shape[1] / op.getGroups();
  forEachIndex(dy.shape, [&](ArrayRef<int64_t> at) {
    forEachIndex(ArrayRef(result.shape).drop_front(), [&](ArrayRef<int64_t> k) {
      SmallVector<int64_t> from = {at[0], at[1] / made * inside + k[0]};
      for (size_t d = 0; d + 1 != k.size(); ++d) {
        from.push_back(at[2 + d] * op.getStrides()[d] - op.getPadsLo()[d] +
                       k[1 + d] * op.getDilations()[d]);
        if (from.back() < 0 || from.back() >= x.shape[2 + d])
          return;
      }
      SmallVector<int64_t> to = {at[1]};
      to.append(k.begin(), k.end());
      result.at(to) += x.at(from) * dy.at(at);
    });
  });
  return result;
}

/// Every element of dy goes to the first largest element of its window.
Tensor soap::nn::test::maxPoolBackward(MaxPoolBackwardOp op,
                                       ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0], &dy = operands[1];
  Tensor result = zerosOf(op.getResult());
  forEachIndex(dy.shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> best;
    forEachIndex(op.getKernel(), [&](ArrayRef<int64_t> k) {
      SmallVector<int64_t> from = {at[0], at[1]};
      for (size_t d = 0; d != k.size(); ++d) {
        from.push_back(at[2 + d] * op.getStrides()[d] - op.getPadsLo()[d] +
                       k[d] * op.getDilations()[d]);
        if (from.back() < 0 || from.back() >= x.shape[2 + d])
          return;
      }
      if (best.empty() || x.at(from) > x.at(best))
        best = from;
    });
    if (best.empty())
      return;
    for (size_t d = 2; d != best.size(); ++d) {
      best[d] -= op.getOffsets() ? (*op.getOffsets())[d - 2] : 0;
      if (best[d] < 0 || best[d] >= result.shape[d])
        return;
    }
    result.at(best) += dy.at(at);
  });
  return result;
}
