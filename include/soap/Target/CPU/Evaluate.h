//===- Evaluate.h - nn operations in this process ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_CPU_EVALUATE_H
#define SOAP_TARGET_CPU_EVALUATE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace soap {

/// Computes nn operations by the native kernels that a compiled model would
/// have, linked into this process. `ops` are in the order of execution; their
/// operands are results of others or in `values`: dense row-major elements, a
/// byte for a truth value. Adds the results to `values`. Fails if an operation
/// has no native kernel. Not to be called from within a pass.
llvm::Error
evaluateNatively(llvm::ArrayRef<mlir::Operation *> ops,
                 llvm::DenseMap<mlir::Value, std::vector<char>> &values);

} // namespace soap

#endif // SOAP_TARGET_CPU_EVALUATE_H
