//===- Exchange.cpp - A group of transfers --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/HostMoves.h"

using namespace soap;
using namespace soap::runtime;

namespace {
class Exchange final : public HostMove {
public:
  Exchange(Channels &channels, const ExchangePart &parts) : part(parts) {
    for (const MessagePart &send : part.sends)
      senders.push_back(
          channels.makeSender(send.channel, part.device, send.peer));
    for (const MessagePart &receive : part.receives)
      receivers.push_back(
          channels.makeReceiver(receive.channel, receive.peer, part.device));
    received.assign(part.receives.size(), 0);
  }

  void place(const std::vector<char *> &sends,
             const std::vector<char *> &receives) override {
    sources = sends;
    targets = receives;
  }

  void run() override {
    std::fill(received.begin(), received.end(), 0);
    for (size_t i = 0; i != receivers.size(); ++i)
      receivers[i]->post(targets[i], part.receives[i].span.bytes);
    for (size_t i = 0; i != senders.size(); ++i)
      senders[i]->post(sources[i], part.sends[i].span.bytes);
    for (size_t i = 0; i != receivers.size(); ++i) {
      receivers[i]->finish();
      received[i] = static_cast<int64_t>(part.receives[i].span.bytes);
    }
    for (const auto &sender : senders)
      sender->finish();
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
  std::vector<char *> sources, targets;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<int64_t> received; ///< Bytes of each message in the last run.
};
} // namespace

std::unique_ptr<HostMove> runtime::makeHostExchange(Channels &channels,
                                                    const ExchangePart &part) {
  return std::make_unique<Exchange>(channels, part);
}
