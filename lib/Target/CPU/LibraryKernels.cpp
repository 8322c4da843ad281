//===- LibraryKernels.cpp - What oneDNN computes --------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "soap/Target/Followers.h"
#include "soap/Target/LibraryTables.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

/// What the library has: all padding counts, or none does. In the latter case
/// it refuses dilations larger than the input, as a window might then step over
/// it and have nothing to count, even where none does.
static bool isLibraryAverage(nn::AvgPoolOp op) {
  // Its fast kernels take eight channels at a time or more. Sums over channels
  // (of a local response normalisation, in its gradient) have one.
  constexpr int64_t fewChannels = 8;
  if (op.getInput().getType().getDimSize(1) < fewChannels)
    return false;
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (!llvm::all_of(op.getCountedLo(), isZero) ||
      !llvm::all_of(op.getCountedHi(), isZero))
    return op.getCountedLo() == op.getPadsLo() &&
           op.getCountedHi() == op.getPadsHi();
  ArrayRef<int64_t> extents = op.getInput().getType().getShape().drop_front(2);
  return llvm::all_of(llvm::zip_equal(op.getDilations(), extents),
                      [](auto dim) {
                        auto [dilation, extent] = dim;
                        return dilation <= extent;
                      });
}

/// Whether the elements that a softmax normalises together lie side by side.
/// The library has no fast kernel for others.
static bool isAlongLast(nn::SoftmaxOp op) {
  ArrayRef<int64_t> shape = cast<ShapedType>(op.getType()).getShape();
  return ShapedType::getNumElements(shape.drop_front(op.getAxis() + 1)) == 1;
}

/// Of the dimensions that the runtime hands to the library.
static constexpr int64_t maxLibraryRank = 6;

/// Whether all is f32, but for what a product multiplies and its bias, which
/// may be bf16 or f16: the runtime widens it where the library does not take
/// it.
static bool hasLibraryTypes(Operation *op) {
  auto isF32 = [](Type type) { return getElementTypeOrSelf(type).isF32(); };
  if (!llvm::all_of(op->getResultTypes(), isF32))
    return false;
  // The mask may be of booleans.
  if (isa<nn::AttentionOp>(op))
    return true;
  if (!isa<nn::ConvOp, nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp,
           nn::MatMulOp>(op))
    return llvm::all_of(op->getOperandTypes(), isF32);
  Type multiplied = getElementTypeOrSelf(op->getOperand(0));
  auto isBiasType = [&](Type type) {
    return isF32(type) || getElementTypeOrSelf(type) == multiplied;
  };
  return (multiplied.isF32() || multiplied.isBF16() || multiplied.isF16()) &&
         getElementTypeOrSelf(op->getOperand(1)) == multiplied &&
         llvm::all_of(llvm::drop_begin(op->getOperandTypes(), 2), isBiasType);
}

/// Whether a pool is of bf16, which the library has with AVX-512.
static bool isBFloatPool(Operation *op) {
  return isa<nn::MaxPoolOp, nn::AvgPoolOp>(op) &&
         getElementTypeOrSelf(op->getOperand(0)).isBF16() &&
         getElementTypeOrSelf(op->getResult(0)).isBF16();
}

/// Whether a product is of integers without a sign by those with one, which is
/// what the library has of 8 bits. It would add a bias in f32.
static bool isLibraryByteProduct(Operation *op) {
  return nn::multipliesBytes(op) && op->getNumOperands() == 2 &&
         nn::isUnsigned(getElementTypeOrSelf(op->getOperand(0))) &&
         !nn::isUnsigned(getElementTypeOrSelf(op->getOperand(1)));
}

bool CPUTarget::isLibraryKernel(Operation *op) const {
  if (!hasLibraryTypes(op) && !(hasByteProducts_ && isLibraryByteProduct(op)) &&
      !(multipliesBF16_ && isBFloatPool(op)))
    return false;
  return TypeSwitch<Operation *, bool>(op)
      .Case<nn::ConvOp, nn::MaxPoolOp, nn::AttentionOp>(
          [](auto) { return true; })
      .Case([](nn::SoftmaxOp softmax) { return isAlongLast(softmax); })
      .Case([](nn::MatMulOp product) {
        return product.getResult().getType().getRank() <= maxLibraryRank;
      })
      .Case([](nn::LayerNormOp norm) {
        return norm.getX().getType().getRank() <= maxLibraryRank;
      })
      .Case<nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>(
          [](auto back) { return hasLibraryPads(back); })
      .Case([](nn::AvgPoolOp pool) { return isLibraryAverage(pool); })
      .Case([](nn::LRNOp lrn) {
        return lrn.getSize() % 2 == 1 &&
               cast<ShapedType>(lrn.getType()).getRank() >= 3;
      })
      .Default([](Operation *) { return false; });
}

bool CPUTarget::hasAttention() const { return true; }

/// As prefersOwnLayouts() of the runtime (CPU/DnnlConvolution.cpp) has it:
/// pointwise convolutions of large images are products in either order.
static ChannelsLast channelsLastOf(nn::ConvOp conv) {
  constexpr int64_t smallImage = 64;
  ArrayRef<int64_t> kernel =
      cast<ShapedType>(conv.getWeight().getType()).getShape().drop_front(2);
  ArrayRef<int64_t> image = conv.getResult().getType().getShape().drop_front(2);
  return ShapedType::getNumElements(kernel) > 1 ||
                 ShapedType::getNumElements(image) <= smallImage
             ? ChannelsLast::Always
             : ChannelsLast::Either;
}

