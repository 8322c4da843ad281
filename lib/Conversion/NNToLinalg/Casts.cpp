//===- Casts.cpp - Conversions between element types ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats of fewer than 32 bits are converted by integer arithmetic on their
// bits: no library is linked to the kernels, and not every machine has
// instructions for it. Those of 16 bits are operations of arith first, which
// targets with instructions keep. The formats are those of IEEE 754-2019,
// section 3.4 (f16), of the upper half of f32 (bf16), and of ONNX's page "Float
// stored in 8 bits", from Micikevicius et al., FP8 formats for deep learning,
// 2022 (FN), and Noune et al., 8-bit numerical formats for deep neural
// networks, 2022 (FNUZ).
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace soap;
using namespace soap::linalg_lowering;

namespace {
using I = arith::CmpIPredicate;

/// A narrow float: the sign, `exponent` bits, `mantissa` bits.
struct Format {
  unsigned width, mantissa;
  int bias;
  uint32_t infinity; ///< Its bits, or those of NaN if there is none.
  uint32_t nan;      ///< Bits of a NaN.
  uint32_t largest;  ///< Bits of the largest number.
  bool hasInfinity;
  bool unsignedZero; ///< There is no -0: its bits are the one NaN.
};

/// Arithmetic on the bits of numbers, in short.
struct Bits {
  OpBuilder &builder;
  Location loc;
  Type i32 = builder.getI32Type();

