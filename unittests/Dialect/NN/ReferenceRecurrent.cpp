//===- ReferenceRecurrent.cpp - Naive recurrent layers --------------------===//
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

//===----------------------------------------------------------------------===//
// Numbers that know a derivative
//===----------------------------------------------------------------------===//

namespace {
/// A number and its derivative by something.
struct Dual {
  double value = 0, slope = 0;

  Dual() = default;
  Dual(double value, double slope = 0) : value(value), slope(slope) {}
};

Dual operator+(Dual a, Dual b) {
  return {a.value + b.value, a.slope + b.slope};
}
Dual operator-(Dual a, Dual b) {
  return {a.value - b.value, a.slope - b.slope};
}
Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
Dual operator/(Dual a, Dual b) {
  double ratio = a.value / b.value;
  return {ratio, (a.slope - ratio * b.slope) / b.value};
}
Dual exp(Dual x) { return {std::exp(x.value), std::exp(x.value) * x.slope}; }
Dual log(Dual x) { return {std::log(x.value), x.slope / x.value}; }
Dual tanh(Dual x) {
  double y = std::tanh(x.value);
  return {y, (1 - y * y) * x.slope};
}
double valueOf(double x) { return x; }
double valueOf(Dual x) { return x.value; }
} // namespace

/// ONNX's activations.
template <typename Number>
static Number activate(ActivationKind kind, double alpha, double beta,
                       Number x) {
  using std::exp;
  using std::log;
  using std::tanh;
  double value = valueOf(x);
  Number a = alpha, b = beta, one = 1.0, zero = 0.0;
  switch (kind) {
  case ActivationKind::Relu:
    return value > 0 ? x : zero;
  case ActivationKind::Tanh:
    return tanh(x);
  case ActivationKind::Sigmoid:
    return one / (one + exp(zero - x));
  case ActivationKind::Affine:
    return a * x + b;
  case ActivationKind::LeakyRelu:
    return value >= 0 ? x : a * x;
  case ActivationKind::ThresholdedRelu:
    return value >= alpha ? x : zero;
  case ActivationKind::ScaledTanh:
    return a * tanh(b * x);
  case ActivationKind::HardSigmoid: {
    Number line = a * x + b;
    return valueOf(line) <= 0 ? zero : valueOf(line) >= 1 ? one : line;
  }
  case ActivationKind::Elu:
    return value >= 0 ? x : a * (exp(x) - one);
  case ActivationKind::Softsign:
    return x / (one + (value < 0 ? zero - x : x));
  case ActivationKind::Softplus:
    return log(one + exp(x));
  }
  return x;
}

//===----------------------------------------------------------------------===//
// One sample
//===----------------------------------------------------------------------===//

namespace {
/// What derivatives are by: of one sample and direction, the sum of inputs in a
/// gate of step t, or the product of the state with the weight there; a
/// peephole; a first state.
struct By {
  enum Kind { Nothing, Inputs, Product, Peephole, Hidden, Cell } kind = Nothing;
  int64_t unit = 0, gate = 0, t = 0;
};

/// One sample of one direction.
template <typename Op, typename Number>
struct Sample {
  mutable Op op;
  ArrayRef<Tensor> operands;
  int64_t d, n;
  const Tensor *peephole = nullptr;
  By by = {};
  int64_t t = 0;
  std::vector<Number> h = {}, cell = {};

  const Tensor &x() const { return operands[0]; }
  int64_t hidden() const { return operands[1].shape[2]; }

  /// 0, whose derivative by this is 1 if derivatives are by it.
  Number seed(By::Kind kind, int64_t unit, int64_t gate = 0) const {
    if constexpr (std::is_same_v<Number, Dual>)
      return {0, double(kind == by.kind && unit == by.unit && gate == by.gate &&
                        (kind > By::Product || t == by.t))};
    return 0.0;
  }

