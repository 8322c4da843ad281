//===- Cluster.h - A machine to search on -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_CLUSTER_H
#define SOAP_BENCHMARKS_SEARCH_CLUSTER_H

#include "soap/Topology/Topology.h"

namespace soap {

/// Equal devices with about the rates of a GPU, one link into each.
inline Topology cluster(int32_t devices) {
  DeviceKind kind;
  kind.name = "gpu";
  kind.peakFlops = 9e12;
  kind.memoryBandwidth = 5e11;
  return Topology::machine(
      devices, {kind, 1e10, 2000, 0, 0, /*occupiesReceiver=*/false});
}

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_CLUSTER_H
