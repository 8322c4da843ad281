//===- PriorityStreams.h - What runs on priority streams --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the compiler and for soap-run, which describes machines. Depends on
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LINKS_PRIORITYSTREAMS_H
#define SOAP_LINKS_PRIORITYSTREAMS_H

#include <cstdint>

namespace soap {

/// Topology::priorityBytes of GPUs, where nothing else is said: little beside
/// the latency of a collective across nodes. Not tuned.
inline constexpr int64_t gpuPriorityBytes = 64 << 10;

} // namespace soap

#endif // SOAP_LINKS_PRIORITYSTREAMS_H
