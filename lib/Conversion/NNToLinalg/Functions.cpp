//===- Functions.cpp - Functions of one or two numbers
//---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are made of those for which kernels have vector code (exp,
// log, log1p, acos), without loss of digits around 0 and without overflow where
// the result has none. No library is linked to the kernels. Polynomials are
// those of Moshier's Cephes library for f32 (tanf.c, asinf.c, atanf.c): MLIR's
// asin is wrong by a tenth at 1, its atan by 4e-6, and its sin and cos give NaN
// from 1e12 on.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

namespace {
using P = arith::CmpFPredicate;

/// Arithmetic on one float type, in short.
struct Floats {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value number(double value) const { return scalar(builder, loc, type, value); }
  template <typename Op, typename... Values>
  Value make(Values... values) const {
    return builder.create<Op>(loc, values...);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) const { return make<arith::DivFOp>(a, b); }
  Value abs(Value x) const { return make<math::AbsFOp>(x); }
  Value holds(P predicate, Value a, Value b) const {
    return builder.create<arith::CmpFOp>(loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return make<arith::SelectOp>(condition, a, b);
  }
  /// `magnitude` with the sign of x.
  Value signedAs(Value magnitude, Value x) const {
    return make<math::CopySignOp>(magnitude, x);
  }
};
} // namespace

/// The polynomial with these coefficients, that of the highest power first.
static Value polynomial(const Floats &f, Value x,
                        ArrayRef<double> coefficients) {
  Value sum = f.number(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = f.add(f.mul(sum, x), f.number(coefficient));
  return sum;
}

/// x + x^3 * P(x^2).
static Value odd(const Floats &f, Value x, ArrayRef<double> coefficients) {
  Value square = f.mul(x, x);
  return f.add(f.mul(f.mul(polynomial(f, square, coefficients), square), x), x);
}

/// Of the rest of x by pi / 2, which is made in f64: exact enough up to 1e9.
static Value tan(const Floats &f, Value x) {
  Floats wide{f.builder, f.loc, f.builder.getF64Type()};
  Value exact = x;
  if (f.type != wide.type)
    exact = wide.builder.create<arith::ExtFOp>(f.loc, wide.type, x);
  Value count =
      wide.make<math::RoundEvenOp>(wide.mul(exact, wide.number(2 / M_PI)));
  // Pi / 2 in parts of 33 digits.
  for (double part : {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69})
    exact = wide.sub(exact, wide.mul(count, wide.number(part)));
  Value rest = exact;
  if (f.type != wide.type)
    rest = f.builder.create<arith::TruncFOp>(f.loc, f.type, exact);
  Value tangent = odd(f, rest,
                      {9.38540185543e-3, 3.11992232697e-3, 2.44301354525e-2,
                       5.34112807005e-2, 1.33387994085e-1, 3.33331568548e-1});
  Value half = wide.mul(count, wide.number(0.5));
  Value isEven = wide.holds(P::OEQ, wide.make<math::FloorOp>(half), half);
  return f.select(isEven, tangent, f.div(f.number(-1), tangent));
}

/// Up to 1/2 by a polynomial, from there on as pi/2 - 2 asin(sqrt((1 - x) /
/// 2)).
static Value asin(const Floats &f, Value x) {
  Value a = f.abs(x), half = f.number(0.5);
  Value isLarge = f.holds(P::OGT, a, half);
  Value root = f.make<math::SqrtOp>(f.mul(half, f.sub(f.number(1), a)));
  Value angle = odd(f, f.select(isLarge, root, a),
                    {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2,
                     7.4953002686e-2, 1.6666752422e-1});
  Value other = f.sub(f.number(M_PI_2), f.add(angle, angle));
  return f.signedAs(f.select(isLarge, other, angle), x);
}

/// Around 0, 1 and infinity, by atan(1) + atan((x - 1) / (x + 1)) and
/// pi/2 - atan(1 / x).
static Value atan(const Floats &f, Value x) {
  Value a = f.abs(x), one = f.number(1);
  Value isLarge = f.holds(P::OGT, a, f.number(2.414213562373095));
  Value isMiddle = f.holds(P::OGT, a, f.number(0.4142135623730950));
  Value reduced =
      f.select(isLarge, f.div(f.number(-1), a),
               f.select(isMiddle, f.div(f.sub(a, one), f.add(a, one)), a));
  Value base = f.select(isLarge, f.number(M_PI_2),
                        f.select(isMiddle, f.number(M_PI_4), f.number(0)));
  Value angle = odd(f, reduced,
                    {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1,
                     -3.33329491539e-1});
  return f.signedAs(f.add(base, angle), x);
}

/// exp(|x|) / 2, without overflow where half of it is a number, and
/// exp(-|x|) / 2.
static std::pair<Value, Value> halves(const Floats &f, Value x) {
  Value root = f.make<math::ExpOp>(f.mul(f.abs(x), f.number(0.5)));
  Value square = f.mul(f.mul(root, f.number(0.5)), root);
  return {square, f.div(f.number(0.25), square)};
}

static Value sinh(const Floats &f, Value x) {
  auto [large, small] = halves(f, x);
  // The difference loses digits below 1: the series does not, and its next
  // term is 2.5e-8 there.
  Value square = f.mul(x, x), series = f.number(1.0 / 362880);
  for (double factorial : {5040.0, 120.0, 6.0, 1.0})
    series = f.add(f.mul(series, square), f.number(1 / factorial));
  Value magnitude = f.abs(x);
  return f.signedAs(f.select(f.holds(P::OLT, magnitude, f.number(1)),
                             f.mul(magnitude, series), f.sub(large, small)),
                    x);
}

static Value cosh(const Floats &f, Value x) {
  auto [large, small] = halves(f, x);
  return f.add(large, small);
}

/// log(2 * x), for x so large that x + 1 is x as far as logarithms go.
static Value logOfTwice(const Floats &f, Value x) {
  return f.add(f.make<math::LogOp>(x), f.number(M_LN2));
}
static constexpr double large = 1 << 14;

static Value asinh(const Floats &f, Value x) {
  Value a = f.abs(x), square = f.mul(a, a), one = f.number(1);
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1)))
  Value root = f.make<math::SqrtOp>(f.add(square, one));
  Value small =
      f.make<math::Log1pOp>(f.add(a, f.div(square, f.add(one, root))));
  return f.signedAs(
      f.select(f.holds(P::OGT, a, f.number(large)), logOfTwice(f, a), small),
      x);
}

