//===- VectorLevel.cpp - Which vectors the processor has ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/VectorLevel.h"
#include <oneapi/dnnl/dnnl.hpp>
#if defined(SOAP_VECTOR_LOOPS_X86) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace soap::runtime;

/// Whether oneDNN may use all of `isa`.
[[maybe_unused]] static bool reaches(dnnl::cpu_isa isa) {
  auto level = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (level & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
}

VectorLevel soap::runtime::vectorLevel() {
#ifdef SOAP_VECTOR_LOOPS_X86
  if (reaches(dnnl::cpu_isa::avx512_core))
    return VectorLevel::AVX512;
  if (reaches(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma"))
    return VectorLevel::AVX2;
#endif
  return VectorLevel::None;
}

bool soap::runtime::hasTiles() {
#if defined(SOAP_VECTOR_LOOPS_X86) && defined(__linux__)
  // Linux gives tiles to processes that ask for them (arch_prctl(2)); oneDNN
  // has, where it uses them.
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool mayUse =
      reaches(dnnl::cpu_isa::avx512_core_amx) &&
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return mayUse;
#else
  return false;
#endif
}

bool soap::runtime::multipliesBF16() {
#ifdef SOAP_VECTOR_LOOPS_X86
  return reaches(dnnl::cpu_isa::avx512_core_amx) ||
         (reaches(dnnl::cpu_isa::avx512_core_bf16) && __builtin_cpu_is("amd"));
#else
  return true; // oneDNN knows.
#endif
}
