//===- LinkCuts.h - How fast devices and machines are reached ---*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_SEARCH_LINKCUTS_H
#define SOAP_LIB_SEARCH_LINKCUTS_H

#include "soap/Topology/Topology.h"

namespace soap::detail {

/// The links that everything must pass that comes to a place, or leaves it. The
/// host is left out.
struct LinkCut {
  double bytesPerNs = 0;         ///< Of all of them together.
  int64_t latencyNs = INT64_MAX; ///< Of the shortest route through them.
  bool isSingle = false;         ///< One resource, used one at a time.
};

/// The cuts of a topology. Computed once; takes some ns per pair of devices.
class LinkCuts {
public:
  explicit LinkCuts(const Topology &topology);

  int32_t numMachines() const { return numMachines_; }
  /// The machine of a device, numbered from 0; of the host, numMachines().
  int32_t machineOf(int32_t device) const { return machineOf_[device]; }
  /// Into a device, from all others and from those of other machines.
  const LinkCut &into(int32_t device) const { return into_[device]; }
  const LinkCut &intoFromFar(int32_t device) const { return far_[device]; }
  /// Into and out of a machine.
  const LinkCut &intoMachine(int32_t machine) const { return in_[machine]; }
  const LinkCut &outOfMachine(int32_t machine) const { return out_[machine]; }

private:
  int32_t numMachines_ = 0;
  std::vector<int32_t> machineOf_;
  std::vector<LinkCut> into_, far_, in_, out_;
};

} // namespace soap::detail

#endif // SOAP_LIB_SEARCH_LINKCUTS_H
