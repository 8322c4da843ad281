//===- SplitLoops.cpp - Loops of kernels on all threads -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"
#include "Services.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/NNToKernels/Bufferization.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Target/CPU/Passes.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"

namespace soap::native {
#define GEN_PASS_DEF_SPLITLOOPSPASS
#include "soap/Target/CPU/Passes.h.inc"
} // namespace soap::native

#define DEBUG_TYPE "native-split-loops"

using namespace mlir;
using namespace soap;
using native::LoopNest;
using native::LoopPlan;
using native::ParallelNest;

namespace {
/// What a part of a kernel is given: buffers and numbers.
class Handed {
public:
  Handed(MLIRContext *context, ArrayRef<Value> values) : values_(values) {
    SmallVector<Type> fields;
    for (Value value : values)
      fields.push_back(fieldType(context, value.getType()));
    type_ = LLVM::LLVMStructType::getLiteral(context, fields);
  }

  /// Writes the values to memory on the stack of the kernel.
  Value store(OpBuilder &builder, Location loc, Block &entry) const {
    Value memory;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&entry);
      Value one = builder.create<arith::ConstantIntOp>(loc, 1, 64);
      memory = builder.create<LLVM::AllocaOp>(
          loc, LLVM::LLVMPointerType::get(builder.getContext()), type_, one);
    }
    for (auto [number, value] : llvm::enumerate(values_))
      builder.create<LLVM::StoreOp>(loc, fieldOf(builder, loc, value),
                                    addressOf(builder, loc, memory, number));
    return memory;
  }

  /// The values again.
  SmallVector<Value> load(OpBuilder &builder, Location loc,
                          Value memory) const {
    SmallVector<Value> loaded;
    for (auto [number, value] : llvm::enumerate(values_)) {
      Type field = type_.getBody()[number];
      Value element = builder.create<LLVM::LoadOp>(
          loc, field, addressOf(builder, loc, memory, number));
      if (auto buffer = dyn_cast<MemRefType>(value.getType()))
        element = buildMemRefAt(builder, loc, buffer, element, {});
      else if (value.getType().isIndex())
        element = builder.create<arith::IndexCastOp>(
            loc, builder.getIndexType(), element);
      loaded.push_back(element);
    }
    return loaded;
  }

private:
  static Type fieldType(MLIRContext *context, Type type) {
    if (isa<MemRefType>(type))
      return LLVM::LLVMPointerType::get(context);
    return type.isIndex() ? IntegerType::get(context, 64) : type;
  }

  static Value fieldOf(OpBuilder &builder, Location loc, Value value) {
    if (isa<MemRefType>(value.getType())) {
      Value address = builder.create<arith::IndexCastOp>(
          loc, builder.getI64Type(),
          builder.create<memref::ExtractAlignedPointerAsIndexOp>(loc, value));
      return builder.create<LLVM::IntToPtrOp>(
          loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
    }
    if (value.getType().isIndex())
      return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                value);
    return value;
  }

  Value addressOf(OpBuilder &builder, Location loc, Value memory,
                  size_t number) const {
    return builder.create<LLVM::GEPOp>(
        loc, memory.getType(), type_, memory,
        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(number)});
  }

  ArrayRef<Value> values_;
  LLVM::LLVMStructType type_;
};

/// Splits the loops of one kernel.
class KernelSplitter {
public:
  KernelSplitter(func::FuncOp kernel, int64_t leastWork)
      : kernel_(kernel), rewriter_(kernel), leastWork_(leastWork) {}

