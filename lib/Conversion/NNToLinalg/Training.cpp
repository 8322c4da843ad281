//===- Training.cpp - Optimizers on scalars -------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

namespace {
/// Formulas on numbers of one type.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc, Type type)
      : builder_(builder), loc_(loc), type_(type) {}

  Value number(double value) {
    return builder_.create<arith::ConstantOp>(
        loc_, builder_.getFloatAttr(type_, value));
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value min(Value a, Value b) { return make<arith::MinimumFOp>(a, b); }
  Value max(Value a, Value b) { return make<arith::MaximumFOp>(a, b); }
  Value mul(Value a, double factor) {
    return factor == 1 ? a : mul(a, number(factor));
  }
  /// a + factor * b.
  Value addScaled(Value a, double factor, Value b) {
    return factor == 0 ? a : add(a, mul(b, factor));
  }
  Value sqrt(Value x) { return builder_.create<math::SqrtOp>(loc_, x); }
  Value floor(Value x) { return builder_.create<math::FloorOp>(loc_, x); }
  Value cos(Value x) { return builder_.create<math::CosOp>(loc_, x); }
  Value pow(double base, Value exponent) {
    return builder_.create<math::PowFOp>(loc_, number(base), exponent);
  }

private:
  template <typename Op>
  Value make(Value a, Value b) {
    return builder_.create<Op>(loc_, a, b);
  }

  OpBuilder &builder_;
  Location loc_;
  Type type_;
};
} // namespace

static double toDouble(const APFloat &number) {
  return number.convertToDouble();
}

/// What is left of the learning rate after `steps` steps behind the warm-up.
static Value decayAfter(Formula &f, nn::ScheduleOp op, Value steps) {
  auto period = static_cast<double>(static_cast<int64_t>(op.getPeriod()));
  Value periods = f.div(steps, f.number(period));
  Value part = f.min(f.number(1), periods);
  switch (op.getKind()) {
  case nn::ScheduleKind::Constant:
    return f.number(1);
  case nn::ScheduleKind::Step:
    return f.pow(toDouble(op.getFactor()), f.floor(periods));
  case nn::ScheduleKind::Cosine:
    return f.mul(f.add(f.cos(f.mul(part, llvm::numbers::pi)), f.number(1)),
                 0.5);
  case nn::ScheduleKind::Linear:
    return f.sub(f.number(1), part);
  }
  llvm_unreachable("an unknown schedule");
}

static SmallVector<Value> compute(OpBuilder &builder, Location loc,
                                  nn::ScheduleOp op, ValueRange elements) {
  Type f64 = builder.getF64Type();
  Type element = tensorType(op.getLearningRate()).getElementType();
  Value before = elements.empty()
                     ? scalar(builder, loc, builder.getI64Type(), 0)
                     : elements[0];
  Value number = builder.create<arith::AddIOp>(
      loc, before, scalar(builder, loc, builder.getI64Type(), 1));
  Formula f(builder, loc, f64);
  Value n = builder.create<arith::SIToFPOp>(loc, f64, number);
  auto warmup = static_cast<double>(static_cast<int64_t>(op.getWarmup()));
  Value steps = f.max(f.number(0), f.sub(n, f.number(warmup + 1)));
  Value rate = f.mul(decayAfter(f, op, steps), toDouble(op.getRate()));
  if (warmup > 0)
    rate = f.mul(rate, f.min(f.number(1), f.div(n, f.number(warmup))));
  SmallVector<Value> results{number};
  for (Value result :
       {rate, f.sub(f.number(1), f.pow(toDouble(op.getBeta1()), n)),
        f.sub(f.number(1), f.pow(toDouble(op.getBeta2()), n))})
    results.push_back(element == f64 ? result
                                     : Value(builder.create<arith::TruncFOp>(
                                           loc, element, result)));
  return results;
}

static SmallVector<Value> compute(OpBuilder &builder, Location loc,
                                  nn::SGDOp op, ValueRange elements) {
  Formula f(builder, loc, elements[0].getType());
  Value w = elements[0], g = elements[1], rate = elements[2];
  if (elements.size() > 3)
    g = f.mul(g, elements[3]);
  g = f.addScaled(g, toDouble(op.getWeightDecay()), w);
  return {f.sub(w, f.mul(rate, g))};
}

static SmallVector<Value> compute(OpBuilder &builder, Location loc,
                                  nn::MomentumOp op, ValueRange elements) {
  Formula f(builder, loc, elements[0].getType());
  Value w = elements[0], g = elements[1], rate = elements[3];
  if (elements.size() > 4)
    g = f.mul(g, elements[4]);
  g = f.addScaled(g, toDouble(op.getWeightDecay()), w);
  double momentum = toDouble(op.getMomentum());
  Value velocity = f.addScaled(g, momentum, elements[2]);
  Value direction =
      op.getNesterov() ? f.addScaled(g, momentum, velocity) : velocity;
  return {f.sub(w, f.mul(rate, direction)), velocity};
}

static SmallVector<Value> compute(OpBuilder &builder, Location loc,
                                  nn::AdamOp op, ValueRange elements) {
  Formula f(builder, loc, elements[0].getType());
  Value w = elements[0], g = elements[1], rate = elements[4];
  if (elements.size() > 7)
    g = f.mul(g, elements[7]);
  double decay = toDouble(op.getWeightDecay());
  double beta1 = toDouble(op.getBeta1()), beta2 = toDouble(op.getBeta2());
  if (!op.getDecoupled())
    g = f.addScaled(g, decay, w);
  else if (decay != 0)
    w = f.sub(w, f.mul(f.mul(rate, decay), w));
  Value mean = f.addScaled(f.mul(g, 1 - beta1), beta1, elements[2]);
  Value variance =
      f.addScaled(f.mul(f.mul(g, g), 1 - beta2), beta2, elements[3]);
  Value deviation = f.add(f.sqrt(f.div(variance, elements[6])),
                          f.number(toDouble(op.getEpsilon())));
  Value direction = f.div(f.div(mean, elements[5]), deviation);
  return {f.sub(w, f.mul(rate, direction)), mean, variance};
}

/// Where the scale of the gradient is 0, the old values in place of the new
/// ones: 0 times a gradient that is not finite is NaN.
static SmallVector<Value> unlessSkipped(OpBuilder &builder, Location loc,
                                        SmallVector<Value> made,
                                        ValueRange elements, Value scale) {
  Value isSkipped =
      builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, scale,
                                    scalar(builder, loc, scale.getType(), 0));
  for (auto [index, value] : llvm::enumerate(made)) {
    // The parameter, and behind the gradient its state.
    Value old = elements[index == 0 ? 0 : index + 1];
    value = builder.create<arith::SelectOp>(loc, isSkipped, old, value);
  }
  return made;
}

SmallVector<Value> linalg_lowering::computeUpdate(OpBuilder &builder,
                                                  Location loc, Operation *op,
                                                  ValueRange elements) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<nn::SGDOp, nn::MomentumOp, nn::AdamOp>([&](auto typed) {
        SmallVector<Value> made = compute(builder, loc, typed, elements);
        return typed.getScale() ? unlessSkipped(builder, loc, made, elements,
                                                elements.back())
                                : made;
      })
      .Case([&](nn::ScheduleOp schedule) {
        return compute(builder, loc, schedule, elements);
      })
      .Case([&](nn::WriteOp) { return SmallVector<Value>{elements[0]}; })
      .Default(SmallVector<Value>());
}
