//===- LibraryKernels.cpp - What cuBLASLt and cuDNN compute ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/NN/IR/Precision.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Target/CUDA/Passes.h"
#include "soap/Target/LibraryTables.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

/// True if y is what windows give that begin `pads` before x and end as far
/// behind it at most: cuDNN's pads have the same size on both sides. Of an
/// image that is split, the tiles at its edges are often not of this kind.
static bool hasEqualPads(ArrayRef<int64_t> x, ArrayRef<int64_t> weight,
                         ArrayRef<int64_t> y, ArrayRef<int64_t> strides,
                         ArrayRef<int64_t> dilations, ArrayRef<int64_t> pads) {
  for (auto [i, pad] : llvm::enumerate(pads)) {
    int64_t extent = (weight[2 + i] - 1) * dilations[i] + 1;
    int64_t room = x[2 + i] + 2 * pad - extent;
    if (pad < 0 || room < 0 || room / strides[i] + 1 != y[2 + i])
      return false;
  }
  return true;
}

/// As ConvolutionShape::of() of the runtime (CUDA/Convolution.cpp) has it:
/// a bias of x's gradient would be a row of it.
static bool isLibraryConvolution(Operation *op) {
  auto windows = [](auto conv, Value x, Value weight, Value y) {
    return hasEqualPads(shapeOf(x), shapeOf(weight), shapeOf(y),
                        conv.getStrides(), conv.getDilations(),
                        conv.getPadsLo());
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](nn::ConvOp conv) {
        return windows(conv, conv.getInput(), conv.getWeight(),
                       conv.getResult());
      })
      .Case([&](nn::ConvBackwardDataOp data) {
        return !data.getBias() && hasLibraryPads(op) &&
               windows(data, data.getResult(), data.getWeight(), data.getDy());
      })
      .Case([&](nn::ConvBackwardFilterOp filter) {
        return hasLibraryPads(op) &&
               windows(filter, filter.getX(), filter.getResult(),
                       filter.getDy());
      })
      .Default([](Operation *) { return false; });
}

/// Both factors are f32, f16 or bf16, the result is f32, and the bias may be of
/// either type.
static bool hasLibraryTypes(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() < 2)
    return false;
  auto isF32 = [](Value value) { return getElementTypeOrSelf(value).isF32(); };
  Type element = getElementTypeOrSelf(op->getOperand(0));
  return (element.isF32() || nn::isFloatOf16Bits(element)) &&
         getElementTypeOrSelf(op->getOperand(1)) == element &&
         isF32(op->getResult(0)) &&
         llvm::all_of(llvm::drop_begin(op->getOperands(), 2), [&](Value bias) {
           return isF32(bias) || getElementTypeOrSelf(bias) == element;
         });
}

bool CUDATarget::isLibraryKernel(Operation *op) const {
  if (!hasLibraryTypes(op))
    return false;
  auto isEmpty = [](Value value) {
    return cast<ShapedType>(value.getType()).getNumElements() == 0;
  };
  if (isEmpty(op->getResult(0)) || isEmpty(op->getOperand(0)))
    return false;
  if (isa<nn::ConvOp, nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>(op))
    return llvm::none_of(op->getOperands(), isEmpty) &&
           isLibraryConvolution(op);
  // What the runtime's backend calls: products, of at most so many batches.
  constexpr int64_t mostBatches = 3;
  auto product = dyn_cast<nn::MatMulOp>(op);
  if (!product)
    return false;
  int64_t rank = product.getResult().getType().getRank();
  return rank >= 2 && rank <= 2 + mostBatches;
}

/// What the libraries may have. For tensor cores, cuDNN makes copies of the
/// tensors of a convolution with their channels last, in multiples of eight;
/// and where its results are of 16 bits, the runtime widens them from a copy
/// (CUDA/ConvolutionKernel.cpp).
static uint64_t workspaceBytes(Operation *op) {
  constexpr uint64_t base = cuda::productWorkspaceBytes;
  if (isa<nn::MatMulOp>(op))
    return base;
  Type factor = getElementTypeOrSelf(op->getOperand(0));
  auto bytesOf = [&](Value value) {
    auto shape = cast<ShapedType>(value.getType()).getShape();
    uint64_t bytes = factor.getIntOrFloatBitWidth() / 8;
    for (auto [d, extent] : llvm::enumerate(shape))
      bytes *= llvm::alignTo(static_cast<uint64_t>(extent), d == 1 ? 8 : 1);
    return llvm::alignTo(bytes, 256);
  };
  uint64_t result = bytesOf(op->getResult(0));
  bool isWidened = getElementTypeOrSelf(op->getResult(0)) != factor;
  return base + bytesOf(op->getOperand(0)) + bytesOf(op->getOperand(1)) +
         result + (isWidened ? result : 0);
}

std::optional<FollowerUse> CUDATarget::getFollower(Operation *anchor,
                                                   Operation *follower,
                                                   unsigned operand,
                                                   bool) const {
  auto cast = dyn_cast<nn::CastOp>(follower);
  if (!cast || operand != 0 || !nn::isProduct(anchor) ||
      !isLibraryKernel(anchor) ||
      cast.getX().getType() != anchor->getResult(0).getType())
    return std::nullopt;
  Type factor = getElementTypeOrSelf(anchor->getOperand(0));
  auto isOfFactors = [&](Value value) {
    return getElementTypeOrSelf(value) == factor;
  };
  if (factor.isF32() || !isOfFactors(cast.getResult()) ||
      !llvm::all_of(llvm::drop_begin(anchor->getOperands(), 2), isOfFactors))
    return std::nullopt;
  return FollowerUse();
}

LogicalResult CUDATarget::buildLibraryKernel(Operation *op,
                                             fb::KernelT &kernel) const {
  if (!isLibraryKernel(op))
    return op->emitOpError("expected an operation that the library of target ")
           << getName() << " computes; lower it to a native kernel";
  kernel.workspace_bytes = workspaceBytes(op);
  return buildLibraryTable(op, kernel);
}
