//===- DoubleFunctions.cpp - Functions of f64 in arithmetic ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoubleFunctions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace soap::cuda;
using Predicate = arith::CmpFPredicate;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts; the low bits of the first are zero.
static constexpr double ln2High = 0x1.62e42feep-1;
static constexpr double ln2Low = 0x1.a39ef35793c76p-33;

Value DoubleFunctions::number(double value) {
  return builder_.create<arith::ConstantOp>(loc_,
                                            builder_.getF64FloatAttr(value));
}
Value DoubleFunctions::integer(int64_t value) {
  return builder_.create<arith::ConstantOp>(loc_,
                                            builder_.getI64IntegerAttr(value));
}
Value DoubleFunctions::add(Value a, Value b) {
  return builder_.create<arith::AddFOp>(loc_, a, b);
}
Value DoubleFunctions::subtract(Value a, Value b) {
  return builder_.create<arith::SubFOp>(loc_, a, b);
}
Value DoubleFunctions::multiply(Value a, Value b) {
  return builder_.create<arith::MulFOp>(loc_, a, b);
}
Value DoubleFunctions::divide(Value a, Value b) {
  return builder_.create<arith::DivFOp>(loc_, a, b);
}
Value DoubleFunctions::fma(Value a, Value b, Value c) {
  return builder_.create<math::FmaOp>(loc_, a, b, c);
}
Value DoubleFunctions::negate(Value a) {
  return builder_.create<arith::NegFOp>(loc_, a);
}
Value DoubleFunctions::magnitude(Value a) {
  return builder_.create<math::AbsFOp>(loc_, a);
}
Value DoubleFunctions::is(Predicate predicate, Value a, Value b) {
  return builder_.create<arith::CmpFOp>(loc_, predicate, a, b);
}
Value DoubleFunctions::select(Value condition, Value a, Value b) {
  return builder_.create<arith::SelectOp>(loc_, condition, a, b);
}
Value DoubleFunctions::bits(Value a) {
  return builder_.create<arith::BitcastOp>(loc_, builder_.getI64Type(), a);
}
Value DoubleFunctions::fromBits(Value a) {
  return builder_.create<arith::BitcastOp>(loc_, builder_.getF64Type(), a);
}

/// 2^n for an integer -1022 <= n <= 1023.
Value DoubleFunctions::powerOfTwo(Value n) {
  Value biased = builder_.create<arith::AddIOp>(loc_, n, integer(1023));
  return fromBits(builder_.create<arith::ShLIOp>(loc_, biased, integer(52)));
}

/// Coefficients from the constant one on.
Value DoubleFunctions::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, number(coefficient));
  return result;
}

/// 1/0!, 1/2!, … or 1/1!, 1/3!, …, with changing signs if `alternates`.
static SmallVector<double> inverseFactorials(unsigned first, unsigned step,
                                             unsigned count, bool alternates) {
  SmallVector<double> result;
  for (unsigned i = 0; i != count; ++i) {
    double value = 1 / std::tgamma(first + i * step + 1.0);
    result.push_back(alternates && i % 2 ? -value : value);
  }
  return result;
}

Value DoubleFunctions::exp(Value x) {
  // Beyond these, the result is 0 or infinity.
  Value least = number(-746), most = number(710);
  Value clamped = select(is(Predicate::OLT, x, least), least, x);
  clamped = select(is(Predicate::OGT, clamped, most), most, clamped);
  Value n = builder_.create<math::RoundEvenOp>(
      loc_, multiply(clamped, number(1 / std::log(2.0))));
  Value r = fma(n, number(-ln2High), clamped);
  r = fma(n, number(-ln2Low), r);
  Value power = polynomial(r, inverseFactorials(0, 1, 15, false));
  Value isNumber = is(Predicate::ORD, x, x);
  Value whole = builder_.create<arith::FPToSIOp>(
      loc_, builder_.getI64Type(), select(isNumber, n, number(0)));
  // In two steps, as 2^n itself may be too large or too small.
  Value half = builder_.create<arith::ShRSIOp>(loc_, whole, integer(1));
  Value other = builder_.create<arith::SubIOp>(loc_, whole, half);
  return multiply(multiply(power, powerOfTwo(half)), powerOfTwo(other));
}

