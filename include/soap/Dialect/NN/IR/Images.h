//===- Images.h - Operations of images --------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_IMAGES_H
#define SOAP_DIALECT_NN_IR_IMAGES_H

#include "soap/Dialect/NN/IR/NN.h"

namespace soap::nn {

/// True for the operations for which a target may want channels last
/// (Target::getChannelsLast()). In a model without one all tensors are
/// row-major.
inline bool readsImages(mlir::Operation *op) {
  return mlir::isa<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp, MaxPoolOp,
                   AvgPoolOp, LRNOp>(op);
}

} // namespace soap::nn

#endif // SOAP_DIALECT_NN_IR_IMAGES_H
