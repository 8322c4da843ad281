//===- HostShare.cpp - What processes of one host share -------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/HostShare.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

HostShare runtime::shareHost(Group *group, const Placement &placement,
                             const std::vector<int> &cores,
                             uint64_t neededBytes, const std::string &model) {
  HostShare share;
  auto devicesOf = [&](uint32_t rank) {
    return static_cast<size_t>(
        std::count(placement.rankOf.begin(), placement.rankOf.end(), rank));
  };
  share.devices = devicesOf(placement.rank);
  share.onHost = static_cast<uint32_t>(share.devices);
  share.neededBytes = neededBytes;
  if (!group)
    return share;
  // "model|bytes|cores"
  std::string set;
  for (int core : cores)
    set += ' ' + std::to_string(core);
  std::vector<std::string> all =
      group->allGather(model + '|' + std::to_string(neededBytes) + '|' + set);
  const std::vector<ProcessName> &names = group->names();
  for (uint32_t rank = 0; rank != all.size(); ++rank) {
    size_t first = all[rank].find('|'), second = all[rank].find('|', first + 1);
    if (all[rank].compare(0, first, model) != 0)
      invalid("expected the same model, map and options on all ranks, got: "
              "others on rank ",
              rank, " (host ", names[rank].host, ") than on rank ",
              placement.rank,
              "; start all ranks with one command and one file");
    if (rank == placement.rank ||
        names[rank].host != names[placement.rank].host)
      continue;
    if (__builtin_add_overflow(share.neededBytes,
                               std::stoull(all[rank].substr(first + 1)),
                               &share.neededBytes))
      share.neededBytes = UINT64_MAX;
    auto count = static_cast<uint32_t>(devicesOf(rank));
    share.onHost += count;
    if (rank < placement.rank)
      share.firstOnHost += count;
    if (all[rank].substr(second + 1) != set)
      continue; // The launcher has bound it to cores of its own.
    share.devices += devicesOf(rank);
    if (rank < placement.rank)
      share.firstDevice += devicesOf(rank);
  }
  return share;
}
