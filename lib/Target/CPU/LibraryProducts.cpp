//===- LibraryProducts.cpp - Products inside kernels by the library -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/Debug.h"

namespace soap::native {
#define GEN_PASS_DEF_LIBRARYPRODUCTSPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

#define DEBUG_TYPE "native-library-products"

using namespace mlir;
using namespace soap;

/// Below so many multiplications a call takes as long as the loops.
static constexpr int64_t fewMultiplications = 256;

namespace {
/// Which of the three matrices of c += a * b.
enum Matrix { A, B, C };

/// Loops as one: `size` iterations, and the elements from one to the next in
/// each matrix, 0 where it has none of these loops.
struct Loops {
  int64_t size = 1;
  int64_t strides[3] = {0, 0, 0};
};

/// A contraction of matrices as the library computes it: rows of a and c,
/// columns of b and c, the loops of the sum, and others around the call.
struct Product {
  Loops rows, columns, sum;
  SmallVector<Loops> others;
};

/// A matrix of the library: its elements lie side by side in one dimension.
struct Strides {
  int64_t row, column;
};
} // namespace

/// Those of `dims` that run, the largest steps in `first` first.
static SmallVector<Loops> loopsOf(ArrayRef<unsigned> dims,
                                  ArrayRef<Loops> domain, Matrix first) {
  SmallVector<Loops> loops;
  for (unsigned dim : dims)
    if (domain[dim].size != 1)
      loops.push_back(domain[dim]);
  llvm::stable_sort(loops, [&](const Loops &x, const Loops &y) {
    return x.strides[first] > y.strides[first];
  });
  return loops;
}

/// As many of the inner `loops` as one as lie behind each other in every
/// matrix; those outside of them are appended to `others`.
static Loops joined(SmallVector<Loops> loops, SmallVectorImpl<Loops> &others) {
  if (loops.empty())
    return Loops();
  Loops all = loops.pop_back_val();
  while (!loops.empty() && llvm::all_of(llvm::seq(3), [&](int matrix) {
    return loops.back().strides[matrix] == all.strides[matrix] * all.size;
  }))
    all.size *= loops.pop_back_val().size;
  llvm::append_range(others, loops);
  return all;
}

/// How the library reads the elements of `rows` x `columns` in `matrix`, if it
/// can: one of the strides must be 1.
static std::optional<Strides> stridesIn(Matrix matrix, const Loops &rows,
                                        const Loops &columns) {
  Strides strides = {rows.strides[matrix], columns.strides[matrix]};
  if (columns.size == 1)
    strides.column = 1;
  else if (rows.size == 1 && strides.column != 1)
    strides.row = 1;
  if (strides.column == 1) {
    if (rows.size == 1)
      strides.row = columns.size;
    return strides.row >= columns.size ? std::optional(strides) : std::nullopt;
  }
  if (strides.row != 1 || strides.column < rows.size)
    return std::nullopt;
  return strides;
}

/// The loops of `op` with their strides in the three buffers; none if a size or
/// a stride is not known, or if a buffer is not of f32.
static std::optional<SmallVector<Loops>> domainOf(linalg::LinalgOp op) {
  SmallVector<Loops> domain(op.getNumLoops());
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(ranges))
    return std::nullopt;
  for (auto [loops, range] : llvm::zip_equal(domain, ranges))
    loops.size = range;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || !type.getElementType().isF32() ||
        failed(getStridesAndOffset(type, strides, offset)) ||
        llvm::is_contained(strides, ShapedType::kDynamic))
      return std::nullopt;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [result, stride] : llvm::zip_equal(map.getResults(), strides))
      domain[cast<AffineDimExpr>(result).getPosition()]
          .strides[operand.getOperandNumber()] = stride;
  }
  return domain;
}

/// The product that `op` is, if the library computes it faster than loops.
static std::optional<Product> match(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  std::optional<SmallVector<Loops>> domain = domainOf(op);
  if (failed(dims) || !domain)
    return std::nullopt;
  Product product;
  product.others = loopsOf(dims->batch, *domain, C);
  product.rows = joined(loopsOf(dims->m, *domain, C), product.others);
  product.columns = joined(loopsOf(dims->n, *domain, C), product.others);
  product.sum = joined(loopsOf(dims->k, *domain, A), product.others);
  if (product.rows.size * product.columns.size * product.sum.size <
          fewMultiplications ||
      !stridesIn(A, product.rows, product.sum) ||
      !stridesIn(B, product.sum, product.columns))
    return std::nullopt;
  std::optional<Strides> result = stridesIn(C, product.rows, product.columns);
  if (!result || result->column != 1)
    return std::nullopt;
  return product;
}

namespace {
/// Replaces one product by calls.
class Emitter {
public:
  /// `services` points to a soap_native_services.
  Emitter(linalg::LinalgOp op, const Product &product, Value services)
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
  void loop(ArrayRef<Loops> loops, SmallVector<Value> offsets) {
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

  Value pointer(Matrix matrix, ArrayRef<Value> offsets) {
    Value bytes = builder_.create<arith::MulIOp>(loc_, offsets[matrix],
                                                 index(sizeof(float)));
    Value address = builder_.create<arith::IndexCastOp>(
        loc_, builder_.getI64Type(),
        builder_.create<arith::AddIOp>(loc_, bases_[matrix], bytes));
    return builder_.create<LLVM::IntToPtrOp>(loc_, services_.getType(),
                                             address);
  }

  /// Of the first of the services.
  void call(ArrayRef<Value> offsets) {
    const Loops &rows = product_.rows, &columns = product_.columns,
                &sum = product_.sum;
    Strides a = *stridesIn(A, rows, sum), b = *stridesIn(B, sum, columns);
    Type type = services_.getType();
    SmallVector<Value> operands = {
        builder_.create<LLVM::LoadOp>(loc_, type, services_),
        number(rows.size),
        number(columns.size),
        number(sum.size),
        pointer(A, offsets),
        number(a.row),
        number(a.column),
        pointer(B, offsets),
        number(b.row),
        number(b.column),
        pointer(C, offsets),
        number(stridesIn(C, rows, columns)->row)};
    SmallVector<Type> types(
        llvm::map_range(ArrayRef(operands).drop_front(),
                        [](Value operand) { return operand.getType(); }));
    builder_.create<LLVM::CallOp>(
        loc_,
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(builder_.getContext()), types),
        operands);
  }

  OpBuilder builder_;
  Location loc_;
  const Product &product_;
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
    SmallVector<std::pair<linalg::LinalgOp, Product>> products;
    kernel.walk([&](linalg::LinalgOp op) {
      if (std::optional<Product> product = match(op))
        products.push_back({op, *product});
    });
    LLVM_DEBUG(llvm::dbgs() << "kernel " << kernel.getName() << ": "
                            << products.size() << " products\n");
    if (products.empty())
      return;
    unsigned last = kernel.getNumArguments();
    kernel.insertArgument(last, LLVM::LLVMPointerType::get(&getContext()), {},
                          kernel.getLoc());
    for (auto &[op, product] : products) {
      Emitter(op, product, kernel.getArgument(last)).emit(op->getOperands());
      op->erase();
    }
  }
};
} // namespace
