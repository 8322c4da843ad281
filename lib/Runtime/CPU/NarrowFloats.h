//===- NarrowFloats.h - Floats of 16 bits -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_NARROWFLOATS_H
#define SOAP_LIB_RUNTIME_CPU_NARROWFLOATS_H

#include "soap/Runtime/Model.fbs.h"
#include <cstddef>
#include <cstdint>

namespace soap::runtime {

/// Whether elements are floats of 16 bits.
inline bool isNarrow(fb::ElementType element) {
  return element == fb::ElementType::BF16 || element == fb::ElementType::F16;
}

/// Widens `count` floats of 16 bits, which is exact.
void widenFloats(fb::ElementType element, const uint16_t *from, float *to,
                 size_t count);

/// Rounds `count` floats to bf16, ties to even. NaN stays one.
void roundToBFloats(const float *from, uint16_t *to, size_t count);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_NARROWFLOATS_H
