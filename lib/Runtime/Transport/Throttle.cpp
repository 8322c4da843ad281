//===- Throttle.cpp - Links that are slower than the transport ------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over one channel of the inner transport go, for every message, the time at
// which it was posted, then the message; back over another one goes a byte when
// it has arrived, which is what the sender waits for.
//
//===----------------------------------------------------------------------===//

#include "Transport/Throttle.h"
#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <sys/prctl.h>
#include <time.h>

using namespace soap;
using namespace soap::runtime;

/// Messages that one end of a throttled channel may have posted: each is two
/// of the inner one.
static constexpr unsigned maxPosted = maxPostedMessages / 2;

static int64_t clockNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

static void sleepUntil(int64_t ns) {
  // Sleeps end up to 50 us late unless asked for less.
  static thread_local bool exact = false;
  if (!exact) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    exact = true;
  }
  timespec time{ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) ==
         EINTR) {
  }
}

namespace {
/// A directed pair of devices, kept where its receiver is.
class ThrottledLink {
public:
  explicit ThrottledLink(const LinkSpeed &speed) : speed_(speed) {}

  /// A message is ready to enter; returns when it will have arrived.
  int64_t enter(int64_t ready, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_ = std::max(free_, ready) + speed_.busyNs(bytes);
    return free_ + speed_.latencyNs;
  }

private:
  LinkSpeed speed_;
  std::mutex mutex_;
  int64_t free_ = 0;
};

class ThrottledSender final : public Sender {
public:
  ThrottledSender(std::unique_ptr<Sender> forward,
                  std::unique_ptr<Receiver> back)
      : forward_(std::move(forward)), back_(std::move(back)) {}

  void post(const char *data, uint64_t bytes) override {
    int64_t &time = times_[posted_++ % maxPosted];
    time = clockNs();
    forward_->post(reinterpret_cast<const char *>(&time), sizeof(time));
    forward_->post(data, bytes);
  }

private:
  void awaitReceiver() override {
    forward_->finish();
    for (; finished_ != posted_; ++finished_) {
      back_->post(&arrived_, 1);
      back_->finish();
    }
  }

  std::unique_ptr<Sender> forward_;
  std::unique_ptr<Receiver> back_;
  int64_t times_[maxPosted] = {};
  uint32_t posted_ = 0, finished_ = 0;
  char arrived_ = 0;
};

class ThrottledReceiver final : public Receiver {
public:
  ThrottledReceiver(std::unique_ptr<Receiver> forward,
                    std::unique_ptr<Sender> back,
                    std::shared_ptr<ThrottledLink> link)
      : forward_(std::move(forward)), back_(std::move(back)),
        link_(std::move(link)) {}

  void post(char *buffer, uint64_t bytes) override {
    Message &message = messages_[posted_++ % maxPosted];
    message.receiverTime = clockNs();
    message.bytes = bytes;
    forward_->post(reinterpret_cast<char *>(&message.senderTime),
                   sizeof(message.senderTime));
    forward_->post(buffer, bytes);
  }

  void finish() override {
    forward_->finish();
    for (; finished_ != posted_; ++finished_) {
      arrive(messages_[finished_ % maxPosted]);
      tellSender();
    }
  }

  bool sharesMemory() const override { return forward_->sharesMemory(); }

  const char *view(uint64_t bytes) override {
    Message message;
    message.receiverTime = clockNs();
    message.bytes = bytes;
    forward_->post(reinterpret_cast<char *>(&message.senderTime),
                   sizeof(message.senderTime));
    forward_->finish();
    const char *data = forward_->view(bytes);
    arrive(message);
    return data;
  }

  void release() override {
    forward_->release();
    tellSender();
  }

private:
  struct Message {
    int64_t senderTime = 0, receiverTime = 0;
    uint64_t bytes = 0;
  };

  void arrive(const Message &message) {
    sleepUntil(link_->enter(std::max(message.senderTime, message.receiverTime),
                            message.bytes));
  }

  void tellSender() {
    // The sender has finished the messages before its last maxPosted ones, so
    // this wait is short; it finishes the last ones when it comes to it.
    if (told_ == maxPosted) {
      back_->finish();
      told_ = 0;
    }
    back_->post(&arrived_, 1);
    ++told_;
  }

  std::unique_ptr<Receiver> forward_;
  std::unique_ptr<Sender> back_;
  std::shared_ptr<ThrottledLink> link_;
  Message messages_[maxPosted];
  uint32_t posted_ = 0, finished_ = 0, told_ = 0;
  char arrived_ = 0;
};

class ThrottledChannels final : public Channels {
public:
  ThrottledChannels(std::unique_ptr<Channels> inner, const LinkSpeed &speed,
                    uint32_t channels)
      : inner_(std::move(inner)), speed_(speed), channels_(channels) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t from,
                                     uint32_t to) override {
    return std::make_unique<ThrottledSender>(
        inner_->makeSender(channel, from, to),
        inner_->makeReceiver(channels_ + channel, to, from));
  }

  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t from,
                                         uint32_t to) override {
    std::shared_ptr<ThrottledLink> &link = links_[{from, to}];
    if (!link)
      link = std::make_shared<ThrottledLink>(speed_);
    return std::make_unique<ThrottledReceiver>(
        inner_->makeReceiver(channel, from, to),
        inner_->makeSender(channels_ + channel, to, from), link);
  }

  void abandon(const std::string &reason) override { inner_->abandon(reason); }

private:
  std::unique_ptr<Channels> inner_;
  LinkSpeed speed_;
  uint32_t channels_;
  std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<ThrottledLink>>
      links_;
};
} // namespace

std::unique_ptr<Channels>
runtime::makeThrottledChannels(std::unique_ptr<Channels> inner,
                               const LinkSpeed &speed, uint32_t channels) {
  return std::make_unique<ThrottledChannels>(std::move(inner), speed, channels);
}
