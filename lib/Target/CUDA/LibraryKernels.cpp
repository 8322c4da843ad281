//===- LibraryKernels.cpp - What cuBLASLt computes ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Target/LibraryTables.h"

using namespace mlir;
using namespace soap;

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
  // What the runtime's backend calls: products, of at most so many batches.
  constexpr int64_t mostBatches = 3;
  auto product = dyn_cast<nn::MatMulOp>(op);
  if (!product)
    return false;
  int64_t rank = product.getResult().getType().getRank();
  return rank >= 2 && rank <= 2 + mostBatches;
}

LogicalResult CUDATarget::buildLibraryKernel(Operation *op,
                                             fb::KernelT &kernel) const {
  if (!isLibraryKernel(op))
    return op->emitOpError("expected an operation that the library of target ")
           << getName() << " computes; lower it to a native kernel";
  // cuBLASLt's recommendation for compute capability 9.0.
  constexpr uint64_t mebibyte = 1 << 20;
  kernel.workspace_bytes = 32 * mebibyte;
  return buildLibraryTable(op, kernel);
}
