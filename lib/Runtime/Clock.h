//===- Clock.h - The clock of the runtime -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CLOCK_H
#define SOAP_LIB_RUNTIME_CLOCK_H

#include <chrono>
#include <cstdint>

namespace soap::runtime {

/// Nanoseconds of the steady clock.
inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_CLOCK_H
