//===- ApproximateMath.cpp - Functions as polynomials ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"

namespace soap::native {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

namespace {
struct ApproximateMathPass
    : native::impl::ApproximateMathPassBase<ApproximateMathPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
