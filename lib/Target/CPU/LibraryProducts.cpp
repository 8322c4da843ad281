//===- LibraryProducts.cpp - Products inside kernels by the library -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Services.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/MatrixProducts.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/Debug.h"

namespace soap::native {
#define GEN_PASS_DEF_LIBRARYPRODUCTSPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

#define DEBUG_TYPE "native-library-products"

using namespace mlir;
using namespace soap;
using native::MatrixProduct;

/// Below so many multiplications a call takes as long as the loops.
static constexpr int64_t fewMultiplications = 256;

namespace {
/// Replaces one product by calls.
class Emitter {
public:
  /// `services` points to a soap_native_services.
  Emitter(linalg::LinalgOp op, const MatrixProduct &product, Value services)
      : builder_(op), loc_(op.getLoc()), product_(product),
        services_(services) {}

  void emit(ValueRange buffers) {
    SmallVector<Value> offsets;
    for (Value buffer : buffers) {
      auto metadata =
          builder_.create<memref::ExtractStridedMetadataOp>(loc_, buffer);
      bases_.push_back(builder_.create<memref::ExtractAlignedPointerAsIndexOp>(
          loc_, buffer));
      offsets.push_back(metadata.getOffset());
    }
    loop(product_.others, offsets);
  }

private:
  Value index(int64_t value) {
    return builder_.create<arith::ConstantIndexOp>(loc_, value);
  }
  Value number(int64_t value) {
    return builder_.create<arith::ConstantIntOp>(loc_, value, 64);
  }

  /// One loop for each of `loops`, around the call. `offsets` are the elements
  /// from the start of each buffer on.
  void loop(ArrayRef<MatrixProduct::Loops> loops, SmallVector<Value> offsets) {
    if (loops.empty())
      return call(offsets);
    auto op = builder_.create<scf::ForOp>(loc_, index(0),
                                          index(loops.front().size), index(1));
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(op.getBody());
    for (auto [offset, stride] :
         llvm::zip_equal(offsets, loops.front().strides)) {
      Value moved = builder_.create<arith::MulIOp>(loc_, op.getInductionVar(),
                                                   index(stride));
      offset = builder_.create<arith::AddIOp>(loc_, offset, moved);
    }
    loop(loops.drop_front(), offsets);
  }

  Value pointer(MatrixProduct::Matrix matrix, ArrayRef<Value> offsets) {
    Value bytes = builder_.create<arith::MulIOp>(loc_, offsets[matrix],
                                                 index(sizeof(float)));
    Value address = builder_.create<arith::IndexCastOp>(
        loc_, builder_.getI64Type(),
        builder_.create<arith::AddIOp>(loc_, bases_[matrix], bytes));
    return builder_.create<LLVM::IntToPtrOp>(loc_, services_.getType(),
                                             address);
  }

  void call(ArrayRef<Value> offsets) {
    MatrixProduct::Strides a = product_.stridesOf(MatrixProduct::A);
    MatrixProduct::Strides b = product_.stridesOf(MatrixProduct::B);
    SmallVector<Value> operands = {
        number(product_.rows.size),
        number(product_.columns.size),
        number(product_.sum.size),
        pointer(MatrixProduct::A, offsets),
        number(a.row),
        number(a.column),
        pointer(MatrixProduct::B, offsets),
        number(b.row),
        number(b.column),
        pointer(MatrixProduct::C, offsets),
        number(product_.stridesOf(MatrixProduct::C).row)};
    callService(builder_, loc_, services_, &soap_native_services::product,
                LLVM::LLVMVoidType::get(builder_.getContext()), operands);
  }

  OpBuilder builder_;
  Location loc_;
  const MatrixProduct &product_;
  Value services_;
  SmallVector<Value> bases_; ///< Addresses of the buffers, as index.
};

struct LibraryProductsPass
    : native::impl::LibraryProductsPassBase<LibraryProductsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(native::keyAttr))
      return;
    SmallVector<std::pair<linalg::LinalgOp, MatrixProduct>> products;
    kernel.walk([&](linalg::LinalgOp op) {
      std::optional<MatrixProduct> product = native::findMatrixProduct(op);
      if (product && product->multiplications() >= fewMultiplications &&
          product->rows.size * product->columns.size > 1)
        products.push_back({op, *product});
    });
    LLVM_DEBUG(llvm::dbgs() << "kernel " << kernel.getName() << ": "
                            << products.size() << " products\n");
    if (products.empty())
      return;
    Value services = getServices(kernel);
    for (auto &[op, product] : products) {
      Emitter(op, product, services).emit(op->getOperands());
      op->erase();
    }
  }
};
} // namespace
