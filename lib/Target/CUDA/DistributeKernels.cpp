//===- DistributeKernels.cpp - From kernels to launches -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryBuilder.h"
#include "KernelBuffers.h"
#include "KernelProducts.h"
#include "RowGroups.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "soap/Conversion/NNToKernels/KernelAttributes.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Target/CUDA/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace soap::cuda {
#define GEN_PASS_DEF_DISTRIBUTEKERNELSPASS
#include "soap/Target/CUDA/Passes.h.inc"
} // namespace soap::cuda

using namespace mlir;
using namespace soap;
using namespace soap::cuda;

/// What every launch can compute again for itself: it writes nothing, and reads
/// only what the kernel does not write.
static bool isRepeatable(Operation &op, const DenseSet<Value> &written) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isa<BlockArgument>(bufferOf(load.getMemRef())) &&
           !written.contains(bufferOf(load.getMemRef()));
  return isa<memref::AllocOp, memref::DeallocOp, memref::GetGlobalOp,
             ViewLikeOpInterface>(op) ||
         (op.getNumRegions() == 0 && isPure(&op)) ||
         op.hasTrait<OpTrait::IsTerminator>();
}

static bool isShared(Operation &op) { return isa<linalg::LinalgOp>(op); }

static std::optional<int64_t> tripCount(scf::ForOp loop) {
  auto from = getConstantIntValue(loop.getLowerBound());
  auto to = getConstantIntValue(loop.getUpperBound());
  auto step = getConstantIntValue(loop.getStep());
  if (!from || !to || !step || *step <= 0 || loop.getNumResults() != 0)
    return std::nullopt;
  return *to <= *from ? 0 : llvm::divideCeil(uint64_t(*to - *from), *step);
}

/// The nest of loops that `op` is, if iterations of some of them are
/// independent: one launch, whose threads share those.
static std::optional<native::LoopNest> sharedNest(Operation &op) {
  if (!isa<scf::ForOp>(op))
    return std::nullopt;
  std::optional<native::LoopNest> nest = native::LoopNest::find(&op);
  if (!nest)
    return std::nullopt;
  for (unsigned number = 0; number != nest->numLoops(); ++number)
    if (nest->sizes()[number] != 1 && nest->isIndependent(number))
      return nest;
  return std::nullopt;
}

