//===- MarkFollowers.h - What follows a kernel ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRANSFORMS_MARKFOLLOWERS_H
#define SOAP_TRANSFORMS_MARKFOLLOWERS_H

#include "mlir/IR/BuiltinOps.h"

namespace soap {

class Target;

/// Marks every operation of `@main` that the library of `target` can apply
/// behind another one's kernel with `soap.follows`, and no other one; with
/// `keepNaN` only where the library hands NaN on. Returns how many there are.
/// Emits an error if there is no `@main`.
mlir::FailureOr<int64_t> markFollowers(mlir::ModuleOp module,
                                       const Target &target, bool keepNaN);

} // namespace soap

#endif // SOAP_TRANSFORMS_MARKFOLLOWERS_H
