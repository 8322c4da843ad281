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

/// All threads of the warp take part.
static void lowerShuffle(gpu::ShuffleOp op) {
  OpBuilder builder(op);
  auto number = [&](int32_t value) -> Value {
    return builder.create<LLVM::ConstantOp>(op.getLoc(),
                                            builder.getI32IntegerAttr(value));
  };
  Value result = builder.create<NVVM::ShflOp>(
      op.getLoc(), op.getValue().getType(), number(-1), op.getValue(),
      op.getOffset(), number(31), NVVM::ShflKind::bfly, UnitAttr());
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
      if (isa<gpu::GPUDialect>(op->getDialect()))
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