  void run() {
    run(kernel_.getBody().front());
    LLVM_DEBUG(llvm::dbgs() << "kernel " << kernel_.getName() << ": " << parts_
                            << " parts run on all threads\n");
  }

private:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      Operation *nest = &op;
      if (auto copy = dyn_cast<memref::CopyOp>(op))
        if (linalg::LinalgOp expanded = expand(copy))
          nest = expanded;
      if (std::optional<ParallelNest> found = ParallelNest::find(nest)) {
        append(std::move(*found));
        continue;
      }
      // What neither reads nor writes leaves operations before it free to run
      // behind it.
      if (!isMemoryEffectFree(nest) &&
          !isa<memref::AllocOp, memref::AllocaOp>(nest))
        flush();
      if (isa<linalg::LinalgOp>(nest))
        continue;
      for (Region &region : nest->getRegions())
        for (Block &inner : region)
          run(inner);
    }
    flush();
  }

  /// A long copy of a contiguous buffer as an operation; null for another.
  linalg::LinalgOp expand(memref::CopyOp copy) {
    auto type = cast<MemRefType>(copy.getSource().getType());
    if (type.getRank() == 0 || native::workOfCopy(type) < 2 * leastWork_)
      return {};
    const ReassociationIndices all[] = {
        llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()))};
    if (!llvm::all_of(copy->getOperandTypes(), [&](Type side) {
          auto buffer = cast<MemRefType>(side);
          return memref::isStaticShapeAndContiguousRowMajor(buffer) &&
                 memref::CollapseShapeOp::isGuaranteedCollapsible(buffer, all);
        }))
      return {};
    rewriter_.setInsertionPoint(copy);
    auto flat = [&](Value buffer) -> Value {
      return type.getRank() == 1 ? buffer
                                 : rewriter_.create<memref::CollapseShapeOp>(
                                       copy.getLoc(), buffer,
                                       ArrayRef<ReassociationIndices>(all));
    };
    Value source = flat(copy.getSource()), target = flat(copy.getTarget());
    auto result =
        rewriter_.create<linalg::CopyOp>(copy.getLoc(), source, target);
    rewriter_.eraseOp(copy);
    return result;
  }

  /// Adds a nest to those that are dealt out together, or begins anew.
  void append(ParallelNest nest) {
    nests_.push_back(std::move(nest));
    std::optional<LoopPlan> plan = native::planLoops(nests_, leastWork_);
    if (plan) {
      plan_ = std::move(plan);
      return;
    }
    ParallelNest last = nests_.pop_back_val();
    flush();
    nests_.push_back(std::move(last));
    plan_ = native::planLoops(nests_, leastWork_);
  }

  void flush() {
    int64_t work = 0;
    for (const ParallelNest &nest : nests_)
      work += nest.work;
    if (int64_t parts =
            nests_.empty() ? 1 : std::min(work / leastWork_, plan_->pieces);
        parts > 1)
      outline(parts);
    nests_.clear();
    plan_.reset();
  }

  /// Replaces the nests by one call of the service.
  void outline(int64_t parts) {
    llvm::SetVector<Value> values;
    for (const ParallelNest &nest : nests_)
      for (Value value : nest.nest.usedValues())
        collect(value, values);
    Handed handed(rewriter_.getContext(), values.getArrayRef());
    func::FuncOp body = buildCall(handed, buildPart(values.getArrayRef()));

    Operation *last = nests_.back().nest.getOperation();
    Location loc = last->getLoc();
    rewriter_.setInsertionPoint(last);
    Value services = getServices(kernel_);
    Value function =
        rewriter_
            .create<UnrealizedConversionCastOp>(
                loc, services.getType(),
                rewriter_
                    .create<func::ConstantOp>(loc, body.getFunctionType(),
                                              body.getName())
                    .getResult())
            .getResult(0);
    auto number = [&](int64_t value) -> Value {
      return rewriter_.create<arith::ConstantIntOp>(loc, value, 64);
    };
    Value memory =
        handed.store(rewriter_, loc, kernel_.getFunctionBody().front());
    callService(rewriter_, loc, services, &soap_native_services::parallel,
                LLVM::LLVMVoidType::get(rewriter_.getContext()),
                {number(plan_->pieces), number(parts), function, memory});
    for (const ParallelNest &nest : nests_)
      rewriter_.eraseOp(nest.nest.getOperation());
  }

  /// Adds what `value` is made of, and a function has to be given.
  static void collect(Value value, llvm::SetVector<Value> &values) {
    Operation *op = value.getDefiningOp();
    if (!op || !native::isRepeated(op)) {
      values.insert(value);
      return;
    }
    for (Value operand : op->getOperands())
      collect(operand, values);
  }

  /// A function (begin, end, values): the pieces from begin on, below end, of
  /// each nest.
  func::FuncOp buildPart(ArrayRef<Value> values) {
    Location loc = nests_.front().nest.getOperation()->getLoc();
    Type index = rewriter_.getIndexType();
    SmallVector<Type> types = {index, index};
    // The values in the LLVM dialect, where buffers do not overlap.
    SmallVector<int64_t> noalias;
    int64_t converted = 2;
    for (Value value : values) {
      types.push_back(value.getType());
      if (auto buffer = dyn_cast<MemRefType>(value.getType())) {
        noalias.push_back(converted + 1);
        converted += convertedArguments(buffer);
      } else {
        ++converted;
      }
    }
    func::FuncOp part = buildFunction("_part", types);
    part->setAttr(native::noaliasAttr, rewriter_.getDenseI64ArrayAttr(noalias));
    IRMapping mapping;
    mapping.map(values, part.getArguments().drop_front(2));
    Value begin = part.getArgument(0), end = part.getArgument(1);
    for (auto [nest, loop] : llvm::zip_equal(nests_, plan_->loops)) {
      for (Value value : nest.nest.usedValues())
        repeat(value, mapping);
      auto [lower, upper] = boundsOf(loop, begin, end);
      scf::ForOp split = cloneLoops(nest.nest, mapping)[loop.number];
      split.setLowerBound(lower);
      split.setUpperBound(upper);
    }
    rewriter_.create<func::ReturnOp>(loc);
    return part;
  }

  /// The loops of a copy of `nest`, of which nothing but loops is left.
  SmallVector<scf::ForOp> cloneLoops(const LoopNest &nest, IRMapping &mapping) {
    rewriter_.clone(*nest.getOperation(), mapping);
    SmallVector<scf::ForOp> loops;
    for (scf::ForOp loop : nest.forLoops())
      loops.push_back(cast<scf::ForOp>(mapping.lookup(loop.getOperation())));
    if (linalg::LinalgOp op = nest.computation()) {
      auto copy = cast<linalg::LinalgOp>(mapping.lookup(op.getOperation()));
      OpBuilder::InsertionGuard guard(rewriter_);
      rewriter_.setInsertionPoint(copy);
      FailureOr<linalg::LinalgLoops> own =
          linalg::linalgOpToLoops(rewriter_, copy);
      assert(succeeded(own) && "an operation on buffers has loops");
      for (Operation *loop : *own)
        loops.push_back(cast<scf::ForOp>(loop));
      rewriter_.eraseOp(copy);
    }
    return loops;
  }

  /// The iterations of the pieces from `begin` on, below `end`.
  std::pair<Value, Value> boundsOf(const LoopPlan::Loop &loop, Value begin,
                                   Value end) {
    Location loc = begin.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return rewriter_.create<arith::ConstantIndexOp>(loc, value);
    };
    if (loop.grain != 1) {
      Value grain = constant(loop.grain);
      begin = rewriter_.create<arith::MulIOp>(loc, begin, grain);
      end = rewriter_.create<arith::MulIOp>(loc, end, grain);
    }
    if (loop.size % loop.grain != 0)
      end = rewriter_.create<arith::MinSIOp>(loc, end, constant(loop.size));
    if (SOAP_FAULT("part-iteration-lost"))
      end = rewriter_.create<arith::SubIOp>(loc, end, constant(1));
    return {begin, end};
  }

  /// Makes a view or constant again in the function that is built.
  void repeat(Value value, IRMapping &mapping) {
    if (mapping.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      repeat(operand, mapping);
    rewriter_.clone(*op, mapping);
  }

  /// A function (data, begin, end) that calls `part` with what lies at `data`.
  func::FuncOp buildCall(const Handed &handed, func::FuncOp part) {
    Location loc = part.getLoc();
    Type i64 = rewriter_.getI64Type(), index = rewriter_.getIndexType();
    func::FuncOp call = buildFunction(
        "_call",
        {LLVM::LLVMPointerType::get(rewriter_.getContext()), i64, i64});
    SmallVector<Value> operands;
    for (Value bound : call.getArguments().drop_front())
      operands.push_back(
          rewriter_.create<arith::IndexCastOp>(loc, index, bound));
    llvm::append_range(operands,
                       handed.load(rewriter_, loc, call.getArgument(0)));
    rewriter_.create<func::CallOp>(loc, part, operands);
    rewriter_.create<func::ReturnOp>(loc);
    ++parts_;
    return call;
  }

  /// An empty function of this kernel's, in front of it; goes on in it.
  func::FuncOp buildFunction(StringRef suffix, ArrayRef<Type> types) {
    rewriter_.setInsertionPoint(kernel_);
    auto function = rewriter_.create<func::FuncOp>(
        kernel_.getLoc(), (kernel_.getName() + suffix + Twine(parts_)).str(),
        rewriter_.getFunctionType(types, {}));
    function.setPrivate();
    rewriter_.setInsertionPointToStart(function.addEntryBlock());
    return function;
  }

  func::FuncOp kernel_;
  IRRewriter rewriter_;
  int64_t leastWork_;
  int64_t parts_ = 0;
  SmallVector<ParallelNest> nests_; ///< Dealt out together.
  std::optional<LoopPlan> plan_;
};

struct SplitLoopsPass : native::impl::SplitLoopsPassBase<SplitLoopsPass> {
  using SplitLoopsPassBase::SplitLoopsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (auto kernel : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(native::keyAttr) && !kernel.isExternal())
        KernelSplitter(kernel, std::max<int64_t>(leastWork, 1)).run();
  }
};
} // namespace