static Value acosh(const Floats &f, Value x) {
  // t = x - 1: log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(t * (t + 2)))
  Value t = f.sub(x, f.number(1));
  Value root = f.make<math::SqrtOp>(f.mul(t, f.add(t, f.number(2))));
  Value small = f.make<math::Log1pOp>(f.add(t, root));
  Value result =
      f.select(f.holds(P::OGT, x, f.number(large)), logOfTwice(f, x), small);
  return f.select(f.holds(P::OLT, x, f.number(1)),
                  f.number(std::numeric_limits<double>::quiet_NaN()), result);
}

static Value atanh(const Floats &f, Value x) {
  Value a = f.abs(x);
  Value ratio = f.div(f.add(a, a), f.sub(f.number(1), a));
  Value result = f.mul(f.number(0.5), f.make<math::Log1pOp>(ratio));
  return f.signedAs(result, x);
}

static Value sign(OpBuilder &builder, Location loc, Value x, bool isUnsigned) {
  Type type = x.getType();
  Value zero = scalar(builder, loc, type, 0), positive, negative;
  if (isa<FloatType>(type)) {
    positive = builder.create<arith::CmpFOp>(loc, P::OGT, x, zero);
    negative = builder.create<arith::CmpFOp>(loc, P::OLT, x, zero);
  } else {
    using I = arith::CmpIPredicate;
    if (isUnsigned) // 0 or 1.
      return builder.create<arith::MinUIOp>(loc, x,
                                            scalar(builder, loc, type, 1));
    positive = builder.create<arith::CmpIOp>(loc, I::sgt, x, zero);
    negative = builder.create<arith::CmpIOp>(loc, I::slt, x, zero);
  }
  Value below = builder.create<arith::SelectOp>(
      loc, negative, scalar(builder, loc, type, -1), x);
  return builder.create<arith::SelectOp>(loc, positive,
                                         scalar(builder, loc, type, 1), below);
}

