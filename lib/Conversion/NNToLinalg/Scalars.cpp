//===- Scalars.cpp - Elements of element-wise operations ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// A float or an integer operation, by type.
template <typename FloatOp, typename IntegerOp>
static Value binary(OpBuilder &builder, Location loc, ValueRange elements) {
  if (isa<FloatType>(elements[0].getType()))
    return builder.create<FloatOp>(loc, elements[0], elements[1]);
  return builder.create<IntegerOp>(loc, elements[0], elements[1]);
}

/// `value` where `left` `predicate` `right` does not hold, else `otherwise`;
/// the predicate is ordered, so NaN stays `value`.
static Value replaceIf(OpBuilder &builder, Location loc,
                       arith::CmpFPredicate predicate, Value value,
                       Value bound) {
  Value outside = builder.create<arith::CmpFOp>(loc, predicate, value, bound);
  return builder.create<arith::SelectOp>(loc, outside, bound, value);
}

Value linalg_lowering::sigmoid(OpBuilder &builder, Location loc, Value x) {
  Value one = scalar(builder, loc, x.getType(), 1);
  Value negated = builder.create<arith::NegFOp>(loc, x);
  Value exponential = builder.create<math::ExpOp>(loc, negated);
  Value sum = builder.create<arith::AddFOp>(loc, one, exponential);
  return builder.create<arith::DivFOp>(loc, one, sum);
}

template <typename Op>
static Value unary(OpBuilder &builder, Location loc, ValueRange elements) {
  return builder.create<Op>(loc, elements[0]);
}

static Value compare(OpBuilder &builder, Location loc, nn::Predicate predicate,
                     ValueRange elements, bool isUnsigned) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::tuple<F, I, I> predicates[] = {
      {F::OEQ, I::eq, I::eq},   {F::UNE, I::ne, I::ne},
      {F::OLT, I::slt, I::ult}, {F::OLE, I::sle, I::ule},
      {F::OGT, I::sgt, I::ugt}, {F::OGE, I::sge, I::uge}};
  auto [ofFloats, ofSigned, ofUnsigned] =
      predicates[static_cast<unsigned>(predicate)];
  if (isa<FloatType>(elements[0].getType()))
    return builder.create<arith::CmpFOp>(loc, ofFloats, elements[0],
                                         elements[1]);
  return builder.create<arith::CmpIOp>(loc, isUnsigned ? ofUnsigned : ofSigned,
                                       elements[0], elements[1]);
}

/// a / b, truncated. The machine traps at a divisor of 0 and where the quotient
/// overflows: the results are 0 and, as integers wrap, -a.
static Value integerQuotient(OpBuilder &builder, Location loc, Value a, Value b,
                             bool isUnsigned) {
  using I = arith::CmpIPredicate;
  Type type = a.getType();
  Value zero = scalar(builder, loc, type, 0),
        one = scalar(builder, loc, type, 1);
  Value isZero = builder.create<arith::CmpIOp>(loc, I::eq, b, zero);
  Value divisor = builder.create<arith::SelectOp>(loc, isZero, one, b);
  Value quotient;
  if (isUnsigned) {
    quotient = builder.create<arith::DivUIOp>(loc, a, divisor);
  } else {
    Value isMinus = builder.create<arith::CmpIOp>(
        loc, I::eq, b, scalar(builder, loc, type, -1));
    divisor = builder.create<arith::SelectOp>(loc, isMinus, one, divisor);
    quotient = builder.create<arith::DivSIOp>(loc, a, divisor);
    Value negated = builder.create<arith::SubIOp>(loc, zero, a);
    quotient = builder.create<arith::SelectOp>(loc, isMinus, negated, quotient);
  }
  return builder.create<arith::SelectOp>(loc, isZero, zero, quotient);
}