Value DoubleFunctions::log(Value x) {
  Value isSmall = is(Predicate::OLT, x, number(0x1p-1022));
  Value scaled = select(isSmall, multiply(x, number(0x1p54)), x);
  // The mantissa m lies between sqrt(1/2) and sqrt(2), x = 2^k m.
  Value offset = integer(0x3fe6a09e667f3bcd); // Bits of sqrt(1/2).
  Value difference = builder_.create<arith::SubIOp>(loc_, bits(scaled), offset);
  Value exponent =
      builder_.create<arith::ShRSIOp>(loc_, difference, integer(52));
  Value m = fromBits(builder_.create<arith::SubIOp>(
      loc_, bits(scaled),
      builder_.create<arith::ShLIOp>(loc_, exponent, integer(52))));
  Value k =
      builder_.create<arith::SIToFPOp>(loc_, builder_.getF64Type(), exponent);
  k = add(k, select(isSmall, number(-54), number(0)));
  Value f = subtract(m, number(1));
  Value s = divide(f, add(f, number(2)));
  Value z = multiply(s, s);
  SmallVector<double> series;
  for (int i = 1; i != 12; ++i)
    series.push_back(2.0 / (2 * i + 1));
  Value rest = multiply(z, polynomial(z, series));
  Value square = multiply(number(0.5), multiply(f, f));
  Value low = fma(s, add(square, rest), multiply(k, number(ln2Low)));
  Value result = subtract(multiply(k, number(ln2High)),
                          subtract(subtract(square, low), f));
  result = select(is(Predicate::OEQ, x, number(infinity)), x, result);
  result = select(is(Predicate::OEQ, x, number(0)), number(-infinity), result);
  // Not a number below 0, and where x is none.
  return select(is(Predicate::OGE, x, number(0)), result, number(notANumber));
}

Value DoubleFunctions::log1p(Value x) {
  Value u = add(x, number(1));
  Value lost = divide(subtract(x, subtract(u, number(1))), u);
  Value isUsual =
      builder_.create<arith::AndIOp>(loc_, is(Predicate::OGT, u, number(0)),
                                     is(Predicate::OLT, u, number(infinity)));
  Value result = log(u);
  result = select(isUsual, add(result, lost), result);
  // Keeps the sign of a zero.
  return select(is(Predicate::OEQ, u, number(1)), x, result);
}

Value DoubleFunctions::tanh(Value x) {
  Value y = multiply(magnitude(x), number(2));
  // e^y - 1, by itself where it is small.
  Value small = multiply(y, polynomial(y, inverseFactorials(1, 1, 15, false)));
  Value large = subtract(exp(y), number(1));
  Value minusOne = select(is(Predicate::OLT, y, number(0.35)), small, large);
  Value result = divide(minusOne, add(minusOne, number(2)));
  result = select(is(Predicate::OGT, y, number(40)), number(1), result);
  return builder_.create<math::CopySignOp>(loc_, result, x);
}

Value DoubleFunctions::erf(Value x) {
  constexpr int64_t terms = 160;
  Value clamped = select(is(Predicate::OGT, magnitude(x), number(6)), number(6),
                         magnitude(x));
  Value square = multiply(clamped, clamped);
  Value lost = fma(clamped, clamped, negate(square));
  Value twice = multiply(square, number(2));
  auto index = [&](int64_t value) {
    return builder_.create<arith::ConstantIndexOp>(loc_, value);
  };
  auto loop = builder_.create<scf::ForOp>(
      loc_, index(0), index(terms), index(1),
      ValueRange{number(1), number(1), number(3)},
      [&](OpBuilder &nested, Location loc, Value, ValueRange state) {
        DoubleFunctions in(nested, loc);
        Value term = in.divide(in.multiply(state[0], twice), state[2]);
        nested.create<scf::YieldOp>(loc,
                                    ValueRange{term, in.add(state[1], term),
                                               in.add(state[2], in.number(2))});
      });
  Value front = multiply(exp(negate(square)), subtract(number(1), lost));
  Value result = multiply(multiply(clamped, number(2 / std::sqrt(M_PI))),
                          multiply(front, loop.getResult(1)));
  result = select(is(Predicate::OGT, result, number(1)), number(1), result);
  return builder_.create<math::CopySignOp>(loc_, result, x);
}