  Value number(int64_t value) const {
    return builder.create<arith::ConstantOp>(
        loc, builder.getIntegerAttr(i32, static_cast<int32_t>(value)));
  }
  Value real(double value) const {
    return scalar(builder, loc, builder.getF32Type(), value);
  }
  Value add(Value a, Value b) const {
    return builder.create<arith::AddIOp>(loc, a, b);
  }
  Value sub(Value a, Value b) const {
    return builder.create<arith::SubIOp>(loc, a, b);
  }
  Value both(Value a, Value b) const {
    return builder.create<arith::AndIOp>(loc, a, b);
  }
  Value either(Value a, Value b) const {
    return builder.create<arith::OrIOp>(loc, a, b);
  }
  Value left(Value a, int64_t count) const {
    return builder.create<arith::ShLIOp>(loc, a, number(count));
  }
  Value right(Value a, int64_t count) const {
    return builder.create<arith::ShRUIOp>(loc, a, number(count));
  }
  Value holds(I predicate, Value a, Value b) const {
    return builder.create<arith::CmpIOp>(loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return builder.create<arith::SelectOp>(loc, condition, a, b);
  }
  Value bitsOf(Value real) const {
    return builder.create<arith::BitcastOp>(loc, i32, real);
  }
  Value realOf(Value bits) const {
    return builder.create<arith::BitcastOp>(loc, builder.getF32Type(), bits);
  }
};
} // namespace

static Format formatOf(Type type) {
  if (type.isF16())
    return {16, 10, 15, 0x7c00, 0x7e00, 0x7bff, true, false};
  if (type.isBF16())
    return {16, 7, 127, 0x7f80, 0x7fc0, 0x7f7f, true, false};
  if (type.isFloat8E5M2())
    return {8, 2, 15, 0x7c, 0x7e, 0x7b, true, false};
  if (type.isFloat8E4M3FN())
    return {8, 3, 7, 0x7f, 0x7f, 0x7e, false, false};
  if (type.isFloat8E5M2FNUZ())
    return {8, 2, 16, 0x80, 0x80, 0x7f, false, true};
  return {8, 3, 8, 0x80, 0x80, 0x7f, false, true}; // f8E4M3FNUZ
}

/// The number whose bits are in the low part of `stored`, of type i32.
static Value decode(const Bits &b, const Format &format, Value stored) {
  uint32_t magnitudes = (1u << (format.width - 1)) - 1;
  if (format.bias == 127) // The upper half of f32.
    return b.realOf(b.left(stored, 16));
  Value magnitude = b.both(stored, b.number(magnitudes));
  Value sign = b.left(b.right(stored, format.width - 1), 31);
  // In the place of f32's exponent and mantissa, with f32's bias. A subnormal
  // number has the exponent of the least normal one, and no leading one, which
  // a difference takes away. No operand is subnormal in f32, where a thread may
  // take it for zero.
  Value placed = b.left(magnitude, 23 - format.mantissa);
  Value bits = b.add(placed, b.number((127 - format.bias) << 23));
  Value leading = b.number((128 - format.bias) << 23);
  Value subnormal = b.builder.create<arith::SubFOp>(
      b.loc, b.realOf(b.add(placed, leading)), b.realOf(leading));
  Value isSubnormal =
      b.holds(I::ult, magnitude, b.number(int64_t{1} << format.mantissa));
  bits = b.select(isSubnormal, b.bitsOf(subnormal), bits);
  Value special;
  if (format.hasInfinity) {
    // The mantissa of NaN stays one that is not 0.
    special = b.holds(I::uge, magnitude, b.number(format.infinity));
    bits = b.select(special, b.either(bits, b.number(0x7f800000)), bits);
  } else {
    special = b.holds(I::eq, format.unsignedZero ? stored : magnitude,
                      b.number(format.nan));
    bits = b.select(special, b.number(0x7fc00000), bits);
  }
  return b.realOf(b.either(bits, sign));
}

/// The bits of the bf16 that is nearest to `x`, of type f32: the upper half of
/// x's, rounded, which may carry into the exponent, up to infinity.
static Value upperHalf(const Bits &b, const Format &format, Value x) {
  Value bits = b.bitsOf(x);
  Value high = b.right(bits, 16);
  Value half = b.add(bits, b.number(0x7fff));
  Value rounded = b.right(b.add(half, b.both(high, b.number(1))), 16);
  Value isNaN =
      b.builder.create<arith::CmpFOp>(b.loc, arith::CmpFPredicate::UNO, x, x);
  Value nan = b.either(b.both(high, b.number(0x8000)), b.number(format.nan));
  return b.select(isNaN, nan, rounded);
}

/// The bits of the number of the format that is nearest to `x`, of type f32.
static Value encode(const Bits &b, const Format &format, Value x,
                    bool saturate) {
  if (format.bias == 127 && !saturate)
    return upperHalf(b, format, x);
  Value bits = b.bitsOf(x);
  Value magnitude = b.both(bits, b.number(0x7fffffff));
  Value sign = b.left(b.right(bits, 31), format.width - 1);
  int shift = 23 - static_cast<int>(format.mantissa);
  // Half of the last kept place, less one where the kept part is even.
  Value odd = b.both(b.right(magnitude, shift), b.number(1));
  Value rounded = b.right(
      b.add(magnitude, b.add(odd, b.number((1 << (shift - 1)) - 1))), shift);
  Value result =
      b.sub(rounded, b.number((127 - format.bias) << format.mantissa));
  if (format.bias != 127) {
    // Below the normal numbers the places are fixed: a sum with a number whose
    // last place is the one rounds as wanted, and leaves it there.
    double least = std::ldexp(1.0, 1 - format.bias);
    Value magic = b.real(std::ldexp(1.0, shift + 1 - format.bias));
    Value sum =
        b.builder.create<arith::AddFOp>(b.loc, b.realOf(magnitude), magic);
    Value small = b.sub(b.bitsOf(sum), b.bitsOf(magic));
    Value isSmall = b.holds(I::ult, magnitude, b.bitsOf(b.real(least)));
    result = b.select(isSmall, small, result);
  }
  Value isLarge = b.holds(I::sgt, result, b.number(format.largest));
  uint32_t overflow = saturate ? format.largest : format.infinity;
  result = b.select(isLarge, b.number(overflow), result);
  Value isNaN = b.holds(I::ugt, magnitude, b.number(0x7f800000));
  result = b.select(isNaN, b.number(format.nan), result);
  if (!format.unsignedZero)
    return b.either(result, sign);
  // Zero and NaN have no sign.
  Value isUnsigned = b.either(b.holds(I::eq, result, b.number(0)),
                              b.holds(I::eq, result, b.number(format.nan)));
  return b.select(isUnsigned, result, b.either(result, sign));
}

/// `x`, of type f64, as f32, so that rounding it again to fewer places gives
/// what rounding x once gives: inexact results have an odd last place
/// (Boldo and Melquiond, When double rounding is odd, 2005).
static Value roundToOdd(OpBuilder &builder, Location loc, Value x) {
  Bits b{builder, loc};
  Value near = builder.create<arith::TruncFOp>(loc, builder.getF32Type(), x);
  Value back = builder.create<arith::ExtFOp>(loc, x.getType(), near);
  auto magnitude = [&](Value value) -> Value {
    return builder.create<math::AbsFOp>(loc, value);
  };
  Value isAbove = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT,
                                                magnitude(back), magnitude(x));
  Value isInexact =
      builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, x);
  // Towards zero, then the last place is set.
  Value bits = b.bitsOf(near);
  bits = b.select(isAbove, b.sub(bits, b.number(1)), bits);
  bits = b.select(isInexact, b.either(bits, b.number(1)), bits);
  return b.realOf(bits);
}

