//===- MovingRows.cpp - Rows that others take part in ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/MovingRows.h"
#include <algorithm>

using namespace soap;
using namespace soap::runtime;

bool runtime::movesData(const fb::Row &row) {
  return row.body_type() != fb::RowBody::Launch &&
         row.body_type() != fb::RowBody::Copy;
}

std::unique_ptr<RowAction> MovingRows::make(const fb::Row &row,
                                            uint32_t index) const {
  auto span = [&](const fb::Extent &extent) {
    return Span{address(extent.buffer()) + extent.offset(), extent.bytes()};
  };
  Group *group = hostLinks.group;
  uint64_t hostChannel = group ? hostLinks.channelOf(device, index) : 0;
  const Meetings::RowLinks &links = meetings.rows[device][index];
  if (const auto *feed = row.body_as_Feed())
    return hostLinks.areRemote()
               ? makeRemoteFeed(*feed, device, address,
                                group->makeReceiver(hostChannel, 0))
               : makeFeed(*feed, device, address);
  if (const auto *drain = row.body_as_Drain())
    return hostLinks.areRemote()
               ? makeRemoteDrain(*drain, device, address,
                                 group->makeSender(hostChannel, 0))
               : makeDrain(*drain, device, address);
  if (const auto *exchange = row.body_as_Exchange()) {
    ExchangePart part;
    part.device = device;
    for (uint32_t i = 0; i != links.sends.size(); ++i) {
      const fb::Message *message = exchange->sends()->Get(i);
      part.sends.push_back(
          {links.sends[i], message->peer(), span(message->data())});
    }
    for (uint32_t i = 0; i != links.receives.size(); ++i) {
      const fb::Message *message = exchange->receives()->Get(i);
      part.receives.push_back(
          {links.receives[i], message->peer(), span(message->data())});
    }
    return makeExchange(transport, std::move(part));
  }
  const fb::Collective &collective = *row.body_as_Collective();
  CollectivePart part{collective.kind(),
                      collective.algorithm(),
                      links.meeting,
                      meetings.meetings[links.meeting].firstChannel,
                      collective.member(),
                      toVector(collective.group()),
                      collective.combine(),
                      collective.element(),
                      {},
                      {}};
  for (const fb::Extent *extent : items(collective.send()))
    part.send.push_back(span(*extent));
  for (const fb::Extent *extent : items(collective.receive()))
    part.receive.push_back(span(*extent));
  return makeCollective(transport, std::move(part));
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

namespace {
/// Ends that no message goes through: what rows need does not depend on more
/// than whether memory is shared.
class FarReceiver final : public Receiver {
public:
  void post(char *, uint64_t) override {}
  void finish() override {}
};

class FarSender final : public Sender {
public:
  void post(const char *, uint64_t) override {}
  void finish() override {}
};

class FarTransport final : public Transport {
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
} // namespace

uint64_t runtime::mostCommunicationBytes(const fb::Model &model,
                                         const Meetings &meetings,
                                         uint32_t device) {
  FarTransport transport;
  // Addresses are made, and not used.
  static char nowhere[64];
  BufferAddress address = [](uint32_t) { return nowhere; };
  MovingRows rows{device, meetings, transport, {}, address};
  uint64_t bytes = 0;
  uint32_t index = 0;
  for (const fb::Row *row : items(model.devices()->Get(device)->main())) {
    std::unique_ptr<RowAction> action;
    if (const auto *feed = row->body_as_Feed())
      action = makeRemoteFeed(*feed, device, address,
                              std::make_unique<FarReceiver>());
    else if (const auto *drain = row->body_as_Drain())
      action = makeRemoteDrain(*drain, device, address,
                               std::make_unique<FarSender>());
    else if (movesData(*row))
      action = rows.make(*row, index);
    if (action)
      bytes = std::max(bytes, action->ownBytes());
    ++index;
  }
  return bytes;
}