  /// W x_t of a gate.
  Number fromInput(int64_t gate, int64_t i) const {
    double sum = 0;
    for (int64_t k = 0; k != x().shape[2]; ++k)
      sum += x().at({t, n, k}) * operands[1].at({d, gate, i, k});
    return seed(By::Inputs, i, gate) + sum;
  }
  /// R times some state, of a gate.
  Number fromState(int64_t gate, int64_t i, ArrayRef<Number> state) const {
    Number sum = seed(By::Product, i, gate);
    for (int64_t k = 0; k != hidden(); ++k)
      sum = sum + state[k] * Number(operands[2].at({d, gate, i, k}));
    return sum;
  }
  Number bias(int64_t gate, int64_t i) const {
    return operands[3].at({d, gate, i});
  }
  /// What a gate reads of a cell state.
  Number seen(int64_t which, int64_t i, Number state) const {
    if (!peephole)
      return 0.0;
    return (seed(By::Peephole, i, which) + peephole->at({d, which, i})) * state;
  }
  /// Activation f, g or h of `count`; f and g of x within the bounds.
  Number f(int64_t which, int64_t count, ActivationKind otherwise,
           Number value) const {
    if (op.getClip() && which != 2) {
      double clip = op.getClip()->convertToFloat();
      if (std::abs(valueOf(value)) > clip)
        value = valueOf(value) < 0 ? -clip : clip;
    }
    if (!op.getActivations())
      return activate(otherwise, 0, 0, value);
    auto chosen =
        cast<ActivationAttr>((*op.getActivations())[d * count + which]);
    return activate(chosen.getKind(), chosen.getAlpha().convertToDouble(),
                    chosen.getBeta().convertToDouble(), value);
  }
  /// The gates of an LSTM or GRU have two kinds of activations.
  Number f(int64_t which, int64_t count, Number value) const {
    return f(which, count,
             which == 0 ? ActivationKind::Sigmoid : ActivationKind::Tanh,
             value);
  }
};
} // namespace

template <typename Op, typename Number>
static void stepOfLSTM(Sample<Op, Number> &s) {
  std::vector<Number> next;
  for (int64_t i = 0; i != s.hidden(); ++i) {
    auto gate = [&](int64_t which) {
      return s.fromInput(which, i) + s.fromState(which, i, s.h) +
             s.bias(which, i);
    };
    Number &cell = s.cell[i];
    Number in = s.f(0, 3, gate(0) + s.seen(0, i, cell));
    Number forget = s.op.getInputForget()
                        ? Number(1.0) - in
                        : s.f(0, 3, gate(2) + s.seen(2, i, cell));
    cell = forget * cell + in * s.f(1, 3, gate(3));
    next.push_back(s.f(0, 3, gate(1) + s.seen(1, i, cell)) * s.f(2, 3, cell));
  }
  s.h = next;
}

/// Of all units.
template <typename Op, typename Number>
static std::vector<Number> resetOf(const Sample<Op, Number> &s) {
  std::vector<Number> r;
  for (int64_t i = 0; i != s.hidden(); ++i)
    r.push_back(
        s.f(0, 2, s.fromInput(1, i) + s.fromState(1, i, s.h) + s.bias(1, i)));
  return r;
}

template <typename Op, typename Number>
static void stepOfGRU(Sample<Op, Number> &s) {
  std::vector<Number> r = resetOf(s), reset, next;
  for (int64_t i = 0; i != s.hidden(); ++i)
    reset.push_back(r[i] * s.h[i]);
  for (int64_t i = 0; i != s.hidden(); ++i) {
    Number z =
        s.f(0, 2, s.fromInput(0, i) + s.fromState(0, i, s.h) + s.bias(0, i));
    Number own = s.fromInput(2, i) + s.bias(2, i);
    own = own + (s.op.getLinearBeforeReset()
                     ? r[i] * (s.fromState(2, i, s.h) + s.bias(3, i))
                     : s.fromState(2, i, reset) + s.bias(3, i));
    next.push_back((Number(1.0) - z) * s.f(1, 2, own) + z * s.h[i]);
  }
  s.h = next;
}

