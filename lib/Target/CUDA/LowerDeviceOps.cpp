//===- LowerDeviceOps.cpp - From gpu to NVVM ------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Target/CUDA/Passes.h"

namespace soap::cuda {
#define GEN_PASS_DEF_LOWERDEVICEOPSPASS
#define GEN_PASS_DEF_ANNOTATEENTRIESPASS
#include "soap/Target/CUDA/Passes.h.inc"
} // namespace soap::cuda

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

/// Reads a special register of the x dimension, the only one that is used.
template <typename RegisterOp>
static void readRegister(Operation *op) {
  OpBuilder builder(op);
  Value narrow = builder.create<RegisterOp>(op->getLoc(), builder.getI32Type());
  Value wide = builder.create<arith::IndexCastUIOp>(
      op->getLoc(), builder.getIndexType(), narrow);
  op->getResult(0).replaceAllUsesWith(wide);
  op->erase();
}

/// All threads of the warp take part. Values of 64 bits go in halves.
static void lowerShuffle(gpu::ShuffleOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto number = [&](int32_t value) -> Value {
    return builder.create<LLVM::ConstantOp>(loc,
                                            builder.getI32IntegerAttr(value));
  };
  auto exchanged = [&](Value value) -> Value {
    return builder.create<NVVM::ShflOp>(loc, value.getType(), number(-1), value,
                                        op.getOffset(), number(31),
                                        NVVM::ShflKind::bfly, UnitAttr());
  };
  Type type = op.getValue().getType();
  Value result;
  if (type.getIntOrFloatBitWidth() == 32) {
    result = exchanged(op.getValue());
  } else {
    Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
    Value half =
        builder.create<LLVM::ConstantOp>(loc, builder.getI64IntegerAttr(32));
    Value bits = op.getValue();
    if (type != i64)
      bits = builder.create<arith::BitcastOp>(loc, i64, bits);
    Value low = exchanged(builder.create<arith::TruncIOp>(loc, i32, bits));
    Value high = exchanged(builder.create<arith::TruncIOp>(
        loc, i32, builder.create<arith::ShRUIOp>(loc, bits, half)));
    result = builder.create<arith::OrIOp>(
        loc, builder.create<arith::ExtUIOp>(loc, i64, low),
        builder.create<arith::ShLIOp>(
            loc, builder.create<arith::ExtUIOp>(loc, i64, high), half));
    if (type != i64)
      result = builder.create<arith::BitcastOp>(loc, type, result);
  }
  op.getShuffleResult().replaceAllUsesWith(result);
  op.erase();
}

namespace {
/// Upstream's convert-gpu-to-nvvm works on gpu.func alone, and makes calls of
/// libdevice of what the math dialect has.
struct LowerDeviceOpsPass
    : cuda::impl::LowerDeviceOpsPassBase<LowerDeviceOpsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<gpu::GPUDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (isa<gpu::ThreadIdOp>(op)) {
        readRegister<NVVM::ThreadIdXOp>(op);
      } else if (isa<gpu::BlockIdOp>(op)) {
        readRegister<NVVM::BlockIdXOp>(op);
      } else if (isa<gpu::GridDimOp>(op)) {
        readRegister<NVVM::GridDimXOp>(op);
      } else if (isa<gpu::BarrierOp>(op)) {
        OpBuilder(op).create<NVVM::Barrier0Op>(op->getLoc());
        op->erase();
      } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
        lowerShuffle(shuffle);
      } else {
        op->emitOpError("expected numbers of threads and blocks, barriers and "
                        "shuffles");
        return signalPassFailure();
      }
    }
  }
};

struct AnnotateEntriesPass
    : cuda::impl::AnnotateEntriesPassBase<AnnotateEntriesPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto threads =
          dyn_cast_or_null<IntegerAttr>(function->removeAttr(threadsAttr));
      if (!threads) {
        if (!function.isExternal())
          function.setLinkage(LLVM::Linkage::Internal);
        continue;
      }
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                        builder.getUnitAttr());
      function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                        builder.getDenseI32ArrayAttr(
                            {static_cast<int32_t>(threads.getInt()), 1, 1}));
    }
  }
};
} // namespace