/// |x|^y = exp(y * log |x|), with the sign of C's pow. No library is linked to
/// the kernels, and these two have vector code.
static Value power(OpBuilder &builder, Location loc, Value x, Value y) {
  Type type = x.getType();
  auto number = [&](double value) { return scalar(builder, loc, type, value); };
  auto holds = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return builder.create<arith::CmpFOp>(loc, predicate, a, b);
  };
  auto floor = [&](Value value) -> Value {
    return builder.create<math::FloorOp>(loc, value);
  };
  using P = arith::CmpFPredicate;
  Value zero = number(0), one = number(1), two = number(2);
  Value magnitude = builder.create<math::AbsFOp>(loc, x);
  Value logarithm = builder.create<math::LogOp>(loc, magnitude);
  Value result = builder.create<math::ExpOp>(
      loc, builder.create<arith::MulFOp>(loc, y, logarithm));
  // Of a negative base, integers have a power, the odd ones a negative one.
  Value half = builder.create<arith::DivFOp>(loc, y, two);
  Value isInteger = holds(P::OEQ, floor(y), y);
  Value isEven = holds(P::OEQ, floor(half), half);
  Value negated = builder.create<arith::NegFOp>(loc, result);
  Value ofInteger =
      builder.create<arith::SelectOp>(loc, isEven, result, negated);
  Value ofNegative = builder.create<arith::SelectOp>(
      loc, isInteger, ofInteger,
      number(std::numeric_limits<double>::quiet_NaN()));
  result = builder.create<arith::SelectOp>(loc, holds(P::OLT, x, zero),
                                           ofNegative, result);
  Value isOne = builder.create<arith::OrIOp>(loc, holds(P::OEQ, y, zero),
                                             holds(P::OEQ, x, one));
  return builder.create<arith::SelectOp>(loc, isOne, one, result);
}

/// x^y by squaring, as integers wrap: once per bit of y. Of a negative y it is
/// the truncated quotient of 1.
static Value integerPower(OpBuilder &builder, Location loc, Value x, Value y,
                          bool isUnsigned) {
  using I = arith::CmpIPredicate;
  Type type = x.getType();
  Value zero = scalar(builder, loc, type, 0),
        one = scalar(builder, loc, type, 1);
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return builder.create<arith::SelectOp>(loc, condition, a, b);
  };
  auto holds = [&](I predicate, Value a, Value b) -> Value {
    return builder.create<arith::CmpIOp>(loc, predicate, a, b);
  };
  Value odd = holds(I::ne, builder.create<arith::AndIOp>(loc, y, one), zero);
  Value result = one, factor = x, rest = y;
  for (unsigned bit = 0; bit < type.getIntOrFloatBitWidth(); ++bit) {
    Value low = builder.create<arith::AndIOp>(loc, rest, one);
    Value product = builder.create<arith::MulIOp>(loc, result, factor);
    result = select(holds(I::ne, low, zero), product, result);
    factor = builder.create<arith::MulIOp>(loc, factor, factor);
    rest = builder.create<arith::ShRUIOp>(loc, rest, one);
  }
  if (isUnsigned)
    return result;
  Value minus = scalar(builder, loc, type, -1);
  Value inverse =
      select(holds(I::eq, x, one), one,
             select(holds(I::eq, x, minus), select(odd, minus, one), zero));
  return select(holds(I::slt, y, zero), inverse, result);
}

/// Bits of `a`, moved by `b` places; from its width on none is left.
template <typename Op>
static Value shifted(OpBuilder &builder, Location loc, Value a, Value b) {
  Type type = a.getType();
  Value width = scalar(builder, loc, type, type.getIntOrFloatBitWidth());
  Value zero = scalar(builder, loc, type, 0);
  Value isInside =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, b, width);
  Value places = builder.create<arith::SelectOp>(loc, isInside, b, zero);
  Value moved = builder.create<Op>(loc, a, places);
  return builder.create<arith::SelectOp>(loc, isInside, moved, zero);
}

static Value gelu(OpBuilder &builder, Location loc, nn::GeluOp op, Value x) {
  Type type = x.getType();
  auto number = [&](double value) { return scalar(builder, loc, type, value); };
  auto mul = [&](Value a, Value b) -> Value {
    return builder.create<arith::MulFOp>(loc, a, b);
  };
  auto add = [&](Value a, Value b) -> Value {
    return builder.create<arith::AddFOp>(loc, a, b);
  };
  Value bend;
  if (op.getApproximate()) {
    Value cube = mul(mul(x, x), x);
    Value inner =
        mul(number(std::sqrt(2 / M_PI)), add(x, mul(number(0.044715), cube)));
    bend = builder.create<math::TanhOp>(loc, inner);
  } else {
    bend = builder.create<math::ErfOp>(loc, mul(x, number(M_SQRT1_2)));
  }
  return mul(mul(number(0.5), x), add(number(1), bend));
}

