//===- InitExpression.h - Parameters that are computed ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_TRANSFORMS_INITEXPRESSION_H
#define SOAP_LIB_TRANSFORMS_INITEXPRESSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "soap/Dialect/NN/IR/NN.h"

namespace soap {

/// Builds, at the insertion point, the local operations that compute `box` of
/// result `index` of `init`: of every operation only the box that is asked for,
/// down to the parameters in files, without communication. Null, after an error
/// on the operation that is to blame, if it cannot be done.
mlir::Value buildInitExpression(mlir::OpBuilder &builder,
                                mlir::func::FuncOp init, int64_t index,
                                const Box &box);

} // namespace soap

#endif // SOAP_LIB_TRANSFORMS_INITEXPRESSION_H
