//===- Local.cpp - Threads of one process ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Transport.h"
#include "Wait.h"
#include <cstring>

using namespace soap;
using namespace soap::runtime;

namespace {
/// One message of a step. The sender posts its address and waits until the
/// receiver has copied from it; both count steps.
struct Channel {
  Counter posted, taken;
  const char *data = nullptr;
};

/// Where the members of one collective meet.
struct Meeting {
  Meeting(size_t members, unsigned spins)
      : barrier(static_cast<uint32_t>(members), spins), parts(members),
        put(members, 0) {}
  Barrier barrier;
  std::vector<CollectivePart> parts;
  std::vector<int64_t> put; ///< Bytes that each member put in last.
};

class LocalExchange final : public RowAction {
public:
  LocalExchange(ExchangePart part, std::vector<Channel> &channels,
                unsigned spins)
      : part(std::move(part)), channels(channels), spins(spins),
        received(this->part.receives.size(), 0) {}

  void run(const Step &step) override {
    for (const MessagePart &send : part.sends) {
      Channel &channel = channels[send.channel];
      channel.data = send.span.data;
      channel.posted.set(step.number);
    }
    for (size_t i = 0; i != part.receives.size(); ++i) {
      const MessagePart &receive = part.receives[i];
      Channel &channel = channels[receive.channel];
      channel.posted.wait(step.number, spins);
      std::memcpy(receive.span.data, channel.data, receive.span.bytes);
      received[i] = static_cast<int64_t>(receive.span.bytes);
      channel.taken.set(step.number);
    }
    for (const MessagePart &send : part.sends)
      channels[send.channel].taken.wait(step.number, spins);
  }

  uint64_t bytes() const override {
    uint64_t total = 0;
    for (int64_t count : received)
      total += static_cast<uint64_t>(count);
    return total;
  }

  void movements(std::vector<Movement> &result) const override {
    for (size_t i = 0; i != part.receives.size(); ++i)
      result.push_back({SOAP_TRANSFER,
                        {static_cast<int32_t>(part.receives[i].peer),
                         static_cast<int32_t>(part.device)},
                        {received[i]}});
  }

private:
  ExchangePart part;
  std::vector<Channel> &channels;
  unsigned spins;
  std::vector<int64_t> received;
};

class LocalCollective final : public RowAction {
public:
  LocalCollective(Meeting &meeting, uint32_t member)
      : meeting(meeting), member(member) {}

  void run(const Step &) override {
    const CollectivePart &part = meeting.parts[member];
    meeting.put[member] = 0;
    meeting.barrier.arrive(visits);
    switch (part.kind) {
    case fb::CollectiveKind::Broadcast:
      if (member != 0)
        copy(meeting.parts[0].send[0], part.receive[0]);
      break;
    case fb::CollectiveKind::AllGather:
      forOthers(
          [&](uint32_t m) { copy(meeting.parts[m].send[0], part.receive[m]); });
      break;
    case fb::CollectiveKind::AllToAll:
      forOthers([&](uint32_t m) {
        copy(meeting.parts[m].send[member], part.receive[m]);
      });
      break;
    case fb::CollectiveKind::AllReduce:
      allReduce(part);
      break;
    case fb::CollectiveKind::ReduceScatter: {
      std::vector<const char *> &sources = addresses;
      sources.clear();
      for (const CollectivePart &other : meeting.parts)
        sources.push_back(other.send[member].data);
      reduceElements(part.combine, part.element, part.receive[0].data, sources,
                     part.receive[0].bytes / elementSize(part.element));
      break;
    }
    }
    for (const Span &span : part.send)
      meeting.put[member] += static_cast<int64_t>(span.bytes);
    // Nobody leaves before everybody has read what it needs.
    meeting.barrier.arrive(visits);
  }

  uint64_t bytes() const override {
    uint64_t total = 0;
    for (const Span &span : meeting.parts[member].receive)
      total += span.bytes;
    return total;
  }

  void movements(std::vector<Movement> &result) const override {
    if (member != 0)
      return;
    const CollectivePart &part = meeting.parts[0];
    static constexpr soap_movement_kind kinds[] = {
        SOAP_BROADCAST, SOAP_ALL_GATHER, SOAP_ALL_TO_ALL, SOAP_ALL_REDUCE,
        SOAP_REDUCE_SCATTER};
    result.push_back({kinds[static_cast<int>(part.kind)],
                      {part.group.begin(), part.group.end()},
                      meeting.put});
  }

private:
  static void copy(const Span &from, const Span &to) {
    if (from.data != to.data && to.bytes)
      std::memcpy(to.data, from.data, to.bytes);
  }

  /// All members, starting with this one, so that they do not all read from the
  /// same one at a time.
  template <typename Fn>
  void forOthers(Fn fn) {
    auto n = static_cast<uint32_t>(meeting.parts.size());
    for (uint32_t i = 0; i != n; ++i)
      fn((member + i) % n);
  }

  /// Every member reduces one slice of the tensor, then collects the others'.
  void allReduce(const CollectivePart &part) {
    uint64_t size = elementSize(part.element);
    uint64_t count = part.receive[0].bytes / size, n = meeting.parts.size();
    auto cut = [&](uint64_t m) { return count * m / n; };
    uint64_t begin = cut(member), end = cut(member + 1);
    addresses.clear();
    for (const CollectivePart &other : meeting.parts)
      addresses.push_back(other.send[0].data + begin * size);
    reduceElements(part.combine, part.element,
                   part.receive[0].data + begin * size, addresses, end - begin);
    meeting.barrier.arrive(visits);
    forOthers([&](uint32_t m) {
      if (m != member && cut(m + 1) != cut(m))
        std::memcpy(part.receive[0].data + cut(m) * size,
                    meeting.parts[m].receive[0].data + cut(m) * size,
                    (cut(m + 1) - cut(m)) * size);
    });
  }

  Meeting &meeting;
  uint32_t member;
  uint32_t visits = 0;
  std::vector<const char *> addresses;
};

class LocalTransport final : public Transport {
public:
  LocalTransport(size_t channelCount, const std::vector<size_t> &groups,
                 unsigned spins)
      : spins(spins), channels(channelCount) {
    for (size_t members : groups)
      meetings.push_back(std::make_unique<Meeting>(members, spins));
  }

  std::unique_ptr<RowAction> makeExchange(ExchangePart part) override {
    return std::make_unique<LocalExchange>(std::move(part), channels, spins);
  }

  std::unique_ptr<RowAction> makeCollective(CollectivePart part) override {
    bool reduces = part.kind == fb::CollectiveKind::AllReduce ||
                   part.kind == fb::CollectiveKind::ReduceScatter;
    if (reduces && !canReduce(part.combine, part.element))
      invalid("expected a reduction that the local transport knows, got: ",
              fb::EnumNameCombine(part.combine), " of ",
              elementName(part.element), "; compile with another strategy");
    Meeting &meeting = *meetings[part.meeting];
    uint32_t member = part.member;
    meeting.parts[member] = std::move(part);
    return std::make_unique<LocalCollective>(meeting, member);
  }

private:
  unsigned spins;
  std::vector<Channel> channels;
  std::vector<std::unique_ptr<Meeting>> meetings;
};
} // namespace

std::unique_ptr<Transport>
runtime::makeLocalTransport(size_t channels, const std::vector<size_t> &groups,
                            unsigned spins) {
  return std::make_unique<LocalTransport>(channels, groups, spins);
}
