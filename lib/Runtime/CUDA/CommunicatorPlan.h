//===- CommunicatorPlan.h - Which groups get communicators ------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_CUDA_COMMUNICATORPLAN_H
#define SOAP_LIB_RUNTIME_CUDA_COMMUNICATORPLAN_H

#include "Backend/Transport.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace soap::runtime::cuda {

/// The groups of devices that get a communicator, the same in all processes. A
/// communicator takes memory of each of its GPUs, so a device is in at most so
/// many; what other groups do is sent and received over that of all devices.
/// What runs on priority streams has communicators of its own, since all calls
/// of one communicator are in order.
class CommunicatorPlan {
public:
  /// What one device may be in, those of all devices included, which it always
  /// is in.
  static constexpr unsigned kMostPerDevice = 16;

  /// `groups`: of all collectives, in table order. The first ones get theirs.
  CommunicatorPlan(uint32_t devices, const std::vector<CollectiveGroup> &groups,
                   unsigned mostPerDevice = kMostPerDevice);

  /// Members by rank. The first group is that of all devices, in order; the
  /// second, if any has priority, is the same with priority.
  const std::vector<CollectiveGroup> &groups() const { return groups_; }
  /// The number of a group's communicator; nothing if it has none.
  std::optional<size_t> find(const CollectiveGroup &group) const;
  /// The number of the one of all devices.
  static size_t ofAll(bool hasPriority) { return hasPriority ? 1 : 0; }

private:
  std::vector<CollectiveGroup> groups_;
};

} // namespace soap::runtime::cuda

#endif // SOAP_LIB_RUNTIME_CUDA_COMMUNICATORPLAN_H
