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
      : Collective(channels, std::move(parts)), memberOrder_(members_) {
    connectAll();
    std::iota(memberOrder_.begin(), memberOrder_.end(), 0);
  }

protected:
  void finishReceives() {
    for (uint32_t i = 1; i < members_; ++i)
      receivers_[after(i)]->finish();
  }
  void finishSends() {
    for (uint32_t i = 1; i < members_; ++i)
      senders_[after(i)]->finish();
  }
  std::vector<uint32_t> memberOrder_;
};

class DirectBroadcast final : public Collective {
public:
  DirectBroadcast(Channels &channels, HostCollectivePart parts)
      : Collective(channels, std::move(parts)) {
    if (member_ != 0)
      connectFrom(0);
    for (uint32_t m = 1; member_ == 0 && m != members_; ++m)
      connectTo(m);
  }

  void move() override {
    if (member_ != 0) {
      expect(0, part_.receive[0].data, part_.receive[0].bytes);
      receivers_[0]->finish();
      return;
    }
    for (uint32_t m = 1; m != members_; ++m)
      post(m, part_.send[0].data, part_.send[0].bytes);
    for (uint32_t m = 1; m != members_; ++m)
      senders_[m]->finish();
  }
};

/// All-gather and all-to-all: one piece for everybody, or one for each.
class DirectGather final : public DirectCollective {
public:
  using DirectCollective::DirectCollective;

  void move() override {
    for (uint32_t i = 1; i < members_; ++i) {
      uint32_t m = after(i);
      expect(m, part_.receive[m].data, part_.receive[m].bytes);
    }
    for (uint32_t i = 1; i < members_; ++i)
      post(after(i), pieceFor(after(i)).data, pieceFor(after(i)).bytes);
    copy(pieceFor(member_), part_.receive[member_]);
    finishReceives();
    finishSends();
  }

private:
  const Span &pieceFor(uint32_t m) const {
    return part_.send[part_.kind == fb::CollectiveKind::AllGather ? 0 : m];
  }
};

class DirectReduceScatter final : public DirectCollective {
public:
  DirectReduceScatter(Channels &channels, HostCollectivePart parts)
      : DirectCollective(channels, std::move(parts)) {
    reserveIncoming(memberOrder_, part_.receive[0].bytes);
  }

  void move() override {
    for (uint32_t i = 1; i < members_; ++i)
      post(after(i), part_.send[after(i)].data, part_.send[after(i)].bytes);
    join(memberOrder_, part_.send[member_].data, part_.receive[0].data,
         part_.receive[0].bytes);
    finishSends();
  }
};

/// Every member joins one slice of the tensor for all. Where channels lend
/// room, it writes the result to the others as it joins: nobody but this member
/// reads or writes its slice there until it gives it back. Elsewhere it
/// collects the others' results afterwards.
class DirectAllReduce final : public DirectCollective {
public:
  DirectAllReduce(Channels &channels, HostCollectivePart parts)
      : DirectCollective(channels, std::move(parts)) {
    reserveIncoming(memberOrder_, slice(part_.receive[0], member_).bytes);
  }

  void move() override {
    for (uint32_t i = 1; i < members_; ++i) {
      uint32_t m = after(i);
      Span theirs = slice(part_.send[0], m);
      if (theirs.bytes && lendsTo(m))
        senders_[m]->lend(theirs.data, slice(part_.receive[0], m).data,
                          theirs.bytes);
      else
        post(m, theirs.data, theirs.bytes);
    }
    Span own = slice(part_.receive[0], member_);
    join(memberOrder_, slice(part_.send[0], member_).data, own.data, own.bytes);
    // In place, what the others have joined comes to lie where our slices were.
    // Memory that is shared is not written before they have posted it, and that
    // is after they have read ours.
    if (part_.receive[0].data == part_.send[0].data && !sharesMemory())
      finishSends();
    for (uint32_t i = 1; i < members_; ++i) {
      uint32_t m = after(i);
      if (lendsTo(m))
        continue;
      Span theirs = slice(part_.receive[0], m);
      expect(m, theirs.data, theirs.bytes);
      post(m, own.data, own.bytes);
    }
    finishReceives();
    finishSends();
  }

private:
  /// Channels lend room both ways or not at all.
  bool lendsTo(uint32_t m) const { return receivers_[m]->lendsRoom(); }
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
