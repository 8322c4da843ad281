//===- Collectives.h - How collectives cut their data -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime does and the cost model costs. It depends on nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LINKS_COLLECTIVES_H
#define SOAP_LINKS_COLLECTIVES_H

#include <cstdint>

namespace soap::collectives {

/// The pieces in which a broadcast by ring goes down the chain: of 64 KiB, 16
/// at most.
inline uint64_t broadcastSegments(uint64_t bytes) {
  uint64_t segments = bytes >> 16;
  return segments < 1 ? 1 : segments > 16 ? 16 : segments;
}

} // namespace soap::collectives

#endif // SOAP_LINKS_COLLECTIVES_H
