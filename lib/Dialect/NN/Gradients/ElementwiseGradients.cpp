//===- ElementwiseGradients.cpp - Gradients of operations per element -----===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSupport.h"
#include "soap/Dialect/NN/IR/NNTraining.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace soap;
using namespace soap::nn;
using llvm::BitVector;
using Build = GradientBuilder;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// The derivative of a function of one element, for x and y = f(x).
using Derivative = Value (*)(Build &b, Value x, Value y);

/// dx = dy * f'(x).
template <typename Op, Derivative derivative>
static MaybeGradients timesDerivative(Op op, Build &b, ArrayRef<Value> results,
                                      const BitVector &) {
  return Gradients{b.mul(results[0], derivative(b, op.getX(), op.getResult()))};
}

template <typename Op, Derivative derivative>
static void attachDerivative(MLIRContext *context) {
  Op::template attachInterface<
      GradientModel<Op, timesDerivative<Op, derivative>>>(*context);
}

static Value square(Build &b, Value x) { return b.mul(x, x); }
/// number - x.
static Value from(Build &b, double number, Value x) {
  return b.sub(b.scalar(elementType(x), number), x);
}

static Value sigmoidOf(Build &b, Value, Value y) {
  return b.mul(y, from(b, 1, y));
}
static Value tanhOf(Build &b, Value, Value y) {
  return from(b, 1, square(b, y));
}
static Value sqrtOf(Build &b, Value, Value y) {
  return b.div(b.scalar(elementType(y), 0.5), y);
}
static Value expOf(Build &, Value, Value y) { return y; }
static Value logOf(Build &b, Value x, Value) {
  return b.unary<ReciprocalOp>(x);
}
static Value erfOf(Build &b, Value x, Value) {
  Value bell = b.unary<ExpOp>(b.unary<NegOp>(square(b, x)));
  return b.mul(bell, 2 * llvm::numbers::inv_sqrtpi);
}
static Value sinOf(Build &b, Value x, Value) { return b.unary<CosOp>(x); }
static Value cosOf(Build &b, Value x, Value) {
  return b.unary<NegOp>(b.unary<SinOp>(x));
}
static Value tanOf(Build &b, Value, Value y) { return b.add(square(b, y), 1); }
static Value asinOf(Build &b, Value x, Value) {
  return b.pow(from(b, 1, square(b, x)), -0.5);
}
static Value acosOf(Build &b, Value x, Value y) {
  return b.unary<NegOp>(asinOf(b, x, y));
}
static Value atanOf(Build &b, Value x, Value) {
  return b.unary<ReciprocalOp>(b.add(square(b, x), 1));
}
static Value sinhOf(Build &b, Value x, Value) { return b.unary<CoshOp>(x); }
static Value coshOf(Build &b, Value x, Value) { return b.unary<SinhOp>(x); }
static Value asinhOf(Build &b, Value x, Value) {
  return b.pow(b.add(square(b, x), 1), -0.5);
}
static Value acoshOf(Build &b, Value x, Value) {
  return b.pow(b.add(square(b, x), -1), -0.5);
}
static Value atanhOf(Build &b, Value x, Value) {
  return b.unary<ReciprocalOp>(from(b, 1, square(b, x)));
}
static Value reciprocalOf(Build &b, Value, Value y) {
  return b.unary<NegOp>(square(b, y));
}
static Value absOf(Build &b, Value x, Value) { return b.unary<SignOp>(x); }

/// Exactly: P(x) + x p(x) with the normal distribution's P and its density p.
/// Approximately, with t = tanh(u(x)): (1 + t) / 2 + x (1 - t^2) u'(x) / 2.
static MaybeGradients gelu(GeluOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  Value x = op.getX(), derivative;
  if (!op.getApproximate()) {
    Value probability = b.mul(
        b.add(b.unary<ErfOp>(b.mul(x, 1 / llvm::numbers::sqrt2)), 1), 0.5);
    Value density = b.mul(b.unary<ExpOp>(b.mul(square(b, x), -0.5)),
                          llvm::numbers::inv_sqrtpi / llvm::numbers::sqrt2);
    derivative = b.add(probability, b.mul(x, density));
  } else {
    constexpr double cubic = 0.044715;
    double factor = llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
    Value squared = square(b, x);
    Value t = b.unary<TanhOp>(
        b.mul(b.mul(x, b.add(b.mul(squared, cubic), 1)), factor));
    Value inner = b.mul(b.add(b.mul(squared, 3 * cubic), 1), factor);
    Value slope = b.mul(from(b, 1, square(b, t)), b.mul(x, inner));
    derivative = b.mul(b.add(b.add(t, 1), slope), 0.5);
  }
  return Gradients{b.mul(results[0], derivative)};
}

