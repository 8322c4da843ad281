//===- Local.cpp - Threads of one process ---------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Transport/Channel.h"
#include "Wait.h"
#include <cassert>
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
    std::lock_guard<std::mutex> lock(mutex_);
    if (isKnown_)
      return false;
    reason_ = why;
    return isKnown_ = true;
  }
  [[noreturn]] void raise() {
    std::lock_guard<std::mutex> lock(mutex_);
    failed(reason_);
  }

private:
  std::mutex mutex_;
  bool isKnown_ = false;
  std::string reason_;
};

/// Where a message lies in the sender's memory, and what the receiver may write
/// there (null: nothing).
struct LocalMessage {
  const char *data = nullptr;
  char *room = nullptr;
};

/// What both ends see. Counts are of messages since load; message i lies in
/// slot i modulo the number of slots.
struct LocalChannel {
  explicit LocalChannel(Abandonment &abandonment) : abandonment(abandonment) {}
  void wait(Counter &counter, uint32_t target, Patience patience) {
    CoreMates *mates = CoreMates::own();
    if (!(mates ? counter.waitBeside(target, patience, *mates)
                : counter.wait(target, patience)))
      abandonment.raise();
  }

  Abandonment &abandonment;
  Counter posted, taken;
  LocalMessage slots[maxPostedMessages];
};

class LocalSender final : public Sender {
public:
  LocalSender(std::shared_ptr<LocalChannel> channel, Patience patience)
      : channel_(std::move(channel)), patience_(patience) {}

  void post(const char *data, uint64_t bytes) override {
    lend(data, nullptr, bytes);
  }
  void lend(const char *data, char *room, uint64_t) override {
    channel_->slots[count_ % maxPostedMessages] = {data, room};
    channel_->posted.set(++count_);
  }

private:
  void awaitReceiver() override {
    channel_->wait(channel_->taken, count_, patience_);
  }

  std::shared_ptr<LocalChannel> channel_;
  Patience patience_;
  uint32_t count_ = 0;
};

class LocalReceiver final : public Receiver {
public:
  LocalReceiver(std::shared_ptr<LocalChannel> channel, Patience patience)
      : channel_(std::move(channel)), patience_(patience) {}

  void post(char *buffer, uint64_t bytes) override {
    assert(posted_ - count_ < maxPostedMessages && "rows finish in between");
    targets_[posted_++ % maxPostedMessages] = {buffer, bytes};
  }

  void finish() override {
    while (count_ != posted_) {
      auto [buffer, bytes] = targets_[count_ % maxPostedMessages];
      const char *data = next().data;
      if (bytes && data != buffer)
        std::memcpy(buffer, data, bytes);
      channel_->taken.set(count_);
    }
  }

  bool sharesMemory() const override { return true; }
  const char *view(uint64_t) override {
    assert(posted_ == count_ && "nothing is posted beside a view");
    ++posted_;
    viewed_ = next();
    return viewed_.data;
  }
  void release() override { channel_->taken.set(count_); }
  bool lendsRoom() const override { return true; }
  char *room() override { return viewed_.room; }

private:
  LocalMessage next() {
    channel_->wait(channel_->posted, count_ + 1, patience_);
    return channel_->slots[count_++ % maxPostedMessages];
  }

  struct Target {
    char *buffer;
    uint64_t bytes;
  };
  std::shared_ptr<LocalChannel> channel_;
  Patience patience_;
  uint32_t posted_ = 0, count_ = 0;
  Target targets_[maxPostedMessages] = {};
  LocalMessage viewed_; ///< By the last view().
};

class LocalChannels final : public Channels {
public:
  explicit LocalChannels(Patience patience) : patience_(patience) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t,
                                     uint32_t) override {
    return std::make_unique<LocalSender>(find(channel), patience_);
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t,
                                         uint32_t) override {
    return std::make_unique<LocalReceiver>(find(channel), patience_);
  }

  void abandon(const std::string &reason) override {
    // If many rows fail, the first of them ends the waits.
    if (!abandonment_.because(reason))
      return;
    for (const auto &[id, channel] : channels_) {
      channel->posted.abandon();
      channel->taken.abandon();
    }
  }

private:
  std::shared_ptr<LocalChannel> find(uint32_t id) {
    std::shared_ptr<LocalChannel> &channel = channels_[id];
    if (!channel)
      channel = std::make_shared<LocalChannel>(abandonment_);
    return channel;
  }

  Patience patience_;
  Abandonment abandonment_;
  std::unordered_map<uint32_t, std::shared_ptr<LocalChannel>> channels_;
};
} // namespace

std::unique_ptr<Channels> soap::runtime::makeLocalChannels(Patience patience) {
  return std::make_unique<LocalChannels>(patience);
}
