//===- CollectivePlay.h - A collective under way ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_COSTMODEL_COLLECTIVEPLAY_H
#define SOAP_LIB_COSTMODEL_COLLECTIVEPLAY_H

#include "soap/CostModel/CostModel.h"
#include "soap/Links/Collectives.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

namespace soap::detail {

/// A collective under way: a clock per member, and when links are free.
class Play {
public:
  Play(llvm::ArrayRef<int32_t> group, const Topology &topology)
      : group_(group), topology_(topology),
        members_(static_cast<int64_t>(group.size())), clocks_(group.size(), 0),
        copyNs_(group.size(), 0) {}

  int64_t members() const { return members_; }
  int64_t clock(int64_t member) const { return clocks_[member]; }
  void delay(int64_t member, int64_t time) {
    clocks_[member] = std::max(clocks_[member], time);
  }

  /// Sends a message at `start`, when both ends are there; returns when it has
  /// come. Messages of no bytes are skipped.
  int64_t send(int64_t from, int64_t to, double bytes, int64_t start) {
    if (!(bytes > 0) || from == to)
      return start;
    const Route &route = topology_.route(group_[from], group_[to]);
    int64_t begin = start;
    for (int32_t id : route.links)
      begin = std::max(begin, linkOf(id).free);
    for (int32_t id : route.links) {
      const Link &link = topology_.links()[id];
      LinkState &state = linkOf(id);
      state.free = begin + link.ns(bytes);
      state.busy += bytes / link.bandwidth * 1e9;
    }
    if (group_[to] != topology_.host())
      copyNs_[to] += route.copyNs(bytes);
    occupies_ |= route.occupiesReceiver;
    return begin + route.latencyNs + route.ns(bytes);
  }

  struct Message {
    int64_t from, to;
    double bytes;
  };
  /// A round: every member posts all that it sends and receives, then waits.
  void round(llvm::ArrayRef<Message> messages) {
    llvm::SmallVector<int64_t, 16> start(clocks_);
    for (auto [from, to, bytes] : messages) {
      int64_t end = send(from, to, bytes, std::max(start[from], start[to]));
      delay(from, end);
      delay(to, end);
    }
  }

  /// A member joins `incoming` messages of `bytes` with its own data: reads
  /// them all and writes the result.
  void join(int64_t member, int64_t incoming, double bytes) {
    touch(member, static_cast<double>(incoming + 2) * bytes);
  }

  /// A member reads and writes its own memory.
  void touch(int64_t member, double bytes) {
    if (!(bytes > 0) || group_[member] == topology_.host())
      return;
    int64_t ns = roundNs(1e9 * CostModel::trafficSeconds(
                                   bytes, topology_.kindOf(group_[member])));
    clocks_[member] += ns;
    copyNs_[member] += ns;
  }

  /// Every member copies what it keeps of its own, `bytes(m)`, to where it
  /// gets the rest.
  template <typename Fn>
  void keepOwn(Fn bytes) {
    for (int64_t m = 0; m != members_; ++m) {
      const DeviceKind &kind = topology_.kindOf(group_[m]);
      if (!(kind.boxBandwidth > 0))
        continue;
      int64_t ns = roundNs(2e9 * bytes(m) / kind.boxBandwidth);
      clocks_[m] += ns;
      copyNs_[m] += ns;
    }
  }

  /// True if every member reads and writes the memory of every other.
  bool shareMemory() const {
    for (int32_t from : group_)
      for (int32_t to : group_)
        if (from != to && !topology_.route(from, to).sharesMemory)
          return false;
    return true;
  }

  /// Every member waits until all are done and have said so.
  void meet() {
    llvm::SmallVector<int64_t, 16> ends(clocks_);
    for (int64_t to = 0; to != members_; ++to)
      for (int64_t from = 0; from != members_; ++from)
        if (from != to)
          delay(to, ends[from] +
                        topology_.route(group_[from], group_[to]).latencyNs);
  }

  /// Plays `rounds` rounds. Where all rounds are alike, the times of the later
  /// ones follow from the first.
  template <typename Fn>
  void repeat(int64_t rounds, bool alike, Fn playRound) {
    int64_t played = alike ? std::min<int64_t>(rounds, 4) : rounds;
    int64_t last = 0;
    llvm::SmallVector<double, 16> busy;
    llvm::SmallVector<int64_t, 16> copied(copyNs_);
    for (const LinkState &link : links_)
      busy.push_back(link.busy);
    for (int64_t round = 0; round < played; ++round) {
      int64_t before = latest();
      playRound(round);
      last = latest() - before;
    }
    int64_t rest = rounds - played;
    if (rest == 0)
      return;
    busy.resize(links_.size(), 0);
    for (int64_t &time : clocks_)
      time += last * rest;
    for (auto [link, old] : llvm::zip_equal(links_, busy)) {
      link.free += last * rest;
      link.busy += (link.busy - old) / played * rest;
    }
    for (auto [now, old] : llvm::zip_equal(copyNs_, copied))
      now += (now - old) * rest / played;
  }

  CollectiveCost finish(CollectiveAlgorithm algorithm) {
    CollectiveCost cost;
    cost.algorithm = algorithm;
    cost.ns = std::min(latest(), longestNs);
    if (occupies_)
      cost.occupiesNs = std::min(
          *std::max_element(copyNs_.begin(), copyNs_.end()), longestNs);
    llvm::sort(links_, [](const LinkState &a, const LinkState &b) {
      return a.resource < b.resource;
    });
    for (const LinkState &link : links_)
      cost.links.push_back({link.resource, roundNs(link.busy)});
    return cost;
  }

private:
  struct LinkState {
    int32_t resource;
    int64_t free = 0;
    double busy = 0;
  };
  LinkState &linkOf(int32_t id) {
    int32_t resource = topology_.links()[id].resource;
    auto [it, isNew] = indices_.try_emplace(resource, links_.size());
    if (isNew)
      links_.push_back({resource});
    return links_[it->second];
  }
  int64_t latest() const {
    return *std::max_element(clocks_.begin(), clocks_.end());
  }

  llvm::ArrayRef<int32_t> group_;
  const Topology &topology_;
  int64_t members_;
  llvm::SmallVector<int64_t, 16> clocks_;
  llvm::SmallVector<int64_t, 16> copyNs_; ///< Copying and joining, per member.
  llvm::SmallVector<LinkState, 16> links_;
  llvm::SmallDenseMap<int32_t, size_t, 32> indices_;
  bool occupies_ = false;
};

} // namespace soap::detail

#endif // SOAP_LIB_COSTMODEL_COLLECTIVEPLAY_H
