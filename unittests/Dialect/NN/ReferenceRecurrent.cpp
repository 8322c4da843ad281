//===- ReferenceRecurrent.cpp - Naive recurrent layers
//---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using namespace soap::nn::test;

/// The formulas of ONNX's LSTM.
static double activate(ActivationKind kind, double alpha, double beta,
                       double x) {
  switch (kind) {
  case ActivationKind::Relu:
    return std::max(0.0, x);
  case ActivationKind::Tanh:
    return std::tanh(x);
  case ActivationKind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case ActivationKind::Affine:
    return alpha * x + beta;
  case ActivationKind::LeakyRelu:
    return x >= 0 ? x : alpha * x;
  case ActivationKind::ThresholdedRelu:
    return x >= alpha ? x : 0;
  case ActivationKind::ScaledTanh:
    return alpha * std::tanh(beta * x);
  case ActivationKind::HardSigmoid:
    return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  case ActivationKind::Elu:
    return x >= 0 ? x : alpha * (std::exp(x) - 1);
  case ActivationKind::Softsign:
    return x / (1 + std::abs(x));
  case ActivationKind::Softplus:
    return std::log(1 + std::exp(x));
  }
  return x;
}

namespace {
/// One sample of one direction.
template <typename Op>
struct Sample {
  Op op;
  ArrayRef<Tensor> operands;
  int64_t d, n, t = 0;
  std::vector<double> h;

  const Tensor &x() const { return operands[0]; }
  int64_t hidden() const { return operands[1].shape[2]; }

  /// W x_t of a gate.
  double fromInput(int64_t gate, int64_t i) const {
    double sum = 0;
    for (int64_t k = 0; k != x().shape[2]; ++k)
      sum += x().at({t, n, k}) * operands[1].at({d, gate, i, k});
    return sum;
  }
  /// R times some state, of a gate.
  double fromState(int64_t gate, int64_t i, ArrayRef<double> state) const {
    double sum = 0;
    for (int64_t k = 0; k != hidden(); ++k)
      sum += state[k] * operands[2].at({d, gate, i, k});
    return sum;
  }
  double bias(int64_t gate, int64_t i) const {
    return operands[3].at({d, gate, i});
  }
  /// Activation f, g or h of `count`; f and g of x within the bounds.
  double f(int64_t which, int64_t count, ActivationKind otherwise,
           double value) {
    if (op.getClip() && which != 2) {
      double clip = op.getClip()->convertToFloat();
      value = std::min(std::max(value, -clip), clip);
    }
    if (!op.getActivations())
      return activate(otherwise, 0, 0, value);
    auto chosen =
        cast<ActivationAttr>((*op.getActivations())[d * count + which]);
    return activate(chosen.getKind(), chosen.getAlpha().convertToDouble(),
                    chosen.getBeta().convertToDouble(), value);
  }
};
} // namespace

static void step(Sample<LSTMOp> &s, std::vector<double> &cell,
                 const Tensor *peephole) {
  auto f = [&](int64_t which, double x) {
    return s.f(which, 3,
               which == 0 ? ActivationKind::Sigmoid : ActivationKind::Tanh, x);
  };
  std::vector<double> next(s.h.size());
  for (int64_t i = 0; i != s.hidden(); ++i) {
    auto gate = [&](int64_t which) {
      return s.fromInput(which, i) + s.fromState(which, i, s.h) +
             s.bias(which, i);
    };
    auto seen = [&](int64_t which) {
      return peephole ? peephole->at({s.d, which, i}) * cell[i] : 0;
    };
    double in = f(0, gate(0) + seen(0));
    double forget = s.op.getInputForget() ? 1 - in : f(0, gate(2) + seen(2));
    cell[i] = forget * cell[i] + in * f(1, gate(3));
    next[i] = f(0, gate(1) + seen(1)) * f(2, cell[i]);
  }
  s.h = next;
}

