//===- Unread.h - Operations that nobody reads ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_DIALECT_NN_TRANSFORMS_UNREAD_H
#define SOAP_LIB_DIALECT_NN_TRANSFORMS_UNREAD_H

#include "NodeNames.h"

namespace soap::nn {

/// Erases `op`, if it has no effects and nobody reads it, and what only it has
/// read.
void eraseUnread(mlir::Operation *op);

/// Erases all operations without effects whose results nobody reads.
void eraseUnread(mlir::func::FuncOp function, NodeNames &names);

} // namespace soap::nn

#endif // SOAP_LIB_DIALECT_NN_TRANSFORMS_UNREAD_H
