//===- JoinReshapes.cpp - Transpositions between reshapes -----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedReshapes.h"
#include "soap/Conversion/SOAPToSOAPRT/SOAPToSOAPRT.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAPRT/Transforms/ProgramOrder.h"
#include "soap/Testing/PlantedFault.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "soaprt-join-reshapes"

namespace soap {
#define GEN_PASS_DEF_JOINRESHAPESPASS
#include "soap/Conversion/SOAPToSOAPRT/Passes.h.inc"
} // namespace soap

using namespace mlir;
using namespace soap;
using soaprt::BufferOp;
using soaprt::BufferType;
using soaprt::KernelOp;
using soaprt::LaunchOp;
using soaprt::TileOp;
using soaprt::ViewOp;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool soap::isChannelShuffle(KernelOp kernel) {
  return kernel.getAnchor() != &kernel.getBlock().front();
}

FailureOr<NativeKernelCall>
soap::getOrCreateChannelsLastShuffle(NativeKernels &kernels, KernelOp kernel) {
  auto transpose = cast<nn::TransposeOp>(kernel.getAnchor());
  auto type = cast<RankedTensorType>(transpose.getX().getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t groups = shape[1], members = shape[2];
  if (SOAP_FAULT("shuffle-turned-round"))
    std::swap(groups, members);
  int64_t pixels = shape[0] * ShapedType::getNumElements(shape.drop_front(3));
  auto typeOf = [&](int64_t outer, int64_t inner) {
    return RankedTensorType::get({pixels, outer, inner}, type.getElementType());
  };
  Block block;
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointToEnd(&block);
  Location loc = kernel.getLoc();
  auto made = builder.create<nn::TransposeOp>(
      loc, typeOf(members, groups),
      block.addArgument(typeOf(groups, members), loc),
      builder.getDenseI64ArrayAttr({0, 2, 1}));
  return kernels.getOrCreate(made);
}

/// The kernel of a transposition, between a reshape of `from` and one to `to`.
static KernelOp makeShuffle(KernelOp kernel, BufferType from, BufferType to,
                            SymbolTable &symbols) {
  auto made = cast<KernelOp>(kernel->clone());
  symbols.insert(made, Block::iterator(kernel));
  auto transpose = cast<nn::TransposeOp>(made.getAnchor());
  auto reshape = [&](OpBuilder &&builder, Value value, Type type,
                     StringRef suffix) -> Value {
    auto op = builder.create<nn::ReshapeOp>(transpose.getLoc(), type, value);
    nn::setName(op, nn::getName(transpose) + "." + suffix);
    return op;
  };
  auto tensorOf = [](BufferType type) {
    return RankedTensorType::get(type.getShape(), type.getElementType());
  };
  BlockArgument argument = made.getBlock().getArgument(0);
  Type split = argument.getType();
  argument.setType(tensorOf(from));
  transpose->setOperand(
      0, reshape(OpBuilder(transpose), argument, split, "split"));
  Operation *yield = made.getBlock().getTerminator();
  yield->setOperand(0, reshape(OpBuilder(yield), transpose.getResult(),
                               tensorOf(to), "joined"));
  return made;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// A launch that transposes channels, and the views around it.
struct Shuffle {
  LaunchOp launch;
  ViewOp split; ///< What it reads.
  BufferOp between;
  SmallVector<ViewOp, 1> joined; ///< Of what it writes.
};
} // namespace

/// Whether `outer` is `inner` with dims 1 and 2 made one.
static bool joinsChannels(BufferType inner, BufferType outer) {
  ArrayRef<int64_t> dims = inner.getShape(), all = outer.getShape();
  return dims.size() >= 4 && all.size() + 1 == dims.size() &&
         dims[0] == all[0] && dims[1] * dims[2] == all[1] &&
         dims.drop_front(3) == all.drop_front(2);
}

/// Whether a permutation exchanges dims 1 and 2, and no others.
static bool exchangesChannels(ArrayRef<int64_t> permutation) {
  for (auto [dim, from] : llvm::enumerate(permutation)) {
    size_t wanted = dim == 1 ? 2 : dim == 2 ? 1 : dim;
    if (from != static_cast<int64_t>(wanted))
      return false;
  }
  return permutation.size() >= 4;
}

static bool isActivation(BufferOp buffer) {
  return buffer && buffer.getType().getSpace() == Space::Activations;
}

/// What is kept from step to step, and a part of a sum, are as they are.
static bool isSpecial(TileOp tile) {
  return tile.getInitial() || tile.getNumParts();
}

static std::optional<Shuffle> findShuffle(LaunchOp launch,
                                          const SymbolTable &symbols) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  auto transpose = dyn_cast<nn::TransposeOp>(kernel.getAnchor());
  if (!transpose || !kernel.getNative() ||
      launch->hasAttr(soaprt::heldAttrName) ||
      !exchangesChannels(transpose.getPermutation()))
    return std::nullopt;
  Shuffle shuffle;
  shuffle.launch = launch;
  shuffle.split = launch.getInputs()[0].getDefiningOp<ViewOp>();
  shuffle.between = launch.getOutputs()[0].getDefiningOp<BufferOp>();
  if (!shuffle.split || !isActivation(shuffle.between) ||
      shuffle.split.getFirst() != 0 ||
      !isActivation(shuffle.split.getSource().getDefiningOp<BufferOp>()) ||
      !joinsChannels(shuffle.split.getType(),
                     shuffle.split.getSource().getType()))
    return std::nullopt;
  for (Operation *user : shuffle.between.getResult().getUsers()) {
    auto view = dyn_cast<ViewOp>(user);
    auto tile = dyn_cast<TileOp>(user);
    if (view && view.getFirst() == 0 &&
        joinsChannels(shuffle.between.getType(), view.getType()))
      shuffle.joined.push_back(view);
    else if (user != launch && !(tile && !isSpecial(tile)))
      return std::nullopt;
  }
  return shuffle.joined.empty() ? std::nullopt : std::optional(shuffle);
}

