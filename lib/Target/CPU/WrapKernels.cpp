//===- WrapKernels.cpp - Kernels as the runtime calls them ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/Debug.h"

namespace soap::native {
#define GEN_PASS_DEF_WRAPKERNELSPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

#define DEBUG_TYPE "native-wrap-kernels"

using namespace mlir;
using namespace soap;

/// A memref of the buffer `pointer`. Sizes that are not static come from the
/// entries `dims` of `sizes`.
static Value buildMemRef(OpBuilder &builder, Location loc, MemRefType type,
                         Value pointer, Value sizes, ArrayRef<int64_t> dims) {
  Type i64 = builder.getI64Type();
  return buildMemRefAt(builder, loc, type, pointer, [&](int64_t dim) -> Value {
    Value address = builder.create<LLVM::GEPOp>(
        loc, sizes.getType(), i64, sizes,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(dims[dim])});
    return builder.create<LLVM::LoadOp>(loc, i64, address);
  });
}

namespace {
struct WrapKernelsPass : native::impl::WrapKernelsPassBase<WrapKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    for (auto body :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!body->hasAttr(native::keyAttr))
        continue;
      if (failed(verifyNativeArguments(body)))
        return signalPassFailure();
      Location loc = body.getLoc();
      std::string name = body.getName().str();
      body.setName(name + "_body");
      body.setPrivate();
      builder.setInsertionPointAfter(body);
      auto wrapper = builder.create<func::FuncOp>(
          loc, name, builder.getFunctionType({pointer, pointer}, {}));
      // The key moves to the function that is called.
      wrapper->setAttr(native::keyAttr, body->removeAttr(native::keyAttr));
      builder.setInsertionPointToStart(wrapper.addEntryBlock());
      SmallVector<Value> arguments;
      SmallVector<int64_t> noalias;
      int64_t converted = 0; // Arguments of the body in the LLVM dialect.
      for (auto [index, type] : llvm::enumerate(body.getArgumentTypes())) {
        Value address = builder.create<LLVM::GEPOp>(
            loc, pointer, pointer, wrapper.getArgument(0),
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
        Value buffer = builder.create<LLVM::LoadOp>(loc, pointer, address);
        if (type == pointer) { // The services, behind all buffers.
          arguments.push_back(buffer);
          continue;
        }
        auto dims =
            body.getArgAttrOfType<DenseI64ArrayAttr>(index, native::sizesAttr);
        arguments.push_back(
            buildMemRef(builder, loc, cast<MemRefType>(type), buffer,
                        wrapper.getArgument(1),
                        dims ? dims.asArrayRef() : ArrayRef<int64_t>()));
        // Its attributes are lost.
        if (body.getArgAttr(index, native::noaliasAttr))
          noalias.push_back(converted + 1);
        converted += convertedArguments(cast<MemRefType>(type));
      }
      LLVM_DEBUG(llvm::dbgs() << "kernel " << name << ": " << arguments.size()
                              << " arguments, " << noalias.size()
                              << " of them without alias\n");
      body->setAttr(native::noaliasAttr, builder.getDenseI64ArrayAttr(noalias));
      builder.create<func::CallOp>(loc, body, arguments);
      builder.create<func::ReturnOp>(loc);
    }
  }
};
} // namespace
