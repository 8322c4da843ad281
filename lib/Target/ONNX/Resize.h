//===- Resize.h - Resize in other forms than nn.resize ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_RESIZE_H
#define SOAP_LIB_TARGET_ONNX_RESIZE_H

#include "NodeContext.h"

namespace soap::onnx_import {

/// A positive rational number.
struct Rational {
  int64_t p = 1, q = 1;
};

/// What a Resize or Upsample node asks for, in the terms of operator set 19.
struct ResizeRequest {
  std::string mode, coordinates, rounding;
  Shape shape;
  llvm::SmallVector<Rational> scales;
  llvm::SmallVector<int64_t>
      axes; ///< Those that sizes and regions are given for.
};

/// With keep_aspect_ratio_policy not_larger or not_smaller all axes get the
/// scale of one of them.
mlir::LogicalResult keepAspectRatio(NodeContext &node, ResizeRequest &request);

/// What nn.resize has no form for: a product with a constant matrix per
/// dimension (Interpolation.cpp).
mlir::LogicalResult resizeByMatrices(NodeContext &node,
                                     const ResizeRequest &request);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_RESIZE_H