static Value decoded(OpBuilder &builder, Location loc, Value stored,
                     Type type) {
  Bits b{builder, loc};
  Format format = formatOf(type);
  if (isa<FloatType>(stored.getType()))
    stored = builder.create<arith::BitcastOp>(
        loc, builder.getIntegerType(format.width), stored);
  return decode(b, format, builder.create<arith::ExtUIOp>(loc, b.i32, stored));
}

static Value encoded(OpBuilder &builder, Location loc, Value x, Type type,
                     bool saturate) {
  Format format = formatOf(type);
  Value bits = encode(Bits{builder, loc}, format, x, saturate);
  bits = builder.create<arith::TruncIOp>(
      loc, builder.getIntegerType(format.width), bits);
  if (format.width == 8) // Kept as integers.
    return bits;
  return builder.create<arith::BitcastOp>(loc, type, bits);
}

void linalg_lowering::expandNarrowCasts(Operation *root) {
  SmallVector<Operation *> casts;
  root->walk([&](Operation *op) {
    if ((isa<arith::TruncFOp>(op) &&
         nn::isFloatOf16Bits(op->getResult(0).getType())) ||
        (isa<arith::ExtFOp>(op) &&
         nn::isFloatOf16Bits(op->getOperand(0).getType())))
      casts.push_back(op);
  });
  for (Operation *op : casts) {
    OpBuilder builder(op);
    Value from = op->getOperand(0);
    Type to = op->getResult(0).getType();
    assert((from.getType().isF32() || to.isF32()) && "f64 is rounded to odd");
    Value result =
        isa<arith::TruncFOp>(op)
            ? encoded(builder, op->getLoc(), from, to, /*saturate=*/false)
            : decoded(builder, op->getLoc(), from, from.getType());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

Value linalg_lowering::widened(OpBuilder &builder, Location loc, Value stored,
                               Type type) {
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return stored;
  if (nn::isFloatOf16Bits(stored.getType()))
    return builder.create<arith::ExtFOp>(loc, builder.getF32Type(), stored);
  return decoded(builder, loc, stored, type);
}

Value linalg_lowering::narrowed(OpBuilder &builder, Location loc, Value x,
                                Type type, bool saturate) {
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return x;
  if (x.getType().isF64())
    x = roundToOdd(builder, loc, x);
  if (nn::isFloatOf16Bits(type))
    return builder.create<arith::TruncFOp>(loc, type, x);
  return encoded(builder, loc, x, type, saturate);
}

/// An integer of `width` bits in a wider one, with zeros or copies of its sign
/// before it.
static Value extended(OpBuilder &builder, Location loc, Value x, unsigned width,
                      bool isUnsigned) {
  Type narrow = builder.getIntegerType(width);
  Value low = builder.create<arith::TruncIOp>(loc, narrow, x);
  if (isUnsigned)
    return builder.create<arith::ExtUIOp>(loc, x.getType(), low);
  return builder.create<arith::ExtSIOp>(loc, x.getType(), low);
}

Value linalg_lowering::sameBits(OpBuilder &builder, Location loc, Value x,
                                Type to) {
  Type stored = storageType(to);
  if (to.isInteger(1) && !x.getType().isInteger(1))
    return builder.create<arith::CmpIOp>(loc, I::ne, x,
                                         scalar(builder, loc, x.getType(), 0));
  if (x.getType().isInteger(1) && !to.isInteger(1))
    return builder.create<arith::ExtUIOp>(loc, stored, x);
  if (to.getIntOrFloatBitWidth() < 8) // 4 bits, with their sign, in a byte.
    return extended(builder, loc, x, to.getIntOrFloatBitWidth(),
                    nn::isUnsigned(to));
  if (x.getType() == stored)
    return x;
  return builder.create<arith::BitcastOp>(loc, stored, x);
}

static Value integerToInteger(OpBuilder &builder, Location loc, Value x,
                              Type from, Type to) {
  Type stored = storageType(to);
  unsigned width = stored.getIntOrFloatBitWidth();
  unsigned old = x.getType().getIntOrFloatBitWidth();
  if (width > old)
    x = nn::isUnsigned(from)
            ? Value(builder.create<arith::ExtUIOp>(loc, stored, x))
            : Value(builder.create<arith::ExtSIOp>(loc, stored, x));
  else if (width < old)
    x = builder.create<arith::TruncIOp>(loc, stored, x);
  if (to.getIntOrFloatBitWidth() != width) // 4 bits in a byte.
    x = extended(builder, loc, x, to.getIntOrFloatBitWidth(),
                 nn::isUnsigned(to));
  return x;
}

/// Truncation, then the low bits: 32 of those that fit them, else 64.
static Value floatToInteger(OpBuilder &builder, Location loc, Value x,
                            Type to) {
  unsigned width = to.getIntOrFloatBitWidth();
  if (width == 64 && nn::isUnsigned(to)) {
    // From 2^63 on, the upper half; below, what is negative wraps around.
    Type i64 = builder.getI64Type();
    Value bound = scalar(builder, loc, x.getType(), 0x1p63);
    Value isHigh =
        builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, x, bound);
    Value lowered = builder.create<arith::SubFOp>(loc, x, bound);
    Value part = builder.create<arith::SelectOp>(loc, isHigh, lowered, x);
    Value low = builder.create<arith::FPToSIOp>(loc, i64, part);
    Value top = builder.create<arith::ConstantOp>(
        loc, builder.getIntegerAttr(i64, APInt::getSignedMinValue(64)));
    Value high = builder.create<arith::XOrIOp>(loc, low, top);
    return builder.create<arith::SelectOp>(loc, isHigh, high, low);
  }
  bool wide = width == 64 || (width == 32 && nn::isUnsigned(to));
  Type integer = builder.getIntegerType(wide ? 64 : 32);
  Value truncated = builder.create<arith::FPToSIOp>(loc, integer, x);
  return integerToInteger(builder, loc, truncated, integer, to);
}

Value linalg_lowering::converted(OpBuilder &builder, Location loc, Value x,
                                 Type from, Type to, bool saturate) {
  if (from == to)
    return x;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (fromFloat) {
    x = widened(builder, loc, x, from);
    from = x.getType();
  }
  if (to.isInteger(1)) {
    Value zero = scalar(builder, loc, x.getType(), 0);
    if (fromFloat)
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x,
                                           zero);
    return builder.create<arith::CmpIOp>(loc, I::ne, x, zero);
  }
  if (!toFloat)
    return fromFloat ? floatToInteger(builder, loc, x, to)
                     : integerToInteger(builder, loc, x, from, to);
  bool wide = to.isF64();
  if (!fromFloat) {
    Type real = wide ? Type(builder.getF64Type()) : builder.getF32Type();
    x = nn::isUnsigned(from)
            ? Value(builder.create<arith::UIToFPOp>(loc, real, x))
            : Value(builder.create<arith::SIToFPOp>(loc, real, x));
  } else if (wide && !from.isF64()) {
    x = builder.create<arith::ExtFOp>(loc, to, x);
  } else if (to.isF32() && from.isF64()) {
    x = builder.create<arith::TruncFOp>(loc, to, x);
  }
  return narrowed(builder, loc, x, to, saturate);
}
