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

CommunicatorPlan::CommunicatorPlan(
    uint32_t devices, const std::vector<std::vector<uint32_t>> &groups,
    unsigned mostPerDevice) {
  std::vector<uint32_t> all(devices);
  std::iota(all.begin(), all.end(), 0U);
  groups_.push_back(all);
  std::vector<unsigned> used(devices, 1);
  for (const std::vector<uint32_t> &group : groups) {
    // A member alone copies.
    if (group.size() < 2 || find(group))
      continue;
    if (std::any_of(group.begin(), group.end(),
                    [&](uint32_t d) { return used[d] >= mostPerDevice; }))
      continue;
    for (uint32_t device : group)
      ++used[device];
    groups_.push_back(group);
  }
}

std::optional<size_t>
CommunicatorPlan::find(const std::vector<uint32_t> &group) const {
  auto it = std::find(groups_.begin(), groups_.end(), group);
  if (it == groups_.end())
    return std::nullopt;
  return static_cast<size_t>(it - groups_.begin());
}
