//===- VectorLevel.h - Which vectors the processor has ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CPU_VECTORLEVEL_H
#define SOAP_LIB_RUNTIME_CPU_VECTORLEVEL_H

#include <cstdint>

namespace soap::runtime {

/// The vectors that loops of our own are compiled for.
enum class VectorLevel : uint8_t {
  None,
  AVX2,   ///< With FMA.
  AVX512, ///< What oneDNN calls avx512_core: F, BW, DQ and VL.
};

/// The widest that the processor has, within what oneDNN was told to use
/// (ONEDNN_MAX_CPU_ISA).
VectorLevel vectorLevel();

/// The one of two that is for the processor's vectors, or `other`.
template <typename T>
T forVectors(const T &avx512, const T &avx2, const T &other) {
  switch (vectorLevel()) {
  case VectorLevel::AVX512:
    return avx512;
  case VectorLevel::AVX2:
    return avx2;
  case VectorLevel::None:
    break;
  }
  return other;
}

/// Whether this process may multiply tiles of bf16 (AMX), within what oneDNN
/// was told to use.
bool hasTiles();

/// Whether the processor multiplies bf16 faster than f32: with AMX, or with
/// AVX512_BF16 if AMD made it. Intel's cores without AMX take two cycles for
/// an instruction of the latter, which is half of what f32 reaches, and oneDNN
/// converts where a processor has neither.
bool multipliesBF16();

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_VECTORLEVEL_H
