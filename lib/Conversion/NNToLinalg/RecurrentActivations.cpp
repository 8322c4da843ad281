//===- RecurrentActivations.cpp - Activations of recurrent layers ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardLayer.h"
#include "RecurrentLayer.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

/// ONNX's activations, of one number.
static Value activation(OpBuilder &builder, Location loc, Value x,
                        const Activation &activation) {
  auto [kind, alpha, beta] = activation;
  Scalars s{builder, loc};
  auto number = [&](double value) { return s.number(x, value); };
  auto exp = [&](Value a) -> Value {
    return builder.create<math::ExpOp>(loc, a);
  };
  /// `a` where x `predicate` bound holds, else `b`.
  auto choose = [&](arith::CmpFPredicate predicate, double bound, Value a,
                    Value b) -> Value {
    Value holds =
        builder.create<arith::CmpFOp>(loc, predicate, x, number(bound));
    return builder.create<arith::SelectOp>(loc, holds, a, b);
  };
  using P = arith::CmpFPredicate;
  using K = nn::ActivationKind;
  switch (kind) {
  case K::Relu:
    return choose(P::OLT, 0, number(0), x);
  case K::Tanh:
    return builder.create<math::TanhOp>(loc, x);
  case K::Sigmoid:
    return sigmoid(builder, loc, x);
  case K::Affine:
    return s.add(s.mul(number(alpha), x), number(beta));
  case K::LeakyRelu:
    return choose(P::OLT, 0, s.mul(number(alpha), x), x);
  case K::ThresholdedRelu:
    return choose(P::OLT, alpha, number(0), x);
  case K::ScaledTanh:
    return s.mul(number(alpha),
                 builder.create<math::TanhOp>(loc, s.mul(number(beta), x)));
  case K::HardSigmoid: {
    Value line = s.add(s.mul(number(alpha), x), number(beta));
    Value low = builder.create<arith::MaximumFOp>(loc, line, number(0));
    return builder.create<arith::MinimumFOp>(loc, low, number(1));
  }
  case K::Elu:
    return choose(P::OLT, 0, s.mul(number(alpha), s.add(exp(x), number(-1))),
                  x);
  case K::Softsign: {
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    return builder.create<arith::DivFOp>(loc, x, s.add(number(1), magnitude));
  }
  case K::Softplus: {
    // log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which does not overflow.
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    Value small = exp(builder.create<arith::NegFOp>(loc, magnitude));
    return s.add(choose(P::OLT, 0, number(0), x),
                 builder.create<math::Log1pOp>(loc, small));
  }
  }
  return x;
}

/// The derivative of an activation at x, where its value is y. Where there is
/// none: 0 for Relu and HardSigmoid, else what it is to the right.
static Value slope(OpBuilder &builder, Location loc, Value x, Value y,
                   const Activation &activation) {
  auto [kind, alpha, beta] = activation;
  Scalars s{builder, loc};
  auto number = [&](double value) { return s.number(x, value); };
  auto choose = [&](arith::CmpFPredicate predicate, Value value, double bound,
                    Value a, Value b) -> Value {
    Value holds =
        builder.create<arith::CmpFOp>(loc, predicate, value, number(bound));
    return builder.create<arith::SelectOp>(loc, holds, a, b);
  };
  using P = arith::CmpFPredicate;
  using K = nn::ActivationKind;
  switch (kind) {
  case K::Relu:
    return choose(P::OGT, x, 0, number(1), number(0));
  case K::Tanh:
    return s.rest(s.mul(y, y));
  case K::Sigmoid:
    return s.mul(y, s.rest(y));
  case K::Affine:
    return number(alpha);
  case K::LeakyRelu:
    return choose(P::OLT, x, 0, number(alpha), number(1));
  case K::ThresholdedRelu:
    return choose(P::OLT, x, alpha, number(0), number(1));
  case K::ScaledTanh: {
    Value t = builder.create<math::TanhOp>(loc, s.mul(number(beta), x));
    return s.mul(number(alpha * beta), s.rest(s.mul(t, t)));
  }
  case K::HardSigmoid: {
    Value isAbove = choose(P::OGT, y, 0, number(alpha), number(0));
    return choose(P::OLT, y, 1, isAbove, number(0));
  }
  case K::Elu:
    return choose(P::OLT, x, 0,
                  s.mul(number(alpha), builder.create<math::ExpOp>(loc, x)),
                  number(1));
  case K::Softsign: {
    Value magnitude = builder.create<math::AbsFOp>(loc, x);
    Value sum = s.add(magnitude, number(1));
    return builder.create<arith::DivFOp>(loc, number(1), s.mul(sum, sum));
  }
  case K::Softplus:
    return sigmoid(builder, loc, x);
  }
  return x;
}

std::pair<Value, Value> Layer::activateWithSlope(OpBuilder &nested,
                                                 Location location, Value value,
                                                 Place place) {
  Activation chosen = activationAt(place);
  Value within = bounded(nested, location, value, place);
  Value result = activation(nested, location, within, chosen);
  Value derivative = slope(nested, location, within, result, chosen);
  if (within != value) {
    // 1 at the bounds themselves, as for nn.clip.
    Value isWithin = nested.create<arith::CmpFOp>(
        location, arith::CmpFPredicate::OEQ, within, value);
    derivative = nested.create<arith::SelectOp>(
        location, isWithin, derivative,
        scalar(nested, location, value.getType(), 0));
  }
  return {result, derivative};
}

Activation Layer::activationAt(Place place) {
  if (!activations)
    return {place.otherwise, 0, 0};
  auto attribute = cast<nn::ActivationAttr>(
      activations[knownDirection * place.count + place.which]);
  return {attribute.getKind(), attribute.getAlpha().convertToDouble(),
          attribute.getBeta().convertToDouble()};
}

Value Layer::bounded(OpBuilder &nested, Location location, Value value,
                     Place place) {
  // The third activation, that of an LSTM's cell, is not one of a gate.
  if (!clip || place.which == 2)
    return value;
  Type type = value.getType();
  value = nested.create<arith::MaximumFOp>(
      location, value, scalar(nested, location, type, -*clip));
  return nested.create<arith::MinimumFOp>(
      location, value, scalar(nested, location, type, *clip));
}

Value Layer::activate(OpBuilder &nested, Location location, Value value,
                      Place place) {
  return activation(nested, location, bounded(nested, location, value, place),
                    activationAt(place));
}
