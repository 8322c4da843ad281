//===- Ring.cpp - Every member to the next one ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// n - 1 rounds in which every member sends one piece to its successor and
// receives one from its predecessor (2(n - 1) for an all-reduce), after
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations" (2009), section 3. A broadcast goes down the chain in segments.
//
//===----------------------------------------------------------------------===//

#include "Transport/Collective.h"
#include "soap/Links/Collectives.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

namespace {
class RingCollective : public Collective {
public:
  RingCollective(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)) {
    if (members_ > 1) {
      connectTo(after(1));
      connectFrom(before(1));
    }
  }

protected:
  Sender &next() { return *senders_[after(1)]; }
  Receiver &previous() { return *receivers_[before(1)]; }

  /// Passes pieces on until every member has all; piece(m) is where that of
  /// member m lies or shall lie.
  template <typename Fn>
  void gather(Fn piece) {
    for (uint32_t step = 0; step + 1 < members_; ++step) {
      Span in = piece(before(step + 1)), out = piece(before(step));
      expect(before(1), in.data, in.bytes);
      post(after(1), out.data, out.bytes);
      previous().finish();
      next().finish();
    }
  }

  /// Passes partial sums on until piece m has been joined by member m: it
  /// starts at the one after m and is joined in the order of the ring. own(m)
  /// is this member's share of it, sum(m, step) where the sum so far shall lie.
  template <typename Own, typename Sum>
  void scatter(Own own, Sum sum) {
    Span out = own(before(1));
    for (uint32_t step = 0; step + 1 < members_; ++step) {
      Span mine = own(before(step + 2));
      char *joined = sum(before(step + 2), step);
      post(after(1), out.data, out.bytes);
      join({before(1), member_}, mine.data, joined, mine.bytes);
      next().finish();
      out = {joined, mine.bytes};
    }
  }
};

class RingAllGather final : public RingCollective {
public:
  using RingCollective::RingCollective;
  void move() override {
    copy(part_.send[0], part_.receive[member_]);
    gather([&](uint32_t m) { return part_.receive[m]; });
  }
};

class RingReduceScatter final : public RingCollective {
public:
  RingReduceScatter(Channels &channels, HostCollectivePart parts)
      : RingCollective(channels, std::move(parts)) {
    uint64_t largest = 0;
    for (const Span &span : part_.send)
      largest = std::max(largest, span.bytes);
    reserveIncoming({before(1)}, largest);
    // One sum is sent while the next is made.
    for (uint64_t &sum : sums_)
      sum = reserve(members_ > 2 ? largest : 0);
  }

  void move() override {
    if (members_ == 1)
      return copy(part_.send[0], part_.receive[0]);
    scatter([&](uint32_t m) { return part_.send[m]; },
            [&](uint32_t m, uint32_t step) {
              return m == member_ ? part_.receive[0].data
                                  : ownMemory(sums_[step % 2]);
            });
  }

private:
  uint64_t sums_[2]; ///< Where.
};

class RingAllReduce final : public RingCollective {
public:
  RingAllReduce(Channels &channels, HostCollectivePart parts)
      : RingCollective(channels, std::move(parts)) {
    uint64_t largest = 0;
    for (uint32_t m = 0; m != members_; ++m)
      largest = std::max(largest, slice(part_.receive[0], m).bytes);
    reserveIncoming({before(1)}, largest);
  }

  void move() override {
    if (members_ == 1)
      return copy(part_.send[0], part_.receive[0]);
    scatter(
        [&](uint32_t m) { return slice(part_.send[0], m); },
        [&](uint32_t m, uint32_t) { return slice(part_.receive[0], m).data; });
    gather([&](uint32_t m) { return slice(part_.receive[0], m); });
  }
};

class RingBroadcast final : public Collective {
public:
  RingBroadcast(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)) {
    if (member_ != 0)
      connectFrom(member_ - 1);
    if (member_ + 1 != members_)
      connectTo(member_ + 1);
  }

  void move() override {
    const Span &whole = member_ == 0 ? part_.send[0] : part_.receive[0];
    uint64_t segments = collectives::broadcastSegments(whole.bytes);
    auto cut = [&](uint64_t i) {
      // Whole cache lines.
      return i == segments ? whole.bytes : whole.bytes / 64 * i / segments * 64;
    };
    for (uint64_t i = 0; i != segments; ++i) {
      char *data = whole.data + cut(i);
      uint64_t bytes = cut(i + 1) - cut(i);
      if (member_ != 0) {
        expect(member_ - 1, data, bytes);
        receivers_[member_ - 1]->finish();
      }
      if (member_ + 1 != members_) {
        senders_[member_ + 1]->finish();
        post(member_ + 1, data, bytes);
      }
    }
    if (member_ + 1 != members_)
      senders_[member_ + 1]->finish();
  }
};
} // namespace

std::unique_ptr<HostMove> runtime::makeRing(Channels &channels,
                                            HostCollectivePart part) {
  switch (part.kind) {
  case fb::CollectiveKind::Broadcast:
    return std::make_unique<RingBroadcast>(channels, std::move(part));
  case fb::CollectiveKind::AllGather:
    return std::make_unique<RingAllGather>(channels, std::move(part));
  case fb::CollectiveKind::AllReduce:
    return std::make_unique<RingAllReduce>(channels, std::move(part));
  case fb::CollectiveKind::ReduceScatter:
    return std::make_unique<RingReduceScatter>(channels, std::move(part));
  case fb::CollectiveKind::AllToAll:
    break;
  }
  return nullptr;
}
