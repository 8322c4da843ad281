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

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CPU_VECTORLEVEL_H