Value DoubleFunctions::sine(Value x, int64_t quarters) {
  Value n =
      builder_.create<math::RoundEvenOp>(loc_, multiply(x, number(2 / M_PI)));
  Value r = fma(n, number(-0x1.921fb54442d18p+0), x);
  r = fma(n, number(-0x1.1a62633145c07p-54), r);
  r = fma(n, number(0x1.f1976b7ed8fbcp-110), r);
  Value isUsual = is(Predicate::OLT, magnitude(n), number(0x1p62));
  Value quarter = builder_.create<arith::FPToSIOp>(
      loc_, builder_.getI64Type(), select(isUsual, n, number(0)));
  quarter = builder_.create<arith::AddIOp>(loc_, quarter, integer(quarters));
  Value square = multiply(r, r);
  Value s = multiply(r, polynomial(square, inverseFactorials(1, 2, 10, true)));
  Value c = polynomial(square, inverseFactorials(0, 2, 11, true));
  auto bit = [&](int64_t mask) -> Value {
    Value masked = builder_.create<arith::AndIOp>(loc_, quarter, integer(mask));
    return builder_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ne,
                                          masked, integer(0));
  };
  Value result = select(bit(1), c, s);
  return select(bit(2), negate(result), result);
}

/// Of x >= 0 or infinity.
Value DoubleFunctions::arctangent(Value x) {
  Value isLarge = is(Predicate::OGT, x, number(1));
  Value t = select(isLarge, divide(number(1), x), x);
  // Twice half the angle, so that |t| is at most sqrt(2) - 1, then 0.2.
  auto halve = [&](Value value) {
    Value root =
        builder_.create<math::SqrtOp>(loc_, fma(value, value, number(1)));
    return divide(value, add(root, number(1)));
  };
  t = halve(halve(t));
  Value square = multiply(t, t);
  SmallVector<double> series;
  for (int i = 0; i != 14; ++i)
    series.push_back((i % 2 ? -1.0 : 1.0) / (2 * i + 1));
  Value angle = multiply(multiply(t, number(4)), polynomial(square, series));
  return select(isLarge, subtract(number(M_PI_2), angle), angle);
}

Value DoubleFunctions::acos(Value x) {
  Value quotient = divide(subtract(number(1), x), add(number(1), x));
  Value angle = arctangent(builder_.create<math::SqrtOp>(loc_, quotient));
  return multiply(number(2), angle);
}

Value DoubleFunctions::pow(Value x, Value y) {
  Value size = magnitude(x);
  Value result = exp(multiply(y, log(size)));
  Value one = number(1);
  result = select(is(Predicate::OEQ, size, one), one, result);
  // Of a negative x (or -0): the sign of an odd power, no number between.
  Value half = multiply(y, number(0.5));
  auto isWhole = [&](Value value) {
    return is(Predicate::OEQ, value,
              builder_.create<math::FloorOp>(loc_, value));
  };
  Value whole = isWhole(y);
  Value odd = builder_.create<arith::AndIOp>(
      loc_, whole,
      builder_.create<arith::XOrIOp>(
          loc_, isWhole(half),
          builder_.create<arith::ConstantIntOp>(loc_, 1, 1)));
  Value isNegative = builder_.create<arith::CmpIOp>(
      loc_, arith::CmpIPredicate::slt, bits(x), integer(0));
  Value negative = builder_.create<arith::AndIOp>(loc_, isNegative, odd);
  Value root = builder_.create<arith::AndIOp>(
      loc_, is(Predicate::OLT, x, number(0)),
      builder_.create<arith::AndIOp>(
          loc_, is(Predicate::ONE, size, number(infinity)),
          is(Predicate::UNE, y, builder_.create<math::FloorOp>(loc_, y))));
  result = select(negative, negate(result), result);
  result = select(root, number(notANumber), result);
  Value isNone = builder_.create<arith::OrIOp>(loc_, is(Predicate::UNO, x, x),
                                               is(Predicate::UNO, y, y));
  result = select(isNone, number(notANumber), result);
  result = select(is(Predicate::OEQ, x, one), one, result);
  return select(is(Predicate::OEQ, y, number(0)), one, result);
}
