//===- SeparateResults.cpp - A tensor per use of an empty one -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"

namespace soap::native {
#define GEN_PASS_DEF_SEPARATERESULTSPASS
#include "soap/Conversion/NNToKernels/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

namespace {
struct SeparateResultsPass
    : native::impl::SeparateResultsPassBase<SeparateResultsPass> {
  void runOnOperation() override {
    SmallVector<tensor::EmptyOp> shared;
    getOperation().walk([&](tensor::EmptyOp op) {
      if (!op->use_empty() && !op->hasOneUse())
        shared.push_back(op);
    });
    for (tensor::EmptyOp op : shared) {
      OpBuilder builder(op);
      for (OpOperand &use :
           llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
        use.set(builder.clone(*op)->getResult(0));
    }
  }
};
} // namespace
