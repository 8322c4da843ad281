//===- AnalyticTime.h - Times of kernels by the roofline --------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the analytic cost model says of a kernel, for the compiler, which
// simulates with it, and for what measures a machine and fits its parameters.
// `Work` is KernelWork or has its members, `Kind` is DeviceKind or has those of
// its members that are rates. Depends on nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LINKS_ANALYTICTIME_H
#define SOAP_LINKS_ANALYTICTIME_H

#include "soap/Links/LinkSpeed.h"
#include <algorithm>

namespace soap {

/// Seconds for memory traffic of activations: what fits into caches, then the
/// rest.
template <typename Kind>
double analyticTrafficSeconds(double bytes, const Kind &kind) {
  if (!(kind.cacheBytes > 0 && kind.cacheBandwidth > 0))
    return bytes / kind.memoryBandwidth;
  double cached = std::min(bytes, kind.cacheBytes);
  return cached / kind.cacheBandwidth + (bytes - cached) / kind.memoryBandwidth;
}

/// Launch + max(flops / (peak * efficiency), bytes / bandwidth), in ns; 0 if
/// there is no kernel. `peak`: flop/s.
template <typename Work, typename Kind>
int64_t analyticTimeNs(const Work &work, const Kind &kind, double peak) {
  if (work.flops <= 0 && work.bytes <= 0)
    return 0;
  double efficiency = 1;
  if (work.depth > 0)
    for (auto [size, half] : {std::pair(work.rows, kind.halfRows),
                              std::pair(work.columns, kind.halfColumns),
                              std::pair(work.depth, kind.halfDepth)})
      efficiency *= size / (size + half);
  double compute = work.flops / (peak * std::max(efficiency, 1e-6));
  // A product of few rows or columns is no slower than so many products of a
  // matrix and a vector, which memory bounds.
  if (work.depth > 0) {
    auto vectors = static_cast<double>(std::min(work.rows, work.columns));
    compute = std::min(compute,
                       std::max(work.flops / peak,
                                vectors * work.bytes / kind.memoryBandwidth));
  }
  // Weights come from memory in every step.
  double memory = work.depth > 0 ? work.bytes / kind.memoryBandwidth
                                 : analyticTrafficSeconds(work.bytes, kind);
  // What is walked over again stays in a cache if all of it fits.
  bool fits = kind.cacheBandwidth > 0 && work.bytes <= kind.cacheBytes;
  memory +=
      work.bytesAgain / (fits ? kind.cacheBandwidth : kind.memoryBandwidth);
  return roundNs(static_cast<double>(kind.launchNs) +
                 std::round(std::max(compute, memory) * 1e9));
}

/// The same at the peak of f32.
template <typename Work, typename Kind>
int64_t analyticTimeNs(const Work &work, const Kind &kind) {
  return analyticTimeNs(work, kind, kind.peakFlops);
}

} // namespace soap

#endif // SOAP_LINKS_ANALYTICTIME_H
