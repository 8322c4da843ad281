//===- Topology.h - The topology of this machine, measured ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAP_RUN_TOPOLOGY_H
#define SOAP_TOOLS_SOAP_RUN_TOPOLOGY_H

#include <cstdint>
#include <string>

namespace soap::run {

/// What --describe-topology measures.
struct TopologyRequest {
  std::string file;
  std::string target;          ///< Empty: GPUs where there are some.
  uint32_t devices = 0;        ///< 0: all GPUs, or as many as cores allow.
  uint32_t coresPerDevice = 0; ///< Of the host; 0: 1, or an even split.
};

/// Measures the devices of this machine, all at work at the same time, and the
/// links between them, each by itself, and writes them as soap-compile
/// --topology reads them. Throws UsageError for a request that this machine
/// cannot meet, RunError if a measurement fails.
void describeTopology(const TopologyRequest &request);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAP_RUN_TOPOLOGY_H
