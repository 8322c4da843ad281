//===- DoubleMath.cpp - Functions that need f64 ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoubleFunctions.h"
#include "soap/Target/CUDA/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace soap::cuda {
#define GEN_PASS_DEF_DOUBLEMATHPASS
#include "soap/Target/CUDA/Passes.h.inc"
} // namespace soap::cuda

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

/// What replaces `op`, of f64 operands; null: `op` stays.
static Value replacement(DoubleFunctions &functions, Operation *op,
                         ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return functions.exp(operands[0]); })
      .Case<math::LogOp>([&](auto) { return functions.log(operands[0]); })
      .Case<math::Log1pOp>([&](auto) { return functions.log1p(operands[0]); })
      .Case<math::TanhOp>([&](auto) { return functions.tanh(operands[0]); })
      .Case<math::ErfOp>([&](auto) { return functions.erf(operands[0]); })
      .Case<math::SinOp>([&](auto) { return functions.sin(operands[0]); })
      .Case<math::CosOp>([&](auto) { return functions.cos(operands[0]); })
      .Case<math::AcosOp>([&](auto) { return functions.acos(operands[0]); })
      .Case<math::PowFOp>(
          [&](auto) { return functions.pow(operands[0], operands[1]); })
      .Default([](Operation *) { return Value(); });
}

namespace {
struct DoubleMathPass : cuda::impl::DoubleMathPassBase<DoubleMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          (isa<math::PowFOp>(op) || op->getResult(0).getType().isF64()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Type type = op->getResult(0).getType(), f64 = builder.getF64Type();
      auto floating = dyn_cast<FloatType>(type);
      if (!floating)
        continue;
      SmallVector<Value> operands(op->getOperands());
      if (type != f64)
        for (Value &operand : operands)
          operand = builder.create<arith::ExtFOp>(op->getLoc(), f64, operand);
      DoubleFunctions functions(builder, op->getLoc());
      Value result = replacement(functions, op, operands);
      if (!result)
        continue;
      if (type != f64)
        result = builder.create<arith::TruncFOp>(op->getLoc(), type, result);
      op->replaceAllUsesWith(ValueRange{result});
      op->erase();
    }
  }
};
} // namespace
