//===- Exchange.cpp - A group of transfers --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/Communication.h"

using namespace soap;
using namespace soap::runtime;

namespace {
class Exchange final : public RowAction {
public:
  Exchange(Transport &transport, ExchangePart parts) : part(std::move(parts)) {
    for (const MessagePart &send : part.sends)
      senders.push_back(
          transport.makeSender(send.channel, part.device, send.peer));
    for (const MessagePart &receive : part.receives)
      receivers.push_back(
          transport.makeReceiver(receive.channel, receive.peer, part.device));
    received.assign(part.receives.size(), 0);
  }

  void run(const Step &) override {
    std::fill(received.begin(), received.end(), 0);
    for (size_t i = 0; i != receivers.size(); ++i)
      receivers[i]->post(part.receives[i].span.data,
                         part.receives[i].span.bytes);
    for (size_t i = 0; i != senders.size(); ++i)
      senders[i]->post(part.sends[i].span.data, part.sends[i].span.bytes);
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
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<int64_t> received; ///< Bytes of each message in the last run.
};
} // namespace

std::unique_ptr<RowAction> runtime::makeExchange(Transport &transport,
                                                 ExchangePart part) {
  return std::make_unique<Exchange>(transport, std::move(part));
}
