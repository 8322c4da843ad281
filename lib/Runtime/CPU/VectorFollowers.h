//===- VectorFollowers.h - Followers inside of vector loops -----*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain data: the loops that read it are compiled for processors of their own
// and share no code with the rest of the program.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_VECTORFOLLOWERS_H
#define SOAP_LIB_RUNTIME_CPU_VECTORFOLLOWERS_H

#include <cstdint>

namespace soap::runtime {

/// What a loop does to every element of a result that it still has in a
/// register.
struct VectorFollower {
  enum Kind : int32_t { Relu, Clip, Add, Subtract, Multiply };
  enum Reads : int32_t { Nothing, Whole, Channel, One };

  Kind kind;
  /// Whether it reads an element for every one of the result, which lies where
  /// that does in its own tensor; or for every channel; or one.
  Reads reads;
  float alpha, beta; ///< Of a clip: the least and the largest result.
  const float *values;
};

/// All of a kernel, in order, behind its bias.
struct VectorFollowers {
  const float *bias = nullptr; ///< Per channel; null: none.
  const VectorFollower *steps = nullptr;
  int64_t count = 0;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_VECTORFOLLOWERS_H