/// How many launches the operations of `block` become, each one with others at
/// its sides; nothing if some of them cannot stand alone.
static std::optional<int64_t> launchCount(Block &block,
                                          const DenseSet<Value> &written) {
  constexpr int64_t mostLaunches = 4096;
  int64_t count = 0;
  for (Operation &op : block) {
    if (isRepeatable(op, written))
      continue;
    if (isShared(op)) {
      ++count;
      continue;
    }
    if (sharedNest(op)) {
      ++count;
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<int64_t> trips = loop ? tripCount(loop) : std::nullopt;
    std::optional<int64_t> inner =
        trips ? launchCount(*loop.getBody(), written) : std::nullopt;
    if (!inner || *inner * *trips > mostLaunches)
      return std::nullopt;
    count += *inner * *trips;
  }
  if (count > mostLaunches)
    return std::nullopt;
  return count;
}

/// True of a loop of which every iteration becomes launches.
static bool isLaunchedLoop(Operation &op, const DenseSet<Value> &written) {
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop && !sharedNest(op) && tripCount(loop) &&
         launchCount(*loop.getBody(), written);
}

namespace {
/// One kernel, on its way to launches.
class KernelSplitter {
public:
  KernelSplitter(ModuleOp module, func::FuncOp kernel)
      : module_(module), kernel_(kernel), builder_(module.getContext()) {}

  LogicalResult run();
  FailureOr<DictionaryAttr> description();

  unsigned blockEntries() const { return blockEntries_; }
  unsigned entries() const { return entries_.size(); }
  unsigned products() const { return products_.size(); }

private:
  struct Entry {
    std::string name;
    WorkSize work;
    SmallVector<scf::ForOp> loops; ///< Whose iterations it is launched in.
  };

  void findProducts(Block &block, Iterations &ivs);
  void findGroups(Block &block);
  LogicalResult planScratch();
  LogicalResult makeEntries(Block &block, SmallVector<scf::ForOp> loops);
  LogicalResult makeEntry(Operation *op, ArrayRef<scf::ForOp> loops);
  int64_t numberOf(Value buffer);
  LogicalResult addLaunches(Block &block, Iterations &ivs,
                            SmallVector<Attribute> &launches);
  void addLaunch(const Entry &entry, const Iterations &ivs,
                 SmallVector<Attribute> &launches);
  LogicalResult addProduct(const KernelProduct &product, const Iterations &ivs,
                           SmallVector<Attribute> &launches);

  ModuleOp module_;
  func::FuncOp kernel_;
  Builder builder_;
  ScratchPlan scratch_;
  DenseSet<Value> written_;
  DenseMap<Operation *, Entry> entries_;
  /// What cuBLASLt computes, in the order of the kernel, without entries.
  llvm::MapVector<Operation *, KernelProduct> products_;
  /// By the last operation of each; those before it have no entry.
  DenseMap<Operation *, RowGroup> groups_;
  DenseSet<Operation *> grouped_;
  unsigned blockEntries_ = 0;
};
} // namespace

/// Finds the products in `block`, and in the loops that become launches, that
/// the library computes.
void KernelSplitter::findProducts(Block &block, Iterations &ivs) {
  for (Operation &op : block) {
    if (isLaunchedLoop(op, written_)) {
      auto loop = cast<scf::ForOp>(op);
      ivs[loop.getInductionVar()] = *getConstantIntValue(loop.getLowerBound());
      findProducts(*loop.getBody(), ivs);
    } else if (auto shared = dyn_cast<linalg::LinalgOp>(op)) {
      if (auto product = KernelProduct::find(shared, ivs))
        products_.insert({&op, *product});
    }
  }
}

/// Finds the groups of linalg operations that follow one another in `block`,
/// and in the loops that become launches.
void KernelSplitter::findGroups(Block &block) {
  SmallVector<linalg::LinalgOp> together;
  auto group = [&] {
    for (ArrayRef<linalg::LinalgOp> rest = together; !rest.empty();) {
      std::optional<RowGroup> found = findRowGroup(rest);
      size_t count = found ? found->parts.size() : 1;
      if (found) {
        for (linalg::LinalgOp op : rest.take_front(count - 1))
          grouped_.insert(op);
        groups_[rest[count - 1]] = std::move(*found);
      }
      rest = rest.drop_front(count);
    }
    together.clear();
  };
  for (Operation &op : block) {
    if (isRepeatable(op, written_) || isTakenUp(op))
      continue;
    auto shared = dyn_cast<linalg::LinalgOp>(op);
    if (shared && !products_.contains(&op)) {
      together.push_back(shared);
      continue;
    }
    group();
    if (isLaunchedLoop(op, written_))
      findGroups(*cast<scf::ForOp>(op).getBody());
  }
  group();
}

LogicalResult KernelSplitter::planScratch() {
  constexpr uint64_t alignment = 256;
  DenseSet<Value> unstored;
  for (const auto &entry : groups_)
    unstored.insert(entry.second.unstored.begin(), entry.second.unstored.end());
  WalkResult result = kernel_.walk([&](memref::AllocOp op) {
    if (unstored.contains(op))
      return WalkResult::advance();
    if (!op.getType().hasStaticShape()) {
      op.emitOpError("expected a buffer of static shape in a kernel of a GPU");
      return WalkResult::interrupt();
    }
    Type element = op.getType().getElementType();
    uint64_t bytes =
        llvm::divideCeil(
            element.isIndex() ? 64 : element.getIntOrFloatBitWidth(), 8) *
        op.getType().getNumElements();
    scratch_.offsets[op] = scratch_.bytes;
    scratch_.bytes += llvm::alignTo(std::max<uint64_t>(bytes, 1), alignment);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelSplitter::makeEntry(Operation *op,
                                        ArrayRef<scf::ForOp> loops) {
  Entry entry;
  entry.name = (kernel_.getName() + "_" + Twine(entries_.size())).str();
  entry.loops.assign(loops.begin(), loops.end());
  EntryBuilder maker(module_, kernel_, scratch_, entry.name, loops);
  if (auto group = groups_.find(op); group != groups_.end()) {
    entry.work = maker.emitRows(group->second);
  } else if (auto shared = dyn_cast<linalg::LinalgOp>(op)) {
    linalg::FillOp fill = fillBefore(shared);
    entry.work = maker.emitOnGrid(shared, fill ? fill.value() : Value());
  } else if (std::optional<native::LoopNest> nest = sharedNest(*op)) {
    entry.work = maker.emitNest(*nest);
  } else {
    ++blockEntries_;
    entry.work.blocks = 1;
    if (failed(maker.emitOnBlock(op)))
      return failure();
  }
  entries_[op] = std::move(entry);
  return success();
}

LogicalResult KernelSplitter::makeEntries(Block &block,
                                          SmallVector<scf::ForOp> loops) {
  for (Operation &op : block) {
    if (isRepeatable(op, written_))
      continue;
    if (isLaunchedLoop(op, written_)) {
      auto loop = cast<scf::ForOp>(op);
      SmallVector<scf::ForOp> inner(loops);
      inner.push_back(loop);
      if (failed(makeEntries(*loop.getBody(), inner)))
        return failure();
      continue;
    }
    if (isTakenUp(op) || grouped_.contains(&op) || products_.contains(&op))
      continue;
    if (failed(makeEntry(&op, loops)))
      return failure();
  }
  return success();
}

LogicalResult KernelSplitter::run() {
  hoistBuffers(kernel_);
  shareCopies(kernel_);
  written_ = writtenBuffers(kernel_);
  Block &body = kernel_.getBody().front();
  // A loop or branch whose results are used, or a load, decides what later
  // operations do: then one block goes through all of the kernel.
  bool standAlone = llvm::all_of(body, [&](Operation &op) {
    return isRepeatable(op, written_) || isShared(op) ||
           (op.getNumRegions() != 0 && op.getNumResults() == 0);
  });
  if (standAlone) {
    Iterations ivs;
    findProducts(body, ivs);
    findGroups(body);
  }
  if (failed(planScratch()))
    return failure();
  return standAlone ? makeEntries(body, {}) : makeEntry(kernel_, {});
}

void KernelSplitter::addLaunch(const Entry &entry, const Iterations &ivs,
                               SmallVector<Attribute> &launches) {
  SmallVector<int64_t> constants;
  for (scf::ForOp loop : entry.loops)
    constants.push_back(ivs.lookup(loop.getInductionVar()));
  NamedAttrList launch;
  launch.set("entry", builder_.getStringAttr(entry.name));
  if (entry.work.blocks)
    launch.set("blocks", builder_.getI64IntegerAttr(entry.work.blocks));
  else
    launch.set("items", builder_.getI64IntegerAttr(entry.work.itemsPerBlock));
  launch.set("constants", builder_.getDenseI64ArrayAttr(constants));
  if (entry.work.holdsRows)
    launch.set("held", builder_.getUnitAttr());
  launches.push_back(launch.getDictionary(builder_.getContext()));
}

/// The number of a buffer: arguments in their order, then the scratch memory.
int64_t KernelSplitter::numberOf(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument ? argument.getArgNumber() : kernel_.getNumArguments();
}

LogicalResult KernelSplitter::addProduct(const KernelProduct &product,
                                         const Iterations &ivs,
                                         SmallVector<Attribute> &launches) {
  std::optional<SmallVector<int64_t>> offsets = product.offsets(ivs);
  if (!offsets)
    return product.op->emitOpError("expected matrices at known places in every "
                                   "iteration of a loop around a product");
  for (auto [offset, view] : llvm::zip(*offsets, product.op->getOperands()))
    if (Operation *made = bufferOf(view).getDefiningOp())
      offset += static_cast<int64_t>(scratch_.offsets.lookup(made));
  NamedAttrList launch;
  int64_t number = products_.find(product.op) - products_.begin();
  launch.set("product", builder_.getI64IntegerAttr(number));
  launch.set("constants", builder_.getDenseI64ArrayAttr(*offsets));
  launches.push_back(launch.getDictionary(builder_.getContext()));
  return success();
}

/// Launches in the order of the kernel.
LogicalResult KernelSplitter::addLaunches(Block &block, Iterations &ivs,
                                          SmallVector<Attribute> &launches) {
  for (Operation &op : block) {
    if (auto entry = entries_.find(&op); entry != entries_.end()) {
      addLaunch(entry->second, ivs, launches);
    } else if (auto product = products_.find(&op); product != products_.end()) {
      if (failed(addProduct(product->second, ivs, launches)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      int64_t from = *getConstantIntValue(loop.getLowerBound());
      int64_t step = *getConstantIntValue(loop.getStep());
      for (int64_t i = 0, trips = *tripCount(loop); i != trips; ++i) {
        ivs[loop.getInductionVar()] = from + i * step;
        if (failed(addLaunches(*loop.getBody(), ivs, launches)))
          return failure();
      }
    }
  }
  return success();
}

FailureOr<DictionaryAttr> KernelSplitter::description() {
  SmallVector<Attribute> launches, products;
  Iterations ivs;
  if (auto whole = entries_.find(kernel_); whole != entries_.end())
    addLaunch(whole->second, ivs, launches);
  else if (failed(addLaunches(kernel_.getBody().front(), ivs, launches)))
    return failure();
  for (const auto &[op, product] : products_)
    products.push_back(product.describe(
        builder_, [&](Value buffer) { return numberOf(buffer); }));
  NamedAttrList result;
  result.set("name", builder_.getStringAttr(kernel_.getName()));
  result.set("scratch", builder_.getI64IntegerAttr(scratch_.bytes));
  result.set("launches", builder_.getArrayAttr(launches));
  if (!products.empty())
    result.set("products", builder_.getArrayAttr(products));
  if (kernel_->hasAttr(native::tf32Attr))
    result.set("tf32", builder_.getUnitAttr());
  return result.getDictionary(builder_.getContext());
}

namespace {
struct DistributeKernelsPass
    : cuda::impl::DistributeKernelsPassBase<DistributeKernelsPass> {
  void runOnOperation() override {
    SmallVector<Attribute> descriptions;
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr(native::keyAttr))
        continue;
      if (failed(verifyNativeArguments(kernel)))
        return signalPassFailure();
      KernelSplitter splitter(getOperation(), kernel);
      if (failed(splitter.run()))
        return signalPassFailure();
      FailureOr<DictionaryAttr> description = splitter.description();
      if (failed(description))
        return signalPassFailure();
      descriptions.push_back(*description);
      numEntries += splitter.entries();
      numProducts += splitter.products();
      numBlockEntries += splitter.blockEntries();
      kernel.erase();
    }
    getOperation()->setAttr(kernelsAttr,
                            ArrayAttr::get(&getContext(), descriptions));
  }
};
} // namespace
