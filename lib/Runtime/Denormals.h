//===- Denormals.h - Arithmetic on the smallest numbers ---------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers below the smallest normal one (1.2e-38 of f32) take an x86 processor
// up to a hundred times as long. Gradients and the moments of optimizers reach
// them when weights stop changing.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_DENORMALS_H
#define SOAP_LIB_RUNTIME_DENORMALS_H

#include <cstdint>

namespace soap::runtime {

/// From now on, floating-point instructions of this thread, and of threads that
/// it starts, read denormal numbers as zeros and write zeros in place of them.
/// Nothing where the processor is not known.
inline void flushDenormals() {
#if defined(__x86_64__)
  // MXCSR (Intel 64 and IA-32 Architectures Software Developer's Manual, volume
  // 1, section 10.2.3): "flush to zero" and "denormals are zeros".
  constexpr uint32_t flush = 1U << 15 | 1U << 6;
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | flush);
#elif defined(__aarch64__)
  // FPCR.FZ (Arm Architecture Reference Manual) is both.
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | uint64_t{1} << 24));
#endif
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_DENORMALS_H
