//===- Patience.h - What a wait does before it sleeps -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PATIENCE_H
#define SOAP_LIB_RUNTIME_PATIENCE_H

namespace soap::runtime {

class CoreMates;

/// How often a wait looks before its thread sleeps: first one look after the
/// other, then with the core offered to other threads in between
/// (sched_yield). The latter keep a core awake on which nothing else runs: one
/// that has gone idle takes long to come back (docs/Performance.md).
struct Patience {
  unsigned spins = 0, yields = 0;
  /// Of a compute thread that has its core together with the communication
  /// thread of its device, or null.
  CoreMates *mates = nullptr;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PATIENCE_H
