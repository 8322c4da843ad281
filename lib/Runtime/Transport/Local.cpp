//===- Local.cpp - Threads of one process ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Transport/Channel.h"
#include "Wait.h"
#include <cstring>
#include <mutex>
#include <unordered_map>

using namespace soap::runtime;

namespace {
/// Why the steps over some channels cannot go on.
class Abandonment {
public:
  /// The first reason counts; false if there is one.
  bool because(const std::string &why) {
    std::lock_guard<std::mutex> lock(mutex);
    if (isKnown)
      return false;
    reason = why;
    return isKnown = true;
  }
  [[noreturn]] void raise() {
    std::lock_guard<std::mutex> lock(mutex);
    failed(reason);
  }

private:
  std::mutex mutex;
  bool isKnown = false;
  std::string reason;
};

/// What both ends see. Counts are of messages since load; the address of
/// message i lies in slot i modulo the number of slots.
struct LocalChannel {
  explicit LocalChannel(Abandonment &abandonment) : abandonment(abandonment) {}
  void wait(Counter &counter, uint32_t target, unsigned spins) {
    if (!counter.wait(target, spins))
      abandonment.raise();
  }

  Abandonment &abandonment;
  Counter posted, taken;
  const char *slots[maxPostedMessages] = {};
};

class LocalSender final : public Sender {
public:
  LocalSender(std::shared_ptr<LocalChannel> channel, unsigned spins)
      : channel(std::move(channel)), spins(spins) {}

  void post(const char *data, uint64_t) override {
    channel->slots[count % maxPostedMessages] = data;
    channel->posted.set(++count);
  }

private:
  void awaitReceiver() override { channel->wait(channel->taken, count, spins); }

  std::shared_ptr<LocalChannel> channel;
  unsigned spins;
  uint32_t count = 0;
};

class LocalReceiver final : public Receiver {
public:
  LocalReceiver(std::shared_ptr<LocalChannel> channel, unsigned spins)
      : channel(std::move(channel)), spins(spins) {}

  void post(char *buffer, uint64_t bytes) override {
    targets[posted++ % maxPostedMessages] = {buffer, bytes};
  }

  void finish() override {
    while (count != posted) {
      auto [buffer, bytes] = targets[count % maxPostedMessages];
      const char *data = next();
      if (bytes && data != buffer)
        std::memcpy(buffer, data, bytes);
      channel->taken.set(count);
    }
  }

  bool sharesMemory() const override { return true; }
  const char *view(uint64_t) override {
    ++posted;
    return next();
  }
  void release() override { channel->taken.set(count); }

private:
  const char *next() {
    channel->wait(channel->posted, count + 1, spins);
    return channel->slots[count++ % maxPostedMessages];
  }

  struct Target {
    char *buffer;
    uint64_t bytes;
  };
  std::shared_ptr<LocalChannel> channel;
  unsigned spins;
  uint32_t posted = 0, count = 0;
  Target targets[maxPostedMessages] = {};
};

class LocalChannels final : public Channels {
public:
  explicit LocalChannels(unsigned spins) : spins(spins) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t,
                                     uint32_t) override {
    return std::make_unique<LocalSender>(find(channel), spins);
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t,
                                         uint32_t) override {
    return std::make_unique<LocalReceiver>(find(channel), spins);
  }

  void abandon(const std::string &reason) override {
    // Of many rows that fail, one ends the waits.
    if (!abandonment.because(reason))
      return;
    for (const auto &[id, channel] : channels) {
      channel->posted.abandon();
      channel->taken.abandon();
    }
  }

private:
  std::shared_ptr<LocalChannel> find(uint32_t id) {
    std::shared_ptr<LocalChannel> &channel = channels[id];
    if (!channel)
      channel = std::make_shared<LocalChannel>(abandonment);
    return channel;
  }

  unsigned spins;
  Abandonment abandonment;
  std::unordered_map<uint32_t, std::shared_ptr<LocalChannel>> channels;
};
} // namespace

std::unique_ptr<Channels> soap::runtime::makeLocalChannels(unsigned spins) {
  return std::make_unique<LocalChannels>(spins);
}
