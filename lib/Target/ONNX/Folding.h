//===- Folding.h - Elements of constants that fold --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the functions that compute the results of a node at compile time.
// Their operands are constants known by value.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TARGET_ONNX_FOLDING_H
#define SOAP_LIB_TARGET_ONNX_FOLDING_H

#include "NodeContext.h"

namespace soap::onnx_import {

/// Calls `visit(indices, flat)` for all elements of a tensor of `shape`.
void forEachElement(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> visit);

/// The element of a tensor of `shape` that broadcasts to `indices`.
int64_t broadcastIndex(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> indices);

/// Element i of `from` becomes element j of `to`, of the same type.
void copyElement(const HostTensor &from, int64_t i, HostTensor &to, int64_t j);

/// Zeros of a shape that is small enough to fold; else the node is computed at
/// run time, if that is possible.
mlir::FailureOr<HostTensor> makeResult(NodeContext &node, int elementType,
                                       llvm::ArrayRef<int64_t> shape);

/// Makes result 0 of such a shape; `compute(result, indices, flat)` sets one
/// element of it.
mlir::LogicalResult foldElements(
    NodeContext &node, int elementType, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(HostTensor &, llvm::ArrayRef<int64_t>, int64_t)>
        compute);

} // namespace soap::onnx_import

#endif // SOAP_LIB_TARGET_ONNX_FOLDING_H
