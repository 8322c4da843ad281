//===- Exchange.cpp - A group of transfers --------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport/HostMoves.h"
#include <cassert>

using namespace soap;
using namespace soap::runtime;

namespace {
class Exchange final : public HostMove {
public:
  Exchange(Channels &channels, const ExchangePart &parts) : part_(parts) {
    for (const MessagePart &send : part_.sends)
      senders_.push_back(
          channels.makeSender(send.channel, part_.device, send.peer));
    for (const MessagePart &receive : part_.receives)
      receivers_.push_back(
          channels.makeReceiver(receive.channel, receive.peer, part_.device));
    received_.assign(part_.receives.size(), 0);
  }

  void place(const std::vector<char *> &sends,
             const std::vector<char *> &receives) override {
    assert(sends.size() == senders_.size() &&
           receives.size() == receivers_.size() && "a place per message");
    sources_ = sends;
    targets_ = receives;
  }

  void run() override {
    assert(sources_.size() == senders_.size() && "place() comes first");
    std::fill(received_.begin(), received_.end(), 0);
    for (size_t i = 0; i != receivers_.size(); ++i)
      receivers_[i]->post(targets_[i], part_.receives[i].span.bytes);
    for (size_t i = 0; i != senders_.size(); ++i)
      senders_[i]->post(sources_[i], part_.sends[i].span.bytes);
    for (size_t i = 0; i != receivers_.size(); ++i) {
      receivers_[i]->finish();
      received_[i] = static_cast<int64_t>(part_.receives[i].span.bytes);
    }
    for (const auto &sender : senders_)
      sender->finish();
  }

  uint64_t bytes() const override {
    uint64_t total = 0;
    for (int64_t count : received_)
      total += static_cast<uint64_t>(count);
    return total;
  }

  void movements(std::vector<Movement> &result) const override {
    for (size_t i = 0; i != part_.receives.size(); ++i)
      result.push_back({SOAP_TRANSFER,
                        {static_cast<int32_t>(part_.receives[i].peer),
                         static_cast<int32_t>(part_.device)},
                        {received_[i]}});
  }

private:
  ExchangePart part_;
  std::vector<char *> sources_, targets_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<int64_t> received_; ///< Bytes of each message in the last run.
};
} // namespace

std::unique_ptr<HostMove> runtime::makeHostExchange(Channels &channels,
                                                    const ExchangePart &part) {
  return std::make_unique<Exchange>(channels, part);
}