static Value buildBatchNorm(OpBuilder &builder, Location loc,
                            nn::BatchNormOp op, ValueRange elements) {
  return normalised(
      builder, loc, elements,
      batchNormFactor(builder, loc, op, elements[1], elements[4]));
}

static arith::FastMathFlagsAttr contracted(OpBuilder &builder) {
  return arith::FastMathFlagsAttr::get(builder.getContext(),
                                       arith::FastMathFlags::contract);
}

Value soap::batchNormFactor(OpBuilder &builder, Location loc,
                            nn::BatchNormOp op, Value scale, Value variance) {
  auto flags = contracted(builder);
  Value epsilon = scalar(builder, loc, variance.getType(),
                         op.getEpsilon().convertToDouble());
  Value sum = builder.create<arith::AddFOp>(loc, variance, epsilon, flags);
  Value deviation = builder.create<math::SqrtOp>(loc, sum);
  return builder.create<arith::DivFOp>(loc, scale, deviation, flags);
}

Value linalg_lowering::normalised(OpBuilder &builder, Location loc,
                                  ValueRange elements, Value factor) {
  auto flags = contracted(builder);
  Value centred =
      builder.create<arith::SubFOp>(loc, elements[0], elements[3], flags);
  Value scaled = builder.create<arith::MulFOp>(loc, centred, factor, flags);
  return builder.create<arith::AddFOp>(loc, scaled, elements[2], flags);
}

/// max(x, 0); NaN stays.
static Value relu(OpBuilder &builder, Location loc, Value x, bool isUnsigned) {
  Value zero = scalar(builder, loc, x.getType(), 0);
  if (!isa<FloatType>(x.getType()))
    return joined(builder, loc, {nn::ReduceKind::Max, isUnsigned}, x, zero);
  return replaceIf(builder, loc, arith::CmpFPredicate::OLT, x, zero);
}

/// min(max(x, lower), upper) as ONNX has it, also if lower > upper.
static Value clip(OpBuilder &builder, Location loc, nn::ClipOp op, Value x) {
  Value lower =
      scalar(builder, loc, x.getType(), op.getMin().convertToDouble());
  Value upper =
      scalar(builder, loc, x.getType(), op.getMax().convertToDouble());
  Value raised = replaceIf(builder, loc, arith::CmpFPredicate::OLT, x, lower);
  return replaceIf(builder, loc, arith::CmpFPredicate::OGT, raised, upper);
}

static Value negated(OpBuilder &builder, Location loc, Value x) {
  if (isa<FloatType>(x.getType()))
    return builder.create<arith::NegFOp>(loc, x);
  return builder.create<arith::SubIOp>(loc,
                                       scalar(builder, loc, x.getType(), 0), x);
}

static Value magnitude(OpBuilder &builder, Location loc, Value x,
                       bool isUnsigned) {
  if (isa<FloatType>(x.getType()))
    return builder.create<math::AbsFOp>(loc, x);
  if (isUnsigned)
    return x;
  return builder.create<math::AbsIOp>(loc, x);
}