template <typename Op, typename Number>
static void step(Sample<Op, Number> &s) {
  if constexpr (std::is_same_v<Op, LSTMOp> ||
                std::is_same_v<Op, LSTMBackwardOp>) {
    stepOfLSTM(s);
  } else if constexpr (std::is_same_v<Op, GRUOp> ||
                       std::is_same_v<Op, GRUBackwardOp>) {
    stepOfGRU(s);
  } else {
    std::vector<Number> next;
    for (int64_t i = 0; i != s.hidden(); ++i)
      next.push_back(
          s.f(0, 1, ActivationKind::Tanh,
              s.fromInput(0, i) + s.fromState(0, i, s.h) + s.bias(0, i)));
    s.h = next;
  }
}

/// Runs the steps of a sample, and calls `behind` after each.
template <typename Op, typename Number>
static void runSample(Sample<Op, Number> &s, const Tensor *firstCell,
                      const Tensor *lengths,
                      llvm::function_ref<void()> behind) {
  for (int64_t i = 0; i != s.hidden(); ++i) {
    s.h.push_back(s.seed(By::Hidden, i) + s.operands[4].at({s.d, s.n, i}));
    if (firstCell)
      s.cell.push_back(s.seed(By::Cell, i) + firstCell->at({s.d, s.n, i}));
  }
  int64_t steps = s.x().shape[0];
  for (int64_t k = 0; k != steps; ++k) {
    s.t = s.op.getReverse() || s.d == 1 ? steps - 1 - k : k;
    if (!lengths || static_cast<double>(s.t) < lengths->data[s.n])
      step(s);
    behind();
  }
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// All steps; `cells` (of an LSTM) are the states before and after them.
template <typename Op>
static Tensor run(Op op, ArrayRef<Tensor> operands, Tensor *cells,
                  const Tensor *lengths, const Tensor *peephole) {
  Tensor states(cast<RankedTensorType>(op.getHidden().getType()).getShape());
  for (int64_t d = 0; d != states.shape[1]; ++d)
    for (int64_t n = 0; n != states.shape[2]; ++n) {
      Sample<Op, double> sample{op, operands, d, n, peephole};
      runSample(sample, cells, lengths, [&] {
        for (int64_t i = 0; i != sample.hidden(); ++i)
          states.at({sample.t, d, n, i}) = sample.h[i];
      });
      for (int64_t i = 0; cells && i != sample.hidden(); ++i)
        cells->at({d, n, i}) = sample.cell[i];
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

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// Gradients of a layer, one by one: the steps run again for each, with
/// derivatives by it.
template <typename Op>
class Backward {
public:
  Backward(Op op, ArrayRef<Tensor> operands, size_t numHidden)
      : op_(op), operands_(operands), hidden_(operands[numHidden]),
        dHidden_(operands[numHidden + 1]) {
    if (op.getLengths())
      lengths_ = &operands[op->getNumOperands() - 1];
    for (Value result : op->getResults())
      results.emplace_back(cast<RankedTensorType>(result.getType()).getShape());
  }

  void setCells(const Tensor &first, const Tensor &dLast) {
    first_ = &first;
    dLast_ = &dLast;
  }
  void setPeephole(const Tensor &peephole) {
    peephole_ = &peephole;
    if (lengths_)
      --lengths_;
  }

  /// Calls `body(d, n, t)`.
  void
  forEachStep(llvm::function_ref<void(int64_t, int64_t, int64_t)> body) const {
    for (int64_t d = 0; d != hidden_.shape[1]; ++d)
      for (int64_t n = 0; n != hidden_.shape[2]; ++n)
        for (int64_t t = 0; t != hidden_.shape[0]; ++t)
          body(d, n, t);
  }

  /// The derivative of the sum of results times their gradients, by `by`.
  double derivative(int64_t d, int64_t n, By by) const {
    Sample<Op, Dual> s{op_, operands_, d, n, peephole_, by};
    double sum = 0;
    runSample(s, first_, lengths_, [&] {
      for (int64_t i = 0; i != s.hidden(); ++i) {
        sum += s.h[i].slope * dHidden_.at({s.t, d, n, i});
        // The states are given.
        s.h[i].value = hidden_.at({s.t, d, n, i});
      }
    });
    for (int64_t i = 0; dLast_ && i != s.hidden(); ++i)
      sum += s.cell[i].slope * dLast_->at({d, n, i});
    return sum;
  }

  /// The state before a step.
  Sample<Op, double> before(int64_t d, int64_t n, int64_t t) const {
    Sample<Op, double> s{op_, operands_, d, n, nullptr, {}, t};
    int64_t from = op_.getReverse() || d == 1 ? t + 1 : t - 1;
    bool isFirst = from < 0 || from == hidden_.shape[0];
    for (int64_t i = 0; i != s.hidden(); ++i)
      s.h.push_back(isFirst ? operands_[4].at({d, n, i})
                            : hidden_.at({from, d, n, i}));
    return s;
  }

  /// Gates and states, the first two results of all, and the gradients of the
  /// first hidden state in result `first`.
  void run(unsigned first) {
    forEachStep([&](int64_t d, int64_t n, int64_t t) {
      Sample<Op, double> s = before(d, n, t);
      for (int64_t i = 0; i != s.hidden(); ++i) {
        for (int64_t gate = 0; gate != results[0].shape[3]; ++gate)
          results[0].at({d, n, t, gate, i}) =
              derivative(d, n, {By::Inputs, i, gate, t});
        results[1].at({d, n, t, i}) = s.h[i];
        results[first].at({d, n, i}) = derivative(d, n, {By::Hidden, i});
      }
    });
  }

  std::vector<Tensor> results;

private:
  mutable Op op_;
  ArrayRef<Tensor> operands_;
  const Tensor &hidden_, &dHidden_;
  const Tensor *lengths_ = nullptr, *first_ = nullptr, *dLast_ = nullptr;
  const Tensor *peephole_ = nullptr;
};
} // namespace

std::vector<Tensor>
soap::nn::test::evaluateLSTMBackward(LSTMBackwardOp op,
                                     ArrayRef<Tensor> operands) {
  Backward back(op, operands, 6);
  back.setCells(operands[5], operands[8]);
  if (op.getPeephole())
    back.setPeephole(operands.back());
  back.run(2);
  Tensor &dCell = back.results[3];
  forEachIndex(dCell.shape, [&](ArrayRef<int64_t> at) {
    dCell.at(at) = back.derivative(at[0], at[1], {By::Cell, at[2]});
    for (int64_t which = 0; op.getPeephole() && which != 3; ++which)
      back.results[4].at({at[0], which, at[2]}) +=
          back.derivative(at[0], at[1], {By::Peephole, at[2], which});
  });
  return back.results;
}

std::vector<Tensor>
soap::nn::test::evaluateGRUBackward(GRUBackwardOp op,
                                    ArrayRef<Tensor> operands) {
  Backward back(op, operands, 5);
  back.run(3);
  back.forEachStep([&](int64_t d, int64_t n, int64_t t) {
    Sample<GRUBackwardOp, double> s = back.before(d, n, t);
    std::vector<double> r = resetOf(s);
    for (int64_t i = 0; i != s.hidden(); ++i)
      back.results[2].at({d, n, t, i}) =
          op.getLinearBeforeReset()
              ? back.derivative(d, n, {By::Product, i, 2, t})
              : r[i] * s.h[i];
  });
  return back.results;
}

std::vector<Tensor>
soap::nn::test::evaluateRNNBackward(RNNBackwardOp op,
                                    ArrayRef<Tensor> operands) {
  Backward back(op, operands, 5);
  back.run(2);
  return back.results;
}
