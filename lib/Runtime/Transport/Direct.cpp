//===- Direct.cpp - Every member to every other ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One round of messages between all pairs, two for an all-reduce. Members start
// with their successor, so that they do not all wait for the same one.
//
//===----------------------------------------------------------------------===//

#include "Transport/Collective.h"
#include <numeric>

using namespace soap;
using namespace soap::runtime;

namespace {
/// Posts to and expects from all others, then finishes.
class DirectCollective : public Collective {
public:
  DirectCollective(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)), memberOrder(members) {
    connectAll();
    std::iota(memberOrder.begin(), memberOrder.end(), 0);
  }

protected:
  void finishReceives() {
    for (uint32_t i = 1; i < members; ++i)
      receivers[after(i)]->finish();
  }
  void finishSends() {
    for (uint32_t i = 1; i < members; ++i)
      senders[after(i)]->finish();
  }
  std::vector<uint32_t> memberOrder;
};

class DirectBroadcast final : public Collective {
public:
  DirectBroadcast(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)) {
    if (member != 0)
      connectFrom(0);
    for (uint32_t m = 1; member == 0 && m != members; ++m)
      connectTo(m);
  }

  void move() override {
    if (member != 0) {
      expect(0, part.receive[0].data, part.receive[0].bytes);
      receivers[0]->finish();
      return;
    }
    for (uint32_t m = 1; m != members; ++m)
      post(m, part.send[0].data, part.send[0].bytes);
    for (uint32_t m = 1; m != members; ++m)
      senders[m]->finish();
  }
};

/// All-gather and all-to-all: one piece for everybody, or one for each.
class DirectGather final : public DirectCollective {
public:
  using DirectCollective::DirectCollective;

  void move() override {
    for (uint32_t i = 1; i < members; ++i) {
      uint32_t m = after(i);
      expect(m, part.receive[m].data, part.receive[m].bytes);
    }
    for (uint32_t i = 1; i < members; ++i)
      post(after(i), pieceFor(after(i)).data, pieceFor(after(i)).bytes);
    copy(pieceFor(member), part.receive[member]);
    finishReceives();
    finishSends();
  }

private:
  const Span &pieceFor(uint32_t m) const {
    return part.send[part.kind == fb::CollectiveKind::AllGather ? 0 : m];
  }
};

class DirectReduceScatter final : public DirectCollective {
public:
  DirectReduceScatter(Channels &channels, HostCollectivePart parts)
      : DirectCollective(channels, std::move(parts)) {
    reserveIncoming(memberOrder, part.receive[0].bytes);
  }

  void move() override {
    for (uint32_t i = 1; i < members; ++i)
      post(after(i), part.send[after(i)].data, part.send[after(i)].bytes);
    join(memberOrder, part.send[member].data, part.receive[0].data,
         part.receive[0].bytes);
    finishSends();
  }
};

/// Every member joins one slice of the tensor, then collects the others'.
class DirectAllReduce final : public DirectCollective {
public:
  DirectAllReduce(Channels &channels, HostCollectivePart parts)
      : DirectCollective(channels, std::move(parts)) {
    reserveIncoming(memberOrder, slice(part.receive[0], member).bytes);
  }

  void move() override {
    for (uint32_t i = 1; i < members; ++i) {
      Span theirs = slice(part.send[0], after(i));
      post(after(i), theirs.data, theirs.bytes);
    }
    Span own = slice(part.receive[0], member);
    join(memberOrder, slice(part.send[0], member).data, own.data, own.bytes);
    // In place, what the others have joined comes to lie where our slices were.
    // Memory that is shared is not written before they have posted it, and that
    // is after they have read ours.
    if (part.receive[0].data == part.send[0].data && !sharesMemory())
      finishSends();
    for (uint32_t i = 1; i < members; ++i) {
      Span theirs = slice(part.receive[0], after(i));
      expect(after(i), theirs.data, theirs.bytes);
      post(after(i), own.data, own.bytes);
    }
    finishReceives();
    finishSends();
  }
};
} // namespace

std::unique_ptr<HostMove> runtime::makeDirect(Channels &channels,
                                              HostCollectivePart part) {
  switch (part.kind) {
  case fb::CollectiveKind::Broadcast:
    return std::make_unique<DirectBroadcast>(channels, std::move(part));
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
    return std::make_unique<DirectGather>(channels, std::move(part));
  case fb::CollectiveKind::AllReduce:
    return std::make_unique<DirectAllReduce>(channels, std::move(part));
  case fb::CollectiveKind::ReduceScatter:
    return std::make_unique<DirectReduceScatter>(channels, std::move(part));
  }
  return nullptr;
}
