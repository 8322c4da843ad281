//===- Followers.h - Operations per element behind a kernel -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a library may do to every element of a kernel's result: nn operations
// as the followers of Model.fbs.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TARGET_FOLLOWERS_H
#define SOAP_TARGET_FOLLOWERS_H

#include "mlir/IR/Operation.h"
#include "soap/Runtime/Model.fbs.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace soap {

/// One fb::Follower: `operand` is a number of the operation's operands.
struct FollowerStep {
  fb::FollowerKind kind;
  std::optional<unsigned> operand;
  float alpha = 0, beta = 0;
};

/// `op`, an operation per element or an nn.fused of some, as what happens to
/// its operand `operand`, in this order. Nothing where it is something else: a
/// kind that there is not, a value that is read twice, an operation on other
/// operands alone. Casts are no steps: the library computes in f32 with
/// operands of 16 bits, too, and the type of the result says to what it rounds
/// in the end.
std::optional<llvm::SmallVector<FollowerStep>>
getFollowerSteps(mlir::Operation *op, unsigned operand);

/// Whether NaN is handed on, as by ONNX's operator: the others may make a
/// number of it.
bool keepsNaN(fb::FollowerKind kind);

} // namespace soap

#endif // SOAP_TARGET_FOLLOWERS_H
