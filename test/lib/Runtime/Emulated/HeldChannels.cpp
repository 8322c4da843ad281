//===- HeldChannels.cpp - Channels whose messages come late ---------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldChannels.h"
#include "Scheduler.h"
#include <deque>
#include <unordered_map>

using namespace soap;
using namespace soap::emulated;
using namespace soap::runtime;

namespace {
/// What the ends of a channel have done, guarded by the scheduler's mutex.
struct Progress {
  uint64_t posted = 0, taken = 0;
};

/// Shared by all ends.
struct Abandonment {
  bool isAbandoned = false; ///< Guarded by the scheduler's mutex.
};

/// What both kinds of ends do.
class End {
public:
  End(std::shared_ptr<Progress> progress,
      std::shared_ptr<Abandonment> abandonment, bool isSeen)
      : progress_(std::move(progress)), abandonment_(std::move(abandonment)),
        isSeen_(isSeen) {}

  template <typename Fn>
  void update(Fn change) {
    Scheduler::Lock lock(Scheduler::get().mutex);
    change(*progress_);
    Scheduler::get().changed();
  }
  template <typename Fn>
  void waitUntil(Fn condition) {
    Scheduler::get().waitFor([this, condition] {
      return abandonment_->isAbandoned || condition(*progress_);
    });
  }
  /// Runs what may wait for another end.
  template <typename Fn>
  void run(Fn body) {
    if (isSeen_ || !Scheduler::current())
      body();
    else
      Scheduler::get().outside(body);
  }
  /// True if the scheduler is to see a wait of this thread.
  bool waitsHere() const { return isSeen_ && Scheduler::current(); }

private:
  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Abandonment> abandonment_;
  bool isSeen_;
};

class HeldSender final : public Sender {
public:
  HeldSender(std::unique_ptr<Sender> inner, End end)
      : end_(std::move(end)), inner_(std::move(inner)) {}

  void post(const char *data, uint64_t bytes) override {
    count([&] { inner_->post(data, bytes); });
  }
  void lend(const char *data, char *room, uint64_t bytes) override {
    count([&] { inner_->lend(data, room, bytes); });
  }

private:
  template <typename Fn>
  void count(Fn post) {
    end_.run(post);
    ++posted_;
    end_.update([](Progress &p) { ++p.posted; });
  }
  void awaitReceiver() override {
    if (end_.waitsHere())
      end_.waitUntil([this](const Progress &p) { return p.taken >= posted_; });
    end_.run([&] { inner_->finish(); });
  }

  End end_;
  std::unique_ptr<Sender> inner_;
  uint64_t posted_ = 0;
};

class HeldReceiver final : public Receiver {
public:
  HeldReceiver(std::unique_ptr<Receiver> inner, End end)
      : end_(std::move(end)), inner_(std::move(inner)) {}

  void post(char *buffer, uint64_t bytes) override {
    if (!end_.waitsHere())
      return inner_->post(buffer, bytes);
    pending_.emplace_back(buffer, bytes);
  }

  void finish() override {
    if (!end_.waitsHere())
      return end_.run([&] { inner_->finish(); });
    while (!pending_.empty()) {
      awaitMessage();
      inner_->post(pending_.front().first, pending_.front().second);
      inner_->finish();
      pending_.pop_front();
      take();
    }
  }

  bool sharesMemory() const override { return inner_->sharesMemory(); }

  const char *view(uint64_t bytes) override {
    if (end_.waitsHere())
      awaitMessage();
    const char *data = nullptr;
    end_.run([&] { data = inner_->view(bytes); });
    return data;
  }

  void release() override {
    end_.run([&] { inner_->release(); });
    take();
  }
  bool lendsRoom() const override { return inner_->lendsRoom(); }
  char *room() override { return inner_->room(); }

private:
  void awaitMessage() {
    end_.waitUntil([this](const Progress &p) { return p.posted > taken_; });
    Scheduler::get().hold();
  }
  void take() {
    ++taken_;
    end_.update([](Progress &p) { ++p.taken; });
  }

  End end_;
  std::unique_ptr<Receiver> inner_;
  std::deque<std::pair<char *, uint64_t>> pending_;
  uint64_t taken_ = 0;
};

class HeldChannels final : public Channels {
public:
  HeldChannels(Channels &inner, bool isSeen)
      : inner_(inner), isSeen_(isSeen),
        abandonment_(std::make_shared<Abandonment>()) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t from,
                                     uint32_t to) override {
    return std::make_unique<HeldSender>(inner_.makeSender(channel, from, to),
                                        makeEnd(channel));
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t from,
                                         uint32_t to) override {
    return std::make_unique<HeldReceiver>(
        inner_.makeReceiver(channel, from, to), makeEnd(channel));
  }

  void abandon(const std::string &reason) override {
    inner_.abandon(reason);
    Scheduler::Lock lock(Scheduler::get().mutex);
    abandonment_->isAbandoned = true;
    Scheduler::get().changed();
  }

private:
  End makeEnd(uint32_t channel) {
    std::shared_ptr<Progress> &own = progress_[channel];
    if (!own)
      own = std::make_shared<Progress>();
    return End(own, abandonment_, isSeen_);
  }

  Channels &inner_;
  bool isSeen_;
  std::shared_ptr<Abandonment> abandonment_;
  std::unordered_map<uint32_t, std::shared_ptr<Progress>> progress_;
};
} // namespace

std::unique_ptr<Channels> emulated::makeHeldChannels(Channels &inner,
                                                     bool isSeen) {
  return std::make_unique<HeldChannels>(inner, isSeen);
}