/// 0 where x is 0, as other frameworks have it.
static MaybeGradients relu(ReluOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  Value zero = b.scalar(elementType(op.getX()), 0);
  Value isPositive = b.compare(Predicate::Gt, op.getResult(), zero);
  return Gradients{b.where(isPositive, results[0], zero)};
}

/// 1 at the bounds themselves, as other frameworks have it.
static MaybeGradients clip(ClipOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  Type element = elementType(op.getX());
  Value gradient = results[0], zero = b.scalar(element, 0);
  double least = op.getMin().convertToDouble();
  double most = op.getMax().convertToDouble();
  if (!std::isinf(least))
    gradient =
        b.where(b.compare(Predicate::Ge, op.getX(), b.scalar(element, least)),
                gradient, zero);
  if (!std::isinf(most))
    gradient =
        b.where(b.compare(Predicate::Le, op.getX(), b.scalar(element, most)),
                gradient, zero);
  return Gradients{gradient};
}

/// Functions that are constant between jumps have the derivative 0.
template <typename Op>
static MaybeGradients nothing(Op, Build &, ArrayRef<Value>, const BitVector &) {
  return Gradients{Value()};
}

static MaybeGradients neg(NegOp, Build &b, ArrayRef<Value> results,
                          const BitVector &) {
  return Gradients{b.unary<NegOp>(results[0])};
}

static MaybeGradients cast(CastOp op, Build &b, ArrayRef<Value> results,
                           const BitVector &) {
  Type from = elementType(op.getX());
  if (!isa<FloatType>(from) || !isa<FloatType>(elementType(op.getResult())))
    return Gradients{Value()};
  return Gradients{b.convert(results[0], from)};
}

static MaybeGradients expand(ExpandOp op, Build &b, ArrayRef<Value> results,
                             const BitVector &) {
  return Gradients{b.sumToShape(results[0], op.getX().getType())};
}

//===----------------------------------------------------------------------===//
// Several operands, which broadcast
//===----------------------------------------------------------------------===//

/// Gradients of operands a and b, where needed: what `ofA` and `ofB` make in
/// the shape of the result, summed over what was broadcast.
static Gradients broadcastGradients(Operation *op, Build &b,
                                    const BitVector &isNeeded,
                                    llvm::function_ref<Value()> ofA,
                                    llvm::function_ref<Value()> ofB) {
  Gradients result(2);
  if (isNeeded[0])
    result[0] = b.sumToShape(ofA(), op->getOperand(0).getType());
  if (isNeeded[1])
    result[1] = b.sumToShape(ofB(), op->getOperand(1).getType());
  return result;
}

static MaybeGradients add(AddOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  auto dy = [&] { return results[0]; };
  return broadcastGradients(op, b, isNeeded, dy, dy);
}

static MaybeGradients sub(SubOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  return broadcastGradients(
      op, b, isNeeded, [&] { return results[0]; },
      [&] { return b.unary<NegOp>(results[0]); });
}

static MaybeGradients mul(MulOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  return broadcastGradients(
      op, b, isNeeded, [&] { return b.mul(results[0], op.getB()); },
      [&] { return b.mul(results[0], op.getA()); });
}

static MaybeGradients div(DivOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  return broadcastGradients(
      op, b, isNeeded, [&] { return b.div(results[0], op.getB()); },
      [&] {
        return b.unary<NegOp>(
            b.div(b.mul(results[0], op.getResult()), op.getB()));
      });
}

/// For b, the gradient is 0 where a is 0 or less: a^b is real there for some b
/// only.
static MaybeGradients pow(PowOp op, Build &b, ArrayRef<Value> results,
                          const BitVector &isNeeded) {
  Value zero = b.scalar(elementType(op.getA()), 0);
  return broadcastGradients(
      op, b, isNeeded,
      [&] {
        Value lower = b.pow(op.getA(), b.add(op.getB(), -1));
        Value slope = b.mul(op.getB(), lower);
        // The derivative of x^0 is 0, also at 0.
        Value isFlat = b.compare(Predicate::Eq, op.getB(), zero);
        return b.mul(results[0], b.where(isFlat, zero, slope));
      },
      [&] {
        Value isPositive = b.compare(Predicate::Gt, op.getA(), zero);
        Value one = b.scalar(elementType(op.getA()), 1);
        Value base = b.where(isPositive, op.getA(), one);
        return b.mul(results[0], b.mul(op.getResult(), b.unary<LogOp>(base)));
      });
}

