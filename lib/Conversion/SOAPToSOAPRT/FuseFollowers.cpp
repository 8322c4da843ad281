//===- FuseFollowers.cpp - What a library does behind its kernels ---------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramUses.h"
#include "mlir/IR/IRMapping.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Target/ChosenTarget.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/Support/Debug.h"
#include <map>
#include <tuple>

#define DEBUG_TYPE "soaprt-fuse-followers"

namespace soap {
#define GEN_PASS_DEF_FUSEFOLLOWERSPASS
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;
using soaprt::KernelOp;
using soaprt::LaunchOp;
using soaprt::RowOpInterface;

namespace {
/// Two launches that become one, and how.
struct Fusion {
  LaunchOp anchor, follower;
  unsigned number = 0; ///< Of the follower's input that the anchor writes.
  /// The follower's input that the result takes the place of.
  std::optional<unsigned> inPlace;
};

/// Makes the kernels of launches that become one.
class FollowedKernels {
public:
  explicit FollowedKernels(ModuleOp module) : symbols_(module) {}

  KernelOp lookup(LaunchOp launch) const {
    return symbols_.lookup<KernelOp>(launch.getKernel());
  }
  /// `row`: the launch that the two become.
  KernelOp getOrCreate(const Fusion &fusion, LaunchOp row);
  /// Makes a kernel apply a relu to its result, which is a part of a sum.
  KernelOp plantBeforeSum(KernelOp kernel);
  void eraseUnused(ModuleOp module) { eraseUnlaunched(module, symbols_); }

private:
  SymbolTable symbols_;
  std::map<std::tuple<Operation *, Operation *, unsigned, int64_t>, KernelOp>
      made_;
};

/// The followers of one program of a device.
class ProgramFollowers {
public:
  ProgramFollowers(soaprt::DeviceOp device, soaprt::MainOp main,
                   FollowedKernels &kernels, const Target &target, bool keepNaN)
      : main_(main), kernels_(kernels), target_(target), keepNaN_(keepNaN),
        uses_(device) {}
  void run();
  int64_t numFused = 0, numInPlace = 0;

private:
  std::optional<Fusion> findFusion(LaunchOp follower);
  LaunchOp findAnchor(Value value, LaunchOp follower);
  bool isThereBefore(Value value, LaunchOp anchor);
  bool canOverwrite(Value value, const Fusion &fusion);
  void fuse(const Fusion &fusion);
  void plantBeforeSum();