/// Erases what only tiles know.
static void eraseWithTiles(Operation *buffer) {
  for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
    user->erase();
  buffer->erase();
}

static void join(Shuffle &shuffle, KernelOp kernel) {
  LaunchOp launch = shuffle.launch;
  LLVM_DEBUG(llvm::dbgs() << "'" << launch.getNode()
                          << "' reads and writes what is reshaped\n");
  auto result =
      OpBuilder(shuffle.between)
          .create<BufferOp>(shuffle.between.getLoc(),
                            shuffle.joined.front().getType(), IntegerAttr());
  launch.getInputsMutable().assign(shuffle.split.getSource());
  launch.getOutputsMutable().assign(result.getResult());
  launch.setKernel(kernel.getSymName());
  for (ViewOp view : shuffle.joined) {
    view.getResult().replaceAllUsesWith(result.getResult());
    view.erase();
  }
  eraseWithTiles(shuffle.between);
  // What else reads the view keeps it.
  if (llvm::all_of(shuffle.split->getUsers(), [](Operation *user) {
        auto tile = dyn_cast<TileOp>(user);
        return tile && !isSpecial(tile);
      }))
    eraseWithTiles(shuffle.split);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct JoinReshapesPass : soap::impl::JoinReshapesPassBase<JoinReshapesPass> {
  using JoinReshapesPassBase::JoinReshapesPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<Operation *, KernelOp> made;
    getOperation().walk([&](soaprt::MainOp main) {
      for (auto launch : main.getBlock().getOps<LaunchOp>()) {
        std::optional<Shuffle> shuffle = findShuffle(launch, symbols);
        if (!shuffle)
          continue;
        auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
        KernelOp &joined = made[kernel];
        if (!joined)
          joined = makeShuffle(kernel, shuffle->split.getSource().getType(),
                               shuffle->joined.front().getType(), symbols);
        join(*shuffle, joined);
        ++numJoined;
      }
    });
    if (made.empty())
      return;
    llvm::DenseSet<StringAttr> launched;
    getOperation().walk([&](LaunchOp launch) {
      launched.insert(launch.getKernelAttr().getAttr());
    });
    for (auto &[before, joined] : made)
      if (!launched.contains(cast<KernelOp>(before).getSymNameAttr()))
        symbols.erase(before);
  }
};
} // namespace