/// Where operands are equal, each takes half.
template <typename Op>
static MaybeGradients extreme(Op op, Build &b, ArrayRef<Value> results,
                              const BitVector &isNeeded) {
  constexpr Predicate wins =
      std::is_same_v<Op, MaxOp> ? Predicate::Gt : Predicate::Lt;
  auto gradient = [&](Value mine, Value other) {
    Value zero = b.scalar(elementType(mine), 0);
    Value shared = b.where(b.compare(Predicate::Eq, mine, other),
                           b.mul(results[0], 0.5), zero);
    return b.where(b.compare(wins, mine, other), results[0], shared);
  };
  return broadcastGradients(
      op, b, isNeeded, [&] { return gradient(op.getA(), op.getB()); },
      [&] { return gradient(op.getB(), op.getA()); });
}

static MaybeGradients where(WhereOp op, Build &b, ArrayRef<Value> results,
                            const BitVector &isNeeded) {
  Value zero = b.scalar(elementType(op.getResult()), 0);
  Gradients gradients(3);
  if (isNeeded[1])
    gradients[1] = b.sumToShape(b.where(op.getCondition(), results[0], zero),
                                op.getA().getType());
  if (isNeeded[2])
    gradients[2] = b.sumToShape(b.where(op.getCondition(), zero, results[0]),
                                op.getB().getType());
  return gradients;
}

/// The mask is drawn again.
static MaybeGradients dropout(DropoutOp op, Build &b, ArrayRef<Value> results,
                              const BitVector &) {
  Gradients gradients(op->getNumOperands());
  gradients[0] =
      b.join(b.create<DropoutOp>(results[0].getType(), results[0], op.getStep(),
                                 op.getRatio(), op.getSeed(),
                                 op.getOffsetsAttr(), op.getGlobalShapeAttr()),
             b.sameLoops());
  return gradients;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename Op, MaybeGradients (*build)(Op, Build &, ArrayRef<Value>,
                                               const BitVector &)>
static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, build>>(*context);
}

void soap::nn::attachElementwiseGradients(MLIRContext *context) {
  attachDerivative<SigmoidOp, sigmoidOf>(context);
  attachDerivative<TanhOp, tanhOf>(context);
  attachDerivative<SqrtOp, sqrtOf>(context);
  attachDerivative<ExpOp, expOf>(context);
  attachDerivative<LogOp, logOf>(context);
  attachDerivative<ErfOp, erfOf>(context);
  attachDerivative<SinOp, sinOf>(context);
  attachDerivative<CosOp, cosOf>(context);
  attachDerivative<TanOp, tanOf>(context);
  attachDerivative<AsinOp, asinOf>(context);
  attachDerivative<AcosOp, acosOf>(context);
  attachDerivative<AtanOp, atanOf>(context);
  attachDerivative<SinhOp, sinhOf>(context);
  attachDerivative<CoshOp, coshOf>(context);
  attachDerivative<AsinhOp, asinhOf>(context);
  attachDerivative<AcoshOp, acoshOf>(context);
  attachDerivative<AtanhOp, atanhOf>(context);
  attachDerivative<ReciprocalOp, reciprocalOf>(context);
  attachDerivative<AbsOp, absOf>(context);
  attach<GeluOp, gelu>(context);
  attach<ReluOp, relu>(context);
  attach<ClipOp, clip>(context);
  attach<NegOp, neg>(context);
  attach<CastOp, cast>(context);
  attach<ExpandOp, expand>(context);
  attach<FloorOp, nothing>(context);
  attach<CeilOp, nothing>(context);
  attach<RoundOp, nothing>(context);
  attach<SignOp, nothing>(context);
  attach<AddOp, add>(context);
  attach<SubOp, sub>(context);
  attach<MulOp, mul>(context);
  attach<DivOp, div>(context);
  attach<PowOp, pow>(context);
  attach<MaxOp, extreme>(context);
  attach<MinOp, extreme>(context);
  attach<WhereOp, where>(context);
  attach<DropoutOp, dropout>(context);
}
