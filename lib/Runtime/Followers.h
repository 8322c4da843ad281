//===- Followers.h - Operations per element behind a kernel -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_FOLLOWERS_H
#define SOAP_LIB_RUNTIME_FOLLOWERS_H

#include "Types.h"

namespace soap::runtime {

/// Whether a follower of this kind has an operand.
inline bool hasOperand(fb::FollowerKind kind) {
  return kind == fb::FollowerKind::Add || kind == fb::FollowerKind::Subtract ||
         kind == fb::FollowerKind::Multiply;
}

/// How many operands of a kernel, its last ones, are those of its followers.
inline size_t followerOperands(const fb::Kernel &kernel) {
  size_t count = 0;
  for (const fb::Follower *follower : items(kernel.followers()))
    count += hasOperand(follower->kind());
  return count;
}

/// Whether the operation of a kernel may have followers.
inline bool canHaveFollowers(const fb::Kernel &kernel) {
  const auto *back = kernel.op_as_ConvBackward();
  return kernel.op_as_Conv() || kernel.op_as_MatMul() ||
         (back && !back->of_filter());
}

/// The dim of the result of such a kernel along which its channels lie.
inline size_t channelDimOf(const fb::Kernel &kernel) {
  return kernel.op_as_MatMul()
             ? items(kernel.results()->Get(0)->shape()).size() - 1
             : 1;
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_FOLLOWERS_H