static void step(Sample<GRUOp> &s, std::vector<double> &, const Tensor *) {
  auto f = [&](int64_t which, double x) {
    return s.f(which, 2,
               which == 0 ? ActivationKind::Sigmoid : ActivationKind::Tanh, x);
  };
  std::vector<double> z(s.h.size()), r(s.h.size()), reset(s.h.size()), next;
  for (int64_t i = 0; i != s.hidden(); ++i) {
    z[i] = f(0, s.fromInput(0, i) + s.fromState(0, i, s.h) + s.bias(0, i));
    r[i] = f(0, s.fromInput(1, i) + s.fromState(1, i, s.h) + s.bias(1, i));
    reset[i] = r[i] * s.h[i];
  }
  for (int64_t i = 0; i != s.hidden(); ++i) {
    double own = s.fromInput(2, i) + s.bias(2, i);
    own += s.op.getLinearBeforeReset()
               ? r[i] * (s.fromState(2, i, s.h) + s.bias(3, i))
               : s.fromState(2, i, reset) + s.bias(3, i);
    next.push_back((1 - z[i]) * f(1, own) + z[i] * s.h[i]);
  }
  s.h = next;
}

static void step(Sample<RNNOp> &s, std::vector<double> &, const Tensor *) {
  std::vector<double> next;
  for (int64_t i = 0; i != s.hidden(); ++i)
    next.push_back(
        s.f(0, 1, ActivationKind::Tanh,
            s.fromInput(0, i) + s.fromState(0, i, s.h) + s.bias(0, i)));
  s.h = next;
}

/// All steps; `cells` (of an LSTM) are the states before and after them.
template <typename Op>
static Tensor run(Op op, ArrayRef<Tensor> operands, Tensor *cells,
                  const Tensor *lengths, const Tensor *peephole) {
  Tensor states(cast<RankedTensorType>(op.getHidden().getType()).getShape());
  auto [steps, directions, batch, hidden] = std::tuple(
      states.shape[0], states.shape[1], states.shape[2], states.shape[3]);
  for (int64_t d = 0; d != directions; ++d)
    for (int64_t n = 0; n != batch; ++n) {
      Sample<Op> sample{op, operands, d, n, 0, {}};
      std::vector<double> cell;
      for (int64_t i = 0; i != hidden; ++i) {
        sample.h.push_back(operands[4].at({d, n, i}));
        cell.push_back(cells ? cells->at({d, n, i}) : 0);
      }
      for (int64_t k = 0; k != steps; ++k) {
        sample.t = op.getReverse() || d == 1 ? steps - 1 - k : k;
        if (!lengths || static_cast<double>(sample.t) < lengths->data[n])
          step(sample, cell, peephole);
        for (int64_t i = 0; i != hidden; ++i)
          states.at({sample.t, d, n, i}) = sample.h[i];
      }
      for (int64_t i = 0; cells && i != hidden; ++i)
        cells->at({d, n, i}) = cell[i];
    }
  return states;
}

std::vector<Tensor> soap::nn::test::evaluateLSTM(LSTMOp op,
                                                 ArrayRef<Tensor> operands) {
  Tensor cells = operands[5];
  const Tensor *lengths = op.getLengths() ? &operands[6] : nullptr;
  const Tensor *peephole = op.getPeephole() ? &operands.back() : nullptr;
  Tensor states = run(op, operands, &cells, lengths, peephole);
  return {states, cells};
}

Tensor soap::nn::test::evaluateGRU(GRUOp op, ArrayRef<Tensor> operands) {
  return run(op, operands, nullptr, op.getLengths() ? &operands[5] : nullptr,
             nullptr);
}

Tensor soap::nn::test::evaluateRNN(RNNOp op, ArrayRef<Tensor> operands) {
  return run(op, operands, nullptr, op.getLengths() ? &operands[5] : nullptr,
             nullptr);
}
