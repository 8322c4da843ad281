//===- Resize.h - Resize in other forms than nn.resize ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_RESIZE_H
#define SOAP_LIB_TARGET_ONNX_RESIZE_H

#include "Importer.h"

namespace soap::onnx_import {

/// One dimension: elements of the operand and of the result, their ratio as
/// given, and the region of tf_crop_and_resize as parts of the dimension.
struct ResizeDimension {
  int64_t size, result;
  double scale;
  double start = 0, end = 1;
};

/// How elements are joined; names are those of ONNX's attributes.
struct ResizeWeights {
  std::string mode, coordinates, rounding;
  double cubicA, extrapolation;
  bool antialias, excludeOutside;
};

/// Resizes dimension by dimension, each a product with a constant matrix.
mlir::LogicalResult resizeByMatrices(NodeContext &node,
                                     const ResizeWeights &weights,
                                     llvm::ArrayRef<ResizeDimension> dims);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_RESIZE_H
