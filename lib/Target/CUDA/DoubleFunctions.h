//===- DoubleFunctions.h - Functions of f64 in arithmetic -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_CUDA_DOUBLEFUNCTIONS_H
#define SOAP_LIB_TARGET_CUDA_DOUBLEFUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace soap::cuda {

/// Writes functions of f64 scalars in operations that a GPU computes itself:
/// sums, products, quotients, square roots, rounding and bits. Special values
/// are those of the C library.
class DoubleFunctions {
public:
  DoubleFunctions(mlir::OpBuilder &builder, mlir::Location loc)
      : builder_(builder), loc_(loc) {}

  /// 2^n r, for n = round(x / ln 2), with a Taylor polynomial for e^r.
  mlir::Value exp(mlir::Value x);
  /// k ln 2 + log(1 + f), as in fdlibm's e_log.c (Sun Microsystems, 1993), with
  /// the series of atanh.
  mlir::Value log(mlir::Value x);
  /// log(u) and the part of x that u = 1 + x has lost.
  mlir::Value log1p(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  /// The series with e^(-x x) in front, all terms of which are positive
  /// (Abramowitz and Stegun 1964, 7.1.6).
  mlir::Value erf(mlir::Value x);
  /// The remainder of x by pi / 2 from three parts of it (Cody and Waite 1980),
  /// then Taylor polynomials. The absolute error grows beyond |x| = 2^30.
  mlir::Value sin(mlir::Value x) { return sine(x, /*quarters=*/0); }
  mlir::Value cos(mlir::Value x) { return sine(x, /*quarters=*/1); }
  mlir::Value acos(mlir::Value x);
  /// exp(y log|x|), so its relative error grows with the result's logarithm.
  mlir::Value pow(mlir::Value x, mlir::Value y);

private:
  mlir::Value number(double value);
  mlir::Value integer(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value negate(mlir::Value a);
  mlir::Value magnitude(mlir::Value a);
  mlir::Value is(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                 mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value bits(mlir::Value a);
  mlir::Value fromBits(mlir::Value a);
  mlir::Value powerOfTwo(mlir::Value n);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);
  mlir::Value sine(mlir::Value x, int64_t quarters);
  mlir::Value arctangent(mlir::Value x);

  mlir::OpBuilder &builder_;
  mlir::Location loc_;
};

} // namespace soap::cuda

#endif // SOAP_LIB_TARGET_CUDA_DOUBLEFUNCTIONS_H