/// The result of an operation of one operand; null if it is none of these.
static Value computeUnary(OpBuilder &builder, Location loc, Operation *op,
                          ValueRange elements, bool isUnsigned) {
  Value x = elements[0];
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::ReluOp) { return relu(builder, loc, x, isUnsigned); })
      .Case([&](nn::ClipOp op) { return clip(builder, loc, op, x); })
      .Case([&](nn::SigmoidOp) { return sigmoid(builder, loc, x); })
      .Case([&](nn::GeluOp op) { return gelu(builder, loc, op, x); })
      .Case([&](nn::NegOp) { return negated(builder, loc, x); })
      .Case([&](nn::AbsOp) { return magnitude(builder, loc, x, isUnsigned); })
      .Case([&](nn::TanhOp) -> Value {
        return builder.create<math::TanhOp>(loc, x);
      })
      .Case([&](nn::SqrtOp) {
        return unary<math::SqrtOp>(builder, loc, elements);
      })
      .Case(
          [&](nn::ExpOp) { return unary<math::ExpOp>(builder, loc, elements); })
      .Case(
          [&](nn::LogOp) { return unary<math::LogOp>(builder, loc, elements); })
      .Case(
          [&](nn::ErfOp) { return unary<math::ErfOp>(builder, loc, elements); })
      .Case(
          [&](nn::SinOp) { return unary<math::SinOp>(builder, loc, elements); })
      .Case(
          [&](nn::CosOp) { return unary<math::CosOp>(builder, loc, elements); })
      .Case([&](nn::FloorOp) {
        return unary<math::FloorOp>(builder, loc, elements);
      })
      .Case([&](nn::CeilOp) {
        return unary<math::CeilOp>(builder, loc, elements);
      })
      .Case([&](nn::RoundOp) {
        return unary<math::RoundEvenOp>(builder, loc, elements);
      })
      .Case([&](nn::ReciprocalOp) -> Value {
        return builder.create<arith::DivFOp>(
            loc, scalar(builder, loc, x.getType(), 1), x);
      })
      .Case([&](nn::NotOp) -> Value {
        return builder.create<arith::XOrIOp>(
            loc, x, scalar(builder, loc, x.getType(), -1));
      })
      .Default(Value());
}

/// The same of an operation of several operands.
static Value computeFromSeveral(OpBuilder &builder, Location loc, Operation *op,
                                ValueRange elements, bool isUnsigned) {
  Value a = elements[0], b = elements[1];
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::AddOp) {
        return binary<arith::AddFOp, arith::AddIOp>(builder, loc, elements);
      })
      .Case([&](nn::SubOp) {
        return binary<arith::SubFOp, arith::SubIOp>(builder, loc, elements);
      })
      .Case([&](nn::MulOp) {
        return binary<arith::MulFOp, arith::MulIOp>(builder, loc, elements);
      })
      .Case([&](nn::DivOp) -> Value {
        if (!isa<FloatType>(a.getType()))
          return integerQuotient(builder, loc, a, b, isUnsigned);
        return builder.create<arith::DivFOp>(loc, a, b);
      })
      .Case([&](nn::MaxOp) {
        return joined(builder, loc, {nn::ReduceKind::Max, isUnsigned}, a, b);
      })
      .Case([&](nn::MinOp) {
        return joined(builder, loc, {nn::ReduceKind::Min, isUnsigned}, a, b);
      })
      .Case([&](nn::PowOp) {
        return isa<FloatType>(a.getType())
                   ? power(builder, loc, a, b)
                   : integerPower(builder, loc, a, b, isUnsigned);
      })
      .Case([&](nn::AndOp) -> Value {
        return builder.create<arith::AndIOp>(loc, a, b);
      })
      .Case([&](nn::OrOp) -> Value {
        return builder.create<arith::OrIOp>(loc, a, b);
      })
      .Case([&](nn::XorOp) -> Value {
        return builder.create<arith::XOrIOp>(loc, a, b);
      })
      .Case([&](nn::ShiftLeftOp) {
        return shifted<arith::ShLIOp>(builder, loc, a, b);
      })
      .Case([&](nn::ShiftRightOp) {
        return shifted<arith::ShRUIOp>(builder, loc, a, b);
      })
      .Case([&](nn::CompareOp op) {
        return compare(builder, loc, op.getPredicate(), elements, isUnsigned);
      })
      .Case([&](nn::BatchNormOp op) {
        return buildBatchNorm(builder, loc, op, elements);
      })
      .Default(Value());
}

Value linalg_lowering::computeScalar(OpBuilder &builder, Location loc,
                                     Operation *op, ValueRange elements,
                                     bool isUnsigned) {
  Value result =
      elements.size() == 1
          ? computeUnary(builder, loc, op, elements, isUnsigned)
          : computeFromSeveral(builder, loc, op, elements, isUnsigned);
  if (!result)
    result = function(builder, loc, op, elements, isUnsigned);
  assert(result && "an element-wise operation without a scalar form");
  return result;
}
