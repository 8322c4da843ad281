//===- AnnotateKernels.cpp - What LLVM may assume of kernels --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CPU/Passes.h"

namespace soap::native {
#define GEN_PASS_DEF_ANNOTATEKERNELSPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

using namespace mlir;
using namespace soap;

namespace {
struct AnnotateKernelsPass
    : native::impl::AnnotateKernelsPassBase<AnnotateKernelsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal())
        continue;
      auto pointers = dyn_cast_or_null<DenseI64ArrayAttr>(
          function->removeAttr(native::noaliasAttr));
      for (int64_t index :
           pointers ? pointers.asArrayRef() : ArrayRef<int64_t>())
        function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                            UnitAttr::get(&getContext()));
      if (function.isPrivate() || function->hasAttr(native::parallelAttr))
        function.setLinkage(LLVM::Linkage::Internal);
      bool parallel =
          static_cast<bool>(function->removeAttr(native::parallelAttr));
      annotateLoops(function, parallel);
    }
  }

private:
  /// Keeps LLVM from unrolling loops around loops: copies of short rows would
  /// become blocks of thousands of instructions, which LLVM schedules in time
  /// that grows with their square. In `parallel` functions all accesses are put
  /// into a group, and every loop says that accesses of this group do not
  /// depend on another iteration.
  void annotateLoops(LLVM::LLVMFuncOp function, bool parallel) {
    Region &body = function.getBody();
    if (body.hasOneBlock())
      return;
    MLIRContext *context = &getContext();
    SmallVector<LLVM::AccessGroupAttr> groups;
    if (parallel) {
      groups.push_back(LLVM::AccessGroupAttr::get(
          context, DistinctAttr::create(UnitAttr::get(context))));
      ArrayAttr list = ArrayAttr::get(context, groups[0]);
      function.walk([&](Operation *op) {
        if (auto load = dyn_cast<LLVM::LoadOp>(op))
          load.setAccessGroupsAttr(list);
        else if (auto store = dyn_cast<LLVM::StoreOp>(op))
          store.setAccessGroupsAttr(list);
      });
    }
    auto whole = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
        {});
    DominanceInfo dominance(function);
    CFGLoopInfo loops(dominance.getDomTree(&body));
    for (CFGLoop *loop : loops.getLoopsInPreorder()) {
      LLVM::LoopUnrollAttr unroll =
          loop->isInnermost() ? LLVM::LoopUnrollAttr() : whole;
      if (!parallel && !unroll)
        continue;
      auto annotation =
          LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                        {}, {}, {}, {}, {}, {}, {}, groups);
      SmallVector<Block *> latches;
      loop->getLoopLatches(latches);
      for (Block *latch : latches)
        if (auto branch = dyn_cast<LLVM::BrOp>(latch->getTerminator()))
          branch.setLoopAnnotationAttr(annotation);
        else if (auto branch = dyn_cast<LLVM::CondBrOp>(latch->getTerminator()))
          branch.setLoopAnnotationAttr(annotation);
    }
  }
};
} // namespace