  soaprt::MainOp main_;
  FollowedKernels &kernels_;
  const Target &target_;
  bool keepNaN_;
  ProgramUses uses_;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The operands and results of a launch with channels last, by number.
static DenseI64ArrayAttr channelsLastOf(LaunchOp launch) {
  SmallVector<int64_t> last;
  SmallVector<Value> values(launch.getInputs());
  values.append(launch.getOutputs().begin(), launch.getOutputs().end());
  for (auto [number, value] : llvm::enumerate(values))
    if (cast<soaprt::BufferType>(value.getType()).isChannelsLast())
      last.push_back(number);
  return last.empty() ? DenseI64ArrayAttr()
                      : DenseI64ArrayAttr::get(launch.getContext(), last);
}

/// Appends a copy of `op` to a kernel's body: operand `number` is the result so
/// far, the others become operands of the kernel.
static void appendFollower(KernelOp kernel, Operation *op, unsigned number) {
  Block &block = kernel.getBlock();
  Operation *yield = block.getTerminator();
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    mapping.map(operand, index == number
                             ? yield->getOperand(0)
                             : Value(block.addArgument(operand.getType(),
                                                       op->getLoc())));
  Operation *clone = OpBuilder(yield).clone(*op, mapping);
  makeNameUnique(clone);
  yield->setOperand(0, clone->getResult(0));
}

KernelOp FollowedKernels::getOrCreate(const Fusion &fusion, LaunchOp row) {
  KernelOp anchor = lookup(fusion.anchor), follower = lookup(fusion.follower);
  KernelOp &made =
      made_[{anchor, follower, fusion.number,
             fusion.inPlace ? static_cast<int64_t>(*fusion.inPlace) : -1}];
  if (made)
    return made;
  made = cast<KernelOp>(anchor->clone());
  symbols_.insert(made, Block::iterator(anchor));
  appendFollower(made, follower.getAnchor(), fusion.number);
  // Costs are read so: firstOfJoined().
  made.setKey((anchor.getKey() + " + " + follower.getKey()).str());
  APFloat flops = anchor.getFlops();
  flops.add(follower.getFlops(), APFloat::rmNearestTiesToEven);
  made.setFlops(flops);
  if (DenseI64ArrayAttr last = channelsLastOf(row))
    made.setChannelsLastAttr(last);
  if (std::optional<uint64_t> place = row.getInPlace())
    made.setInPlace(place);
  return made;
}

KernelOp FollowedKernels::plantBeforeSum(KernelOp kernel) {
  auto clone = cast<KernelOp>(kernel->clone());
  symbols_.insert(clone, Block::iterator(kernel));
  Operation *yield = clone.getBlock().getTerminator();
  OpBuilder builder(yield);
  auto relu = builder.create<nn::ReluOp>(kernel.getLoc(), yield->getOperand(0));
  relu->setAttr("nn.name", builder.getStringAttr("planted"));
  yield->setOperand(0, relu);
  return clone;
}

//===----------------------------------------------------------------------===//
// Which launches
//===----------------------------------------------------------------------===//

/// Whether two buffers differ in the type of their elements at most.
static bool isSameButElements(Value a, Value b) {
  auto first = cast<soaprt::BufferType>(a.getType());
  auto second = cast<soaprt::BufferType>(b.getType());
  return first.getShape() == second.getShape() &&
         first.getSpace() == second.getSpace() &&
         first.getOrder() == second.getOrder();
}

/// The library's launch that writes `value`, which `follower` reads and nothing
/// else; or null.
LaunchOp ProgramFollowers::findAnchor(Value value, LaunchOp follower) {
  if (!isWholeActivation(value) ||
      !isSameButElements(value, follower.getOutputs()[0]))
    return {};
  const BufferUses &uses = uses_.of(value);
  if (uses.isViewed || uses.isLoaded || uses.writers.size() != 1 ||
      uses.readers.size() != 1)
    return {};
  auto anchor = dyn_cast<LaunchOp>(*uses.writers.front());
  if (!anchor || anchor->getBlock() != follower->getBlock() ||
      anchor.getOutputs().size() != 1 ||
      llvm::any_of(uses.tiles, isKeptOrPart) ||
      kernels_.lookup(anchor).getNative())
    return {};
  return anchor;
}

/// Whether `value` is there when `anchor` is launched, and no row of the
/// communication stream has to be waited for.
bool ProgramFollowers::isThereBefore(Value value, LaunchOp anchor) {
  return llvm::all_of(uses_.of(value).writers, [&](RowOpInterface writer) {
    return writer->getBlock() != anchor->getBlock() ||
           (writer->isBeforeInBlock(anchor) && !writer.communicates());
  });
}

/// Whether the result may overwrite `value`: it dies with the follower, and no
/// other stream knows it.
bool ProgramFollowers::canOverwrite(Value value, const Fusion &fusion) {
  LaunchOp anchor = fusion.anchor, follower = fusion.follower;
  const BufferUses &uses = uses_.of(value);
  if (!isWholeActivation(value) || uses.isViewed || uses.isLoaded ||
      value.getType() != follower.getOutputs()[0].getType() ||
      !isWholeActivation(follower.getOutputs()[0]) ||
      kernels_.lookup(anchor).getInPlace())
    return false;
  auto isDone = [&](RowOpInterface row) {
    return row->getBlock() == anchor->getBlock() && !row.communicates() &&
           row->isBeforeInBlock(anchor);
  };
  unsigned ofFollower = 0;
  for (RowOpInterface reader : uses.readers) {
    if (reader == follower)
      ++ofFollower;
    else if (reader == anchor ||
             (!isDone(reader) && !SOAP_FAULT("follower-overwrites-read")))
      return false;
  }
  return ofFollower == 1 && llvm::all_of(uses.writers, isDone);
}

std::optional<Fusion> ProgramFollowers::findFusion(LaunchOp follower) {
  KernelOp kernel = kernels_.lookup(follower);
  if (!kernel.getNative() || follower.getOutputs().size() != 1 ||
      uses_.of(follower.getOutputs()[0]).writers.size() != 1 ||
      follower->hasAttr(soaprt::heldAttrName))
    return std::nullopt;
  std::optional<Fusion> best;
  for (auto [number, input] : llvm::enumerate(follower.getInputs())) {
    LaunchOp anchor = findAnchor(input, follower);
    if (!anchor || (best && anchor->isBeforeInBlock(best->anchor)))
      continue;
    Fusion fusion{anchor, follower, static_cast<unsigned>(number), {}};
    auto isThere = [&, between = input](Value other) {
      return other == between || isThereBefore(other, anchor);
    };
    if (!llvm::all_of(follower.getInputs(), isThere))
      continue;
    std::optional<FollowerUse> use =
        target_.getFollower(kernels_.lookup(anchor).getAnchor(),
                            kernel.getAnchor(), number, keepNaN_);
    if (!use)
      continue;
    if (use->added && canOverwrite(follower.getInputs()[*use->added], fusion))
      fusion.inPlace = use->added;
    best = fusion;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void ProgramFollowers::fuse(const Fusion &fusion) {
  LaunchOp anchor = fusion.anchor, follower = fusion.follower;
  LLVM_DEBUG(llvm::dbgs() << "'" << anchor.getNode() << "' takes '"
                          << follower.getNode() << "'"
                          << (fusion.inPlace ? ", in place\n" : "\n"));
  Value between = anchor.getOutputs()[0];
  auto row = cast<LaunchOp>(OpBuilder(anchor).clone(*anchor));
  for (auto [number, input] : llvm::enumerate(follower.getInputs())) {
    if (number == fusion.number)
      continue;
    if (number == fusion.inPlace)
      row.setInPlace(row.getInputs().size());
    row.getInputsMutable().append(input);
  }
  row.getOutputsMutable().assign(follower.getOutputs());
  row.setKernel(kernels_.getOrCreate(fusion, row).getSymName());

  uses_.replace(anchor, follower, row);
  follower.erase();
  anchor.erase();
  uses_.erase(between);
  ++numFused;
  numInPlace += fusion.inPlace.has_value();
}

/// The fault: a relu is applied to a part of a sum.
void ProgramFollowers::plantBeforeSum() {
  for (auto launch : main_.getBlock().getOps<LaunchOp>()) {
    KernelOp kernel = kernels_.lookup(launch);
    auto isPart = [](soaprt::TileOp tile) { return tile.getNumParts(); };
    if (!kernel.getNative() && launch.getOutputs().size() == 1 &&
        isa<nn::ConvOp, nn::MatMulOp>(kernel.getAnchor()) &&
        llvm::any_of(uses_.of(launch.getOutputs()[0]).tiles, isPart))
      launch.setKernel(kernels_.plantBeforeSum(kernel).getSymName());
  }
}

void ProgramFollowers::run() {
  if (SOAP_FAULT("follower-before-sum"))
    plantBeforeSum();
  for (auto launch :
       llvm::make_early_inc_range(main_.getBlock().getOps<LaunchOp>()))
    if (std::optional<Fusion> fusion = findFusion(launch))
      fuse(*fusion);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseFollowersPass
    : soap::impl::FuseFollowersPassBase<FuseFollowersPass> {
  using FuseFollowersPassBase::FuseFollowersPassBase;
  FuseFollowersPass(const Target &target, bool keepsNaN) : chosen_(target) {
    keepNaN = keepsNaN;
  }

  LogicalResult initialize(MLIRContext *context) override {
    return chosen_.initialize(context, target);
  }

  void runOnOperation() override {
    FollowedKernels kernels(getOperation());
    for (auto device : getOperation().getOps<soaprt::DeviceOp>())
      for (soaprt::MainOp main : device.getMains()) {
        ProgramFollowers followers(device, main, kernels, *chosen_, keepNaN);
        followers.run();
        numFused += followers.numFused;
        numInPlace += followers.numInPlace;
      }
    kernels.eraseUnused(getOperation());
  }

private:
  ChosenTarget chosen_;
};
} // namespace

std::unique_ptr<Pass> soap::createFuseFollowersPass(const Target &target,
                                                    bool keepNaN) {
  return std::make_unique<FuseFollowersPass>(target, keepNaN);
}
