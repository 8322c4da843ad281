//===- LibraryKernels.cpp - What cuDNN and cuBLASLt compute ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Target/LibraryTables.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace soap;

static ArrayRef<int64_t> extentsOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

/// Pools whose shapes fit the library's rule, which pads with as much on both
/// sides: other pads behind are the same where no window reaches them.
template <typename OpT>
static bool isLibraryWindow(OpT op, ArrayRef<int64_t> kernel) {
  ArrayRef<int64_t> x = extentsOf(op.getInput()), y = extentsOf(op.getResult());
  for (auto [i, stride] : llvm::enumerate(op.getStrides())) {
    int64_t extent = (kernel[i] - 1) * op.getDilations()[i] + 1;
    int64_t lo = op.getPadsLo()[i], room = x[2 + i] + 2 * lo - extent;
    if (lo < 0 || lo >= extent || room < 0 || room / stride + 1 != y[2 + i])
      return false;
  }
  return true;
}

static bool isUndilated(ArrayRef<int64_t> dilations) {
  return llvm::all_of(dilations,
                      [](int64_t dilation) { return dilation == 1; });
}

/// Pools have no dilations in cuDNN. An average counts all pads or none.
static bool isLibraryAverage(nn::AvgPoolOp op) {
  auto isZero = [](int64_t pad) { return pad == 0; };
  bool countsNone = llvm::all_of(op.getCountedLo(), isZero) &&
                    llvm::all_of(op.getCountedHi(), isZero);
  bool countsAll = op.getCountedLo() == op.getPadsLo() &&
                   op.getCountedHi() == op.getPadsHi() &&
                   op.getPadsLo() == op.getPadsHi();
  return isUndilated(op.getDilations()) &&
         isLibraryWindow(op, op.getKernel()) && (countsNone || countsAll);
}

bool CUDATarget::isLibraryKernel(Operation *op) const {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return false;
  for (Value operand : op->getOperands())
    if (getElementTypeOrSelf(operand) != element)
      return false;
  for (Value value : {op->getOperand(0), Value(op->getResult(0))})
    if (cast<ShapedType>(value.getType()).getNumElements() == 0)
      return false;
  constexpr int64_t imageRank = 4, mostBatches = 3;
  bool isImage = extentsOf(op->getResult(0)).size() == imageRank;
  auto isPadded = [](ArrayRef<int64_t> pads) {
    return llvm::all_of(pads, [](int64_t pad) { return pad >= 0; });
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](nn::ConvOp conv) {
        return isImage && isPadded(conv.getPadsLo()) &&
               isPadded(conv.getPadsHi());
      })
      .Case<nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>([&](auto back) {
        if constexpr (std::is_same_v<decltype(back), nn::ConvBackwardDataOp>)
          if (back.getBias())
            return false;
        return isImage && hasLibraryPads(back) && isPadded(back.getPadsLo());
      })
      .Case([&](nn::MatMulOp product) {
        int64_t rank = product.getResult().getType().getRank();
        return rank >= 2 && rank <= 2 + mostBatches;
      })
      .Case([&](nn::MaxPoolOp pool) {
        return isImage && isUndilated(pool.getDilations()) &&
               isLibraryWindow(pool, pool.getKernel());
      })
      .Case(
          [&](nn::AvgPoolOp pool) { return isImage && isLibraryAverage(pool); })
      .Case<nn::SoftmaxOp, nn::LayerNormOp>([](auto) { return true; })
      .Default([](Operation *) { return false; });
}

LogicalResult CUDATarget::buildLibraryKernel(Operation *op,
                                             fb::KernelT &kernel) const {
  if (!isLibraryKernel(op))
    return op->emitOpError("expected an operation that the library of target ")
           << getName() << " computes; lower it to a native kernel";
  // cuBLASLt's recommendation for compute capability 9.0 is 32 MiB; cuDNN has
  // fast implementations of convolutions that need more.
  constexpr uint64_t mebibyte = 1 << 20;
  kernel.workspace_bytes = 32 * mebibyte;
  if (isa<nn::ConvOp, nn::ConvBackwardDataOp, nn::ConvBackwardFilterOp>(op))
    kernel.workspace_bytes = 128 * mebibyte;
  return buildLibraryTable(op, kernel);
}
