//===- ReferenceOps.cpp - Parts of the naive evaluator --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

//===----------------------------------------------------------------------===//
// Per element
//===----------------------------------------------------------------------===//

static double logistic(double x) { return 1 / (1 + std::exp(-x)); }

static bool holds(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::Eq:
    return a == b;
  case Predicate::Ne:
    return a != b;
  case Predicate::Lt:
    return a < b;
  case Predicate::Le:
    return a <= b;
  case Predicate::Gt:
    return a > b;
  case Predicate::Ge:
    return a >= b;
  }
  return false;
}

static double gelu(bool approximate, double x) {
  if (approximate)
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

static double convert(Type to, double x) {
  if (to.isInteger(1))
    return x != 0;
  return to.isInteger() ? std::trunc(x) : x;
}

double soap::nn::test::elementOf(Operation *op, ArrayRef<double> x) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](DivOp) { return x[0] / x[1]; })
      .Case([&](MaxOp) { return std::max(x[0], x[1]); })
      .Case([&](MinOp) { return std::min(x[0], x[1]); })
      .Case([&](PowOp) { return std::pow(x[0], x[1]); })
      .Case([&](AndOp) { return double(x[0] != 0 && x[1] != 0); })
      .Case([&](OrOp) { return double(x[0] != 0 || x[1] != 0); })
      .Case([&](XorOp) { return double((x[0] != 0) != (x[1] != 0)); })
      .Case([&](CompareOp compare) {
        return double(holds(compare.getPredicate(), x[0], x[1]));
      })
      .Case([&](WhereOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](ReluOp) { return std::max(x[0], 0.0); })
      .Case([&](SigmoidOp) { return logistic(x[0]); })
      .Case([&](TanhOp) { return std::tanh(x[0]); })
      .Case([&](SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](ExpOp) { return std::exp(x[0]); })
      .Case([&](LogOp) { return std::log(x[0]); })
      .Case([&](ErfOp) { return std::erf(x[0]); })
      .Case([&](SinOp) { return std::sin(x[0]); })
      .Case([&](CosOp) { return std::cos(x[0]); })
      .Case([&](ReciprocalOp) { return 1 / x[0]; })
      .Case([&](FloorOp) { return std::floor(x[0]); })
      .Case([&](CeilOp) { return std::ceil(x[0]); })
      .Case([&](RoundOp) { return std::nearbyint(x[0]); })
      .Case([&](NegOp) { return -x[0]; })
      .Case([&](AbsOp) { return std::abs(x[0]); })
      .Case([&](NotOp) { return double(x[0] == 0); })
      .Case([&](GeluOp op) { return gelu(op.getApproximate(), x[0]); })
      .Case([&](CastOp cast) {
        return convert(getElementTypeOrSelf(cast.getResult()), x[0]);
      })
      .Case([&](ExpandOp) { return x[0]; })
      .Case([&](ClipOp clip) {
        return std::min<double>(
            std::max<double>(x[0], clip.getMin().convertToFloat()),
            clip.getMax().convertToFloat());
      });
}

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

static Tensor resultOf(Value result) {
  return Tensor(cast<RankedTensorType>(result.getType()).getShape());
}

Tensor soap::nn::test::gather(GatherOp op, ArrayRef<Tensor> operands) {
  const Tensor &data = operands[0], &indices = operands[1];
  Tensor result = resultOf(op.getResult());
  size_t axis = op.getAxis(), indexRank = indices.shape.size();
  int64_t rows = data.shape[axis];
  int64_t table = op.getTableSize().value_or(rows), base = op.getBase();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    auto row = static_cast<int64_t>(indices.at(index.slice(axis, indexRank)));
    row += row < 0 ? table : 0;
    if (row < base || row >= base + rows)
      return;
    SmallVector<int64_t> at(index.take_front(axis));
    at.push_back(row - base);
    llvm::append_range(at, index.drop_front(axis + indexRank));
    result.at(index) = data.at(at);
  });
  return result;
}

Tensor soap::nn::test::tile(TileOp op, const Tensor &x) {
  Tensor result = resultOf(op.getResult());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at;
    for (auto [i, size] : llvm::zip(index, x.shape))
      at.push_back(i % size);
    result.at(index) = x.at(at);
  });
  return result;
}

/// Sums over all corners of the cell around every element.
Tensor soap::nn::test::resize(ResizeOp op, const Tensor &x) {
  Tensor result = resultOf(op.getResult());
  size_t rank = x.shape.size();
  bool linear = op.getMode() == ResizeMode::Linear;
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> corners(rank, linear ? 2 : 1);
    double sum = 0;
    forEachIndex(corners, [&](ArrayRef<int64_t> corner) {
      double weight = 1;
      SmallVector<int64_t> at;
      for (size_t d = 0; d != rank; ++d) {
        double q = static_cast<double>(op.getNumerators()[d] * index[d] +
                                       op.getOffsets()[d]) /
                   static_cast<double>(op.getDenominators()[d]);
        double below = std::floor(q), part = linear ? q - below : 0;
        weight *= corner[d] ? part : 1 - part;
        at.push_back(std::clamp<int64_t>(
            static_cast<int64_t>(below) + corner[d], 0, x.shape[d] - 1));
      }
      sum += weight * x.at(at);
    });
    result.at(index) = sum;
  });
  return result;
}

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

std::vector<Tensor> soap::nn::test::evaluateLSTM(LSTMOp op,
                                                 ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0], &w = operands[1], &r = operands[2];
  const Tensor &b = operands[3];
  Tensor states = resultOf(op.getHidden()), cells = operands[5];
  int64_t steps = x.shape[0], hidden = w.shape[2];
  for (int64_t d = 0; d != w.shape[0]; ++d)
    for (int64_t n = 0; n != x.shape[1]; ++n) {
      std::vector<double> h(hidden), next(hidden);
      for (int64_t i = 0; i != hidden; ++i)
        h[i] = operands[4].at({d, n, i});
      bool backwards = op.getReverse() || d == 1;
      for (int64_t step = 0; step != steps; ++step) {
        int64_t t = backwards ? steps - 1 - step : step;
        for (int64_t i = 0; i != hidden; ++i) {
          double gates[4];
          for (int64_t gate = 0; gate != 4; ++gate) {
            double sum = b.at({d, gate, i});
            for (int64_t k = 0; k != x.shape[2]; ++k)
              sum += x.at({t, n, k}) * w.at({d, gate, i, k});
            for (int64_t k = 0; k != hidden; ++k)
              sum += h[k] * r.at({d, gate, i, k});
            gates[gate] = sum;
          }
          double &cell = cells.at({d, n, i});
          cell = logistic(gates[2]) * cell +
                 logistic(gates[0]) * std::tanh(gates[3]);
          next[i] = logistic(gates[1]) * std::tanh(cell);
          states.at({t, d, n, i}) = next[i];
        }
        h = next;
      }
    }
  return {states, cells};
}
