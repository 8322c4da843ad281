//===- FloatMath.cpp - Functions of f32 with few instructions -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's error function chooses among the coefficients of four polynomials,
// which is most of what a GELU takes on a GPU. Here are two: x p(x^2) + x up to
// 1, and 1 - 2^-q(|x|) above. Both were fitted to the smallest largest error;
// in f32 the result is off by less than 1e-7 of it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "soap/Target/CUDA/Passes.h"

namespace soap::cuda {
#define GEN_PASS_DEF_FLOATMATHPASS
#include "soap/Target/CUDA/Passes.h.inc"
} // namespace soap::cuda

using namespace mlir;
using namespace soap;

namespace {
/// Arithmetic on f32, in short.
class FloatFunctions {
public:
  FloatFunctions(OpBuilder &builder, Location loc)
      : builder_(builder), loc_(loc) {}

  Value erf(Value x);

private:
  Value real(float value) {
    return builder_.create<arith::ConstantOp>(loc_,
                                              builder_.getF32FloatAttr(value));
  }
  Value number(int32_t value) {
    return builder_.create<arith::ConstantOp>(
        loc_, builder_.getI32IntegerAttr(value));
  }
  Value bitsOf(Value x) {
    return builder_.create<arith::BitcastOp>(loc_, builder_.getI32Type(), x);
  }
  Value fma(Value a, Value b, Value c) {
    return builder_.create<math::FmaOp>(loc_, a, b, c);
  }
  /// coefficients[0] + coefficients[1] x + ...
  Value polynomial(ArrayRef<float> coefficients, Value x) {
    Value result = real(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, real(coefficient));
    return result;
  }
  Value exp2(Value x);

  OpBuilder &builder_;
  Location loc_;
};
} // namespace

/// 2^x of -120 < x < 120.
Value FloatFunctions::exp2(Value x) {
  static constexpr float coefficients[] = {
      1.0F,          0.69314718F,    0.24022652F,   0.055503272F,
      0.0096179945F, 0.00134004315F, 0.00015478005F};
  // In its last places, the sum has the integer that is nearest to x.
  constexpr float magic = 0x1.8p23F;
  Value sum = builder_.create<arith::AddFOp>(loc_, x, real(magic));
  Value whole = builder_.create<arith::SubFOp>(loc_, sum, real(magic));
  Value rest = builder_.create<arith::SubFOp>(loc_, x, whole);
  Value power = builder_.create<arith::ShLIOp>(loc_, bitsOf(sum), number(23));
  Value bits = builder_.create<arith::AddIOp>(
      loc_, bitsOf(polynomial(coefficients, rest)), power);
  return builder_.create<arith::BitcastOp>(loc_, builder_.getF32Type(), bits);
}

Value FloatFunctions::erf(Value x) {
  static constexpr float near[] = {
      0.12837917F,   -0.37612626F,    0.112836003F,  -0.026854444F,
      0.0051895352F, -0.00080208381F, 7.8891091e-05F};
  static constexpr float far[] = {
      -0.00029152699F, 1.6297395F,     0.91332072F,
      0.15668632F,     -0.036570862F,  0.0061612721F,
      -0.00066416978F, 3.5715122e-05F, -3.0613995e-07F};
  // From here on 1 is nearest; the polynomial goes no further.
  constexpr float end = 3.92F;
  Value small =
      fma(polynomial(near, builder_.create<arith::MulFOp>(loc_, x, x)), x, x);
  Value magnitude = builder_.create<math::AbsFOp>(loc_, x);
  Value bounded = builder_.create<arith::MinNumFOp>(loc_, magnitude, real(end));
  Value missing =
      exp2(builder_.create<arith::NegFOp>(loc_, polynomial(far, bounded)));
  Value large = builder_.create<math::CopySignOp>(
      loc_, builder_.create<arith::SubFOp>(loc_, real(1), missing), x);
  // NaN is not above 1, and passes through the other one.
  Value isLarge = builder_.create<arith::CmpFOp>(
      loc_, arith::CmpFPredicate::OGT, magnitude, real(1));
  return builder_.create<arith::SelectOp>(loc_, isLarge, large, small);
}

namespace {
struct FloatMathPass : cuda::impl::FloatMathPassBase<FloatMathPass> {
  void runOnOperation() override {
    SmallVector<math::ErfOp> ops;
    getOperation().walk([&](math::ErfOp op) {
      if (op.getType().isF32())
        ops.push_back(op);
    });
    for (math::ErfOp op : ops) {
      OpBuilder builder(op);
      Value result = FloatFunctions(builder, op.getLoc()).erf(op.getOperand());
      op.getResult().replaceAllUsesWith(result);
      op.erase();
    }
  }
};
} // namespace