/// The exact remainder of f32, as C's fmod: |a| is made smaller by multiples
/// of |b| * 2^(28k), k = 9 .. 0, in f64. There quotients are below 2^28 and
/// multiples of b exact, and remainders have no more digits than a or b.
static Value floatRemainder(OpBuilder &builder, Location loc, Value a,
                            Value b) {
  Type type = a.getType();
  if (!type.isF32())
    return builder.create<arith::RemFOp>(loc, a, b);
  Floats f{builder, loc, builder.getF64Type()};
  Value dividend = f.abs(builder.create<arith::ExtFOp>(loc, f.type, a));
  Value divisor = f.abs(builder.create<arith::ExtFOp>(loc, f.type, b));
  Value rest = dividend;
  for (int k = 9; k >= 0; --k) {
    Value multiple = f.mul(divisor, f.number(std::ldexp(1.0, 28 * k)));
    Value quotient = f.make<math::FloorOp>(f.div(rest, multiple));
    rest = f.sub(rest, f.mul(quotient, multiple));
  }
  // Of an infinite divisor the dividend is left, of an infinite dividend and
  // of NaN nothing (NaN).
  Value infinity = f.number(std::numeric_limits<double>::infinity());
  Value isFinite = f.holds(P::OLT, dividend, infinity);
  Value isWhole = builder.create<arith::AndIOp>(
      loc, isFinite, f.holds(P::OEQ, divisor, infinity));
  rest = f.select(isWhole, dividend, rest);
  Value narrow = builder.create<arith::TruncFOp>(loc, type, rest);
  return builder.create<math::CopySignOp>(loc, narrow, a);
}

static Value remainder(OpBuilder &builder, Location loc, nn::ModOp op, Value a,
                       Value b, bool isUnsigned) {
  Type type = a.getType();
  if (isa<FloatType>(type))
    return floatRemainder(builder, loc, a, b);
  // The machine traps at a divisor of 0 and where the quotient overflows. The
  // remainder of 1 is 0, as is that of -1.
  using I = arith::CmpIPredicate;
  Value zero = scalar(builder, loc, type, 0),
        one = scalar(builder, loc, type, 1);
  auto holds = [&](I predicate, Value x, Value y) -> Value {
    return builder.create<arith::CmpIOp>(loc, predicate, x, y);
  };
  if (isUnsigned) {
    Value divisor =
        builder.create<arith::SelectOp>(loc, holds(I::eq, b, zero), one, b);
    return builder.create<arith::RemUIOp>(loc, a, divisor);
  }
  Value next = builder.create<arith::AddIOp>(loc, b, one);
  Value divisor =
      builder.create<arith::SelectOp>(loc, holds(I::ule, next, one), one, b);
  Value rest = builder.create<arith::RemSIOp>(loc, a, divisor);
  if (op.getTruncate())
    return rest;
  Value differ =
      holds(I::slt, builder.create<arith::XOrIOp>(loc, rest, divisor), zero);
  Value moves =
      builder.create<arith::AndIOp>(loc, differ, holds(I::ne, rest, zero));
  Value moved = builder.create<arith::AddIOp>(loc, rest, divisor);
  return builder.create<arith::SelectOp>(loc, moves, moved, rest);
}

Value linalg_lowering::function(OpBuilder &builder, Location loc, Operation *op,
                                ValueRange elements, bool isUnsigned) {
  Value x = elements[0];
  Floats f{builder, loc, x.getType()};
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::TanOp) { return tan(f, x); })
      .Case([&](nn::AsinOp) { return asin(f, x); })
      .Case([&](nn::AcosOp) { return f.make<math::AcosOp>(x); })
      .Case([&](nn::AtanOp) { return atan(f, x); })
      .Case([&](nn::SinhOp) { return sinh(f, x); })
      .Case([&](nn::CoshOp) { return cosh(f, x); })
      .Case([&](nn::AsinhOp) { return asinh(f, x); })
      .Case([&](nn::AcoshOp) { return acosh(f, x); })
      .Case([&](nn::AtanhOp) { return atanh(f, x); })
      .Case([&](nn::SignOp) { return sign(builder, loc, x, isUnsigned); })
      .Case([&](nn::ModOp op) {
        return remainder(builder, loc, op, x, elements[1], isUnsigned);
      })
      .Default([](Operation *) { return Value(); });
}
