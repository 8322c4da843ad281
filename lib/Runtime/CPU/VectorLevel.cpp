//===- VectorLevel.cpp - Which vectors the processor has ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/VectorLevel.h"
#include <oneapi/dnnl/dnnl.hpp>

using namespace soap::runtime;

VectorLevel soap::runtime::vectorLevel() {
#ifdef SOAP_VECTOR_LOOPS_X86
  auto level = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  auto reaches = [&](dnnl::cpu_isa isa) {
    return (level & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
  };
  if (reaches(dnnl::cpu_isa::avx512_core))
    return VectorLevel::AVX512;
  if (reaches(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma"))
    return VectorLevel::AVX2;
#endif
  return VectorLevel::None;
}
