//===- MovingRows.cpp - Rows that others take part in ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/MovingRows.h"
#include "Transport/Staged.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

bool runtime::movesData(const fb::Row &row) {
  return row.body_type() != fb::RowBody::Launch &&
         row.body_type() != fb::RowBody::Copy;
}

std::unique_ptr<RowAction>
MovingRows::make(const fb::Row &row, uint32_t program, uint32_t index) const {
  auto span = [&](const fb::Extent &extent) {
    return DeviceSpan{address(extent.buffer()) + extent.offset(),
                      extent.bytes()};
  };
  const HostLinks &host = links.host;
  Group *group = host.group;
  uint64_t hostChannel = group ? host.channelOf(program, number, index) : 0;
  const Meetings::RowLinks &meets = links.meetings.rows[program][number][index];
  if (const auto *feed = row.body_as_Feed())
    return host.areRemote()
               ? makeRemoteFeed(*feed, number, address,
                                group->makeReceiver(hostChannel, 0),
                                links.channels)
               : makeFeed(*feed, number, address);
  if (const auto *drain = row.body_as_Drain())
    return host.areRemote() ? makeRemoteDrain(*drain, number, address,
                                              group->makeSender(hostChannel, 0),
                                              links.channels)
                            : makeDrain(*drain, number, address);
  if (const auto *exchange = row.body_as_Exchange()) {
    ExchangePart part;
    part.device = number;
    for (uint32_t i = 0; i != meets.sends.size(); ++i) {
      const fb::Message *message = exchange->sends()->Get(i);
      part.sends.push_back(
          {meets.sends[i], message->peer(), span(message->data())});
    }
    for (uint32_t i = 0; i != meets.receives.size(); ++i) {
      const fb::Message *message = exchange->receives()->Get(i);
      part.receives.push_back(
          {meets.receives[i], message->peer(), span(message->data())});
    }
    return links.transport.makeExchange(device, std::move(part));
  }
  const fb::Collective &collective = *row.body_as_Collective();
  CollectivePart part;
  part.shape = {
      collective.kind(),    collective.algorithm(),
      meets.meeting,        links.meetings.meetings[meets.meeting].firstChannel,
      collective.member(),  toVector(collective.group()),
      collective.combine(), collective.element()};
  part.hasPriority = row.stream() == fb::Stream::Priority;
  for (const fb::Extent *extent : items(collective.send()))
    part.send.push_back(span(*extent));
  for (const fb::Extent *extent : items(collective.receive()))
    part.receive.push_back(span(*extent));
  return links.transport.makeCollective(device, std::move(part));
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

namespace {
/// Ends of channels that carry no message. The memory that rows need depends
/// only on whether the two sides share memory.
class FarReceiver final : public Receiver {
public:
  void post(char *, uint64_t) override {}
  void finish() override {}
};

class FarSender final : public Sender {
public:
  void post(const char *, uint64_t) override {}

private:
  void awaitReceiver() override {}
};

class FarChannels final : public Channels {
public:
  std::unique_ptr<Sender> makeSender(uint32_t, uint32_t, uint32_t) override {
    return std::make_unique<FarSender>();
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t, uint32_t,
                                         uint32_t) override {
    return std::make_unique<FarReceiver>();
  }
  void abandon(const std::string &) override {}
};

/// A device on which nothing is allocated.
class PlannedDevice final : public BackendDevice {
public:
  DevicePointer allocate(uint64_t) override { return {}; }
  void free(DevicePointer, uint64_t) override {}
  std::unique_ptr<Stream> makeStream(Patience, bool) override {
    return nullptr;
  }
  std::unique_ptr<Event> makeEvent() override { return nullptr; }
  std::unique_ptr<Kernel> makeKernel(const fb::Kernel &,
                                     const std::vector<bool> &,
                                     const NativeCode &) override {
    return nullptr;
  }
};
} // namespace

uint64_t runtime::mostCommunicationBytes(const fb::Model &model,
                                         const Meetings &meetings,
                                         const BackendTraits &traits,
                                         uint32_t device) {
  FarChannels channels;
  std::unique_ptr<Transport> transport = makeStagedTransport(channels, traits);
  PlannedDevice planned;
  // These addresses are only compared: every buffer has one of its own, since
  // rows ask whether two buffers are the same.
  BufferAddress address = [](uint32_t buffer) {
    return DevicePointer((uintptr_t{buffer} + 1) << 40);
  };
  HostLinks host;
  Links links{meetings, *transport, channels, host};
  MovingRows rows{device, planned, links, address};
  MovingMemory memory;
  auto add = [&](const fb::Row *row, uint32_t program, uint32_t index) {
    std::unique_ptr<RowAction> action;
    if (const auto *feed = row->body_as_Feed())
      action = makeRemoteFeed(*feed, device, address,
                              std::make_unique<FarReceiver>(), channels);
    else if (const auto *drain = row->body_as_Drain())
      action = makeRemoteDrain(*drain, device, address,
                               std::make_unique<FarSender>(), channels);
    else if (movesData(*row))
      action = rows.make(*row, program, index);
    if (action)
      memory.add(row->stream(), action->ownBytes());
  };
  for (uint32_t program = 0; program != items(model.programs()).size();
       ++program) {
    uint32_t index = 0;
    for (const fb::Row *row : rowsOf(*model.devices()->Get(device), program))
      add(row, program, index++);
  }
  return memory.bytes();
}
