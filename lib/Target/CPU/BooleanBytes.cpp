//===- BooleanBytes.cpp - Booleans in memory as bytes ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "soap/Target/CPU/Passes.h"

namespace soap::native {
#define GEN_PASS_DEF_BOOLEANBYTESPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

namespace {
struct BooleanBytesPass : native::impl::BooleanBytesPassBase<BooleanBytesPass> {
  void runOnOperation() override {
    Type byte = IntegerType::get(&getContext(), 8);
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op);
          load && load.getType().isInteger(1)) {
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(load);
        load.getResult().setType(byte);
        auto boolean = builder.create<LLVM::TruncOp>(
            load.getLoc(), builder.getI1Type(), load.getResult());
        load.getResult().replaceAllUsesExcept(boolean, boolean);
      } else if (auto store = dyn_cast<LLVM::StoreOp>(op);
                 store && store.getValue().getType().isInteger(1)) {
        store.getValueMutable().assign(OpBuilder(store).create<LLVM::ZExtOp>(
            store.getLoc(), byte, store.getValue()));
      }
    });
  }
};
} // namespace