/// Likewise, of a transposed convolution or the gradient of a source.
static ChannelsLast channelsLastOf(nn::ConvBackwardDataOp back) {
  constexpr int64_t fewChannels = 16;
  ArrayRef<int64_t> weights =
      cast<ShapedType>(back.getWeight().getType()).getShape();
  bool overlaps = llvm::any_of(
      llvm::zip_equal(weights.drop_front(2), back.getStrides()),
      [](auto dim) { return std::get<0>(dim) > std::get<1>(dim); });
  return overlaps && weights[1] >= fewChannels ? ChannelsLast::Always
                                               : ChannelsLast::Either;
}

/// Likewise, of the gradient of weights.
static ChannelsLast channelsLastOf(nn::ConvBackwardFilterOp back) {
  ArrayRef<int64_t> weights = back.getResult().getType().getShape();
  return ShapedType::getNumElements(weights.drop_front(2)) > 1
             ? ChannelsLast::Always
             : ChannelsLast::Either;
}

ChannelsLast CPUTarget::getChannelsLast(Operation *op) const {
  return TypeSwitch<Operation *, ChannelsLast>(op)
      .Case<nn::ConvOp, nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>(
          [](auto conv) { return channelsLastOf(conv); })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp, nn::LRNOp>(
          [](auto) { return ChannelsLast::Faster; })
      .Default([](Operation *) { return ChannelsLast::Never; });
}

/// Whether the windows of a transposed convolution over two dims lie side by
/// side, for which the runtime has a kernel of its own
/// (CPU/TransposedKernel.h). Those of 1x1 are mostly gradients.
static bool isSideBySide(nn::ConvBackwardDataOp back) {
  ArrayRef<int64_t> window =
      cast<ShapedType>(back.getWeight().getType()).getShape().drop_front(2);
  auto isZero = [](int64_t pad) { return pad == 0; };
  return window.size() == 2 && window == back.getStrides() &&
         ShapedType::getNumElements(window) > 1 &&
         llvm::all_of(back.getPadsLo(), isZero);
}

/// Whether a kernel may have followers, with channels as dim 1.
static bool isFollowedConvolution(Operation *anchor) {
  auto back = dyn_cast<nn::ConvBackwardDataOp>(anchor);
  return isa<nn::ConvOp>(anchor) || (back && isSideBySide(back));
}

/// Whether an operand of a follower has an element for every element of the
/// result, or per channel, or one.
static bool isFollowerOperand(ArrayRef<int64_t> operand,
                              ArrayRef<int64_t> result, size_t channelDim) {
  if (operand.size() > result.size())
    return false;
  size_t missing = result.size() - operand.size();
  auto isChannel = [&, result = result](auto entry) {
    auto [dim, size] = entry;
    return size == (missing + dim == channelDim ? result[channelDim] : 1);
  };
  return operand == result || ShapedType::getNumElements(operand) == 1 ||
         llvm::all_of(llvm::enumerate(operand), isChannel);
}

std::optional<FollowerUse> CPUTarget::getFollower(Operation *anchor,
                                                  Operation *follower,
                                                  unsigned operand,
                                                  bool keepNaN) const {
  bool isConvolution = isFollowedConvolution(anchor);
  if ((!isConvolution && !isa<nn::MatMulOp>(anchor)) ||
      follower->getNumResults() != 1)
    return std::nullopt;
  bool ofBF16 = getElementTypeOrSelf(anchor->getOperand(0)).isBF16();
  auto isFollowed = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isF32() || (ofBF16 && element.isBF16());
  };
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  ArrayRef<int64_t> result = shapeOf(anchor->getResult(0));
  if (!getElementTypeOrSelf(anchor->getResult(0)).isF32() ||
      follower->getOperand(operand).getType() !=
          anchor->getResult(0).getType() ||
      shapeOf(follower->getResult(0)) != result ||
      !isFollowed(follower->getResult(0).getType()) ||
      !llvm::all_of(follower->getOperandTypes(), isFollowed))
    return std::nullopt;
  size_t channelDim = isConvolution ? 1 : result.size() - 1;
  std::optional<SmallVector<FollowerStep>> steps =
      getFollowerSteps(follower, operand);
  if (!steps)
    return std::nullopt;
  FollowerUse use;
  for (const auto &[number, step] : llvm::enumerate(*steps)) {
    if (keepNaN && !keepsNaN(step.kind))
      return std::nullopt;
    if (!step.operand)
      continue;
    ArrayRef<int64_t> shape = shapeOf(follower->getOperand(*step.operand));
    if (!isFollowerOperand(shape, result, channelDim))
      return std::nullopt;
    // oneDNN adds what it overwrites first of all.
    if (number == 0 && step.kind == fb::FollowerKind::Add && shape == result)
      use.added = step.operand;
  }
  return use;
}

LogicalResult CPUTarget::buildLibraryKernel(Operation *op,
                                            fb::KernelT &kernel) const {
  if (!isLibraryKernel(op))
    return op->emitOpError("expected an operation that the library of target ")
           << getName() << " computes; lower it to a native kernel";
  return buildLibraryTable(op, kernel);
}
