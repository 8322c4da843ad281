//===- Timeline.h - When resources are free ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What communication does to the resources of a simulation, in launch order:
// the one place of this arithmetic, for task graphs and for partitioned IR. The
// semantics are those of docs/Search.md ("Semantics"). All times are integer
// nanoseconds from 0 at the start of a step. The functions are inline and
// allocate nothing: they are inner loops of a search.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_SEARCH_TIMELINE_H
#define SOAP_SEARCH_TIMELINE_H

#include "soap/CostModel/CostModel.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cassert>
#include <cstdint>

namespace soap {

/// When every resource is free again. The arrays belong to the caller. Streams
/// are indexed by device, the host's included (it is the last one), links by
/// resource (Link::resource). There are no priority streams where the topology
/// has none.
struct Timeline {
  llvm::MutableArrayRef<int64_t> compute, communication, links, priority = {};

  /// @{ Where the parts begin in one array of all resources, in the order of
  /// the members, and how many times it has.
  static size_t numEnds(const Topology &topology) {
    return topology.numDevices() + 1;
  }
  static size_t firstLink(const Topology &topology) {
    return 2 * numEnds(topology);
  }
  static size_t firstPriority(const Topology &topology) {
    return firstLink(topology) + topology.numResources();
  }
  static size_t size(const Topology &topology) {
    return firstPriority(topology) +
           (topology.hasPriorityStreams() ? numEnds(topology) : 0);
  }
  /// @}
  /// The parts of such an array.
  static Timeline of(llvm::MutableArrayRef<int64_t> all,
                     const Topology &topology) {
    assert(all.size() == size(topology) && "a time per resource");
    size_t ends = numEnds(topology);
    return {all.take_front(ends), all.slice(ends, ends),
            all.slice(firstLink(topology), topology.numResources()),
            all.drop_front(firstPriority(topology))};
  }
  /// The streams that a collective runs on.
  llvm::MutableArrayRef<int64_t> streams(bool hasPriority) const {
    return hasPriority ? priority : communication;
  }
};

/// Told of every use of a resource, by index and by when it starts. This one
/// does not care.
struct NoUses {
  void compute(int32_t, int64_t) const {}
  void communication(int32_t, int64_t) const {}
  void priority(int32_t, int64_t) const {}
  void link(int32_t, int64_t) const {}
};

/// When a collective starts whose inputs are all there at `ready`: once the
/// communication streams of all members and all links are free. One with
/// priority waits for the priority streams alone.
inline int64_t startCollective(const Timeline &timeline,
                               llvm::ArrayRef<int32_t> members,
                               llvm::ArrayRef<LinkUse> links, int64_t ready,
                               bool hasPriority) {
  int64_t start = ready;
  llvm::ArrayRef<int64_t> streams = timeline.streams(hasPriority);
  for (int32_t device : members)
    start = std::max(start, streams[device]);
  if (hasPriority)
    return start;
  for (const LinkUse &use : links)
    start = std::max(start, timeline.links[use.resource]);
  return start;
}

/// Takes each link from `start` on, for the time that its bytes need. A link
/// that is held by others at `start`, which is so only for a collective with
/// priority, is held as much longer.
template <typename Uses = NoUses>
inline void holdLinks(const Timeline &timeline, llvm::ArrayRef<LinkUse> links,
                      int64_t start, Uses uses = {}) {
  for (const LinkUse &use : links) {
    int64_t &free = timeline.links[use.resource];
    int64_t begin = std::max(free, start);
    uses.link(use.resource, begin);
    free = begin + use.ns;
  }
}

/// The compute stream of a receiver works for a message as soon as it can.
template <typename Uses = NoUses>
inline void occupy(const Timeline &timeline, int32_t device, int64_t ns,
                   Uses uses = {}) {
  if (ns == 0)
    return;
  uses.compute(device, timeline.compute[device]);
  timeline.compute[device] += ns;
}

/// Occupies the members of a collective from `start` until `end`. Each of them
/// also loses `occupiesNs` of its compute stream (CollectiveCost::occupiesNs).
template <typename Uses = NoUses>
inline void holdMembers(const Timeline &timeline,
                        llvm::ArrayRef<int32_t> members, int64_t start,
                        int64_t end, int64_t occupiesNs, bool hasPriority,
                        Uses uses = {}) {
  llvm::MutableArrayRef<int64_t> streams = timeline.streams(hasPriority);
  for (int32_t device : members) {
    if (hasPriority)
      uses.priority(device, start);
    else
      uses.communication(device, start);
    streams[device] = end;
    occupy(timeline, device, occupiesNs, uses);
  }
}

/// Runs the transfers of one action in the order given, which is that of
/// (source, destination, offset).
///
/// `members` are devices, each once. A transfer names its `source` and `target`
/// by their index in `members`, the `resources` of the `numLinks` links of its
/// route, and the place of its `cost` in `costs`: the ns that it takes with
/// latencies, the ns that its target's compute stream loses (0 for the host),
/// and the ns that it holds each link (the fields of detail::TransferTask).
///
/// `start`, per member: when it can take part, that is, the later of its
/// communication stream and, if it sends, its inputs. `end`, per member, is
/// written: when the last of its own transfers is done. `start` and `end` must
/// not overlap.
template <typename TransfersT, typename Uses = NoUses>
inline void
runTransfers(const Timeline &timeline, llvm::ArrayRef<int32_t> members,
             const TransfersT &transfers, llvm::ArrayRef<int64_t> costs,
             llvm::ArrayRef<int64_t> start, llvm::MutableArrayRef<int64_t> end,
             Uses uses = {}) {
  assert(start.size() == members.size() && end.size() == members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    uses.communication(members[i], start[i]);
    end[i] = start[i];
  }
  for (const auto &transfer : transfers) {
    const int64_t *cost = costs.data() + transfer.cost;
    int64_t begin = std::max(start[transfer.source], start[transfer.target]);
    // Routes have few links: loops that expect more take longer.
#pragma nounroll
    for (int32_t i = 0; i < transfer.numLinks; ++i)
      begin = std::max(begin, timeline.links[transfer.resources[i]]);
#pragma nounroll
    for (int32_t i = 0; i < transfer.numLinks; ++i) {
      uses.link(transfer.resources[i], begin);
      timeline.links[transfer.resources[i]] = begin + cost[2 + i];
    }
    int64_t done = begin + cost[0];
    end[transfer.source] = std::max(end[transfer.source], done);
    end[transfer.target] = std::max(end[transfer.target], done);
    occupy(timeline, members[transfer.target], cost[1], uses);
  }
  for (size_t i = 0; i < members.size(); ++i)
    timeline.communication[members[i]] = end[i];
}

} // namespace soap

#endif // SOAP_SEARCH_TIMELINE_H
