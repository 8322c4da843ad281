//===- CommunicatorPlan.cpp - Which groups get communicators --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/CommunicatorPlan.h"
#include <algorithm>
#include <numeric>

using namespace soap::runtime::cuda;

CommunicatorPlan::CommunicatorPlan(uint32_t devices,
                                   const std::vector<CollectiveGroup> &groups,
                                   unsigned mostPerDevice) {
  std::vector<uint32_t> all(devices);
  std::iota(all.begin(), all.end(), 0U);
  groups_.push_back({all, false});
  if (std::any_of(groups.begin(), groups.end(), [](const CollectiveGroup &g) {
        return g.hasPriority && g.members.size() > 1;
      }))
    groups_.push_back({all, true});
  std::vector<unsigned> used(devices, static_cast<unsigned>(groups_.size()));
  for (const CollectiveGroup &group : groups) {
    // A member alone copies.
    if (group.members.size() < 2 || find(group))
      continue;
    if (std::any_of(group.members.begin(), group.members.end(),
                    [&](uint32_t d) { return used[d] >= mostPerDevice; }))
      continue;
    for (uint32_t device : group.members)
      ++used[device];
    groups_.push_back(group);
  }
}

std::optional<size_t>
CommunicatorPlan::find(const CollectiveGroup &group) const {
  auto it = std::find(groups_.begin(), groups_.end(), group);
  if (it == groups_.end())
    return std::nullopt;
  return static_cast<size_t>(it - groups_.begin());
}
