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
      : progress(std::move(progress)), abandonment(std::move(abandonment)),
        isSeen(isSeen) {}

  template <typename Fn>
  void update(Fn change) {
    Scheduler::Lock lock(Scheduler::get().mutex);
    change(*progress);
    Scheduler::get().changed();
  }
  template <typename Fn>
  void waitUntil(Fn condition) {
    Scheduler::get().waitFor([this, condition] {
      return abandonment->isAbandoned || condition(*progress);
    });
  }
  /// Runs what may wait for another end.
  template <typename Fn>
  void run(Fn body) {
    if (isSeen || !Scheduler::current())
      body();
    else
      Scheduler::get().outside(body);
  }
  /// True if the scheduler is to see a wait of this thread.
  bool waitsHere() const { return isSeen && Scheduler::current(); }

private:
  std::shared_ptr<Progress> progress;
  std::shared_ptr<Abandonment> abandonment;
  bool isSeen;
};

class HeldSender final : public Sender {
public:
  HeldSender(std::unique_ptr<Sender> inner, End end)
      : end(std::move(end)), inner(std::move(inner)) {}

  void post(const char *data, uint64_t bytes) override {
    end.run([&] { inner->post(data, bytes); });
    ++posted;
    end.update([](Progress &p) { ++p.posted; });
  }

private:
  void awaitReceiver() override {
    if (end.waitsHere())
      end.waitUntil([this](const Progress &p) { return p.taken >= posted; });
    end.run([&] { inner->finish(); });
  }

  End end;
  std::unique_ptr<Sender> inner;
  uint64_t posted = 0;
};

class HeldReceiver final : public Receiver {
public:
  HeldReceiver(std::unique_ptr<Receiver> inner, End end)
      : end(std::move(end)), inner(std::move(inner)) {}

  void post(char *buffer, uint64_t bytes) override {
    if (!end.waitsHere())
      return inner->post(buffer, bytes);
    pending.emplace_back(buffer, bytes);
  }

  void finish() override {
    if (!end.waitsHere())
      return end.run([&] { inner->finish(); });
    while (!pending.empty()) {
      awaitMessage();
      inner->post(pending.front().first, pending.front().second);
      inner->finish();
      pending.pop_front();
      take();
    }
  }

  bool sharesMemory() const override { return inner->sharesMemory(); }

  const char *view(uint64_t bytes) override {
    if (end.waitsHere())
      awaitMessage();
    const char *data = nullptr;
    end.run([&] { data = inner->view(bytes); });
    return data;
  }

  void release() override {
    end.run([&] { inner->release(); });
    take();
  }

private:
  void awaitMessage() {
    end.waitUntil([this](const Progress &p) { return p.posted > taken; });
    Scheduler::get().hold();
  }
  void take() {
    ++taken;
    end.update([](Progress &p) { ++p.taken; });
  }

  End end;
  std::unique_ptr<Receiver> inner;
  std::deque<std::pair<char *, uint64_t>> pending;
  uint64_t taken = 0;
};

class HeldChannels final : public Channels {
public:
  HeldChannels(Channels &inner, bool isSeen)
      : inner(inner), isSeen(isSeen),
        abandonment(std::make_shared<Abandonment>()) {}

  std::unique_ptr<Sender> makeSender(uint32_t channel, uint32_t from,
                                     uint32_t to) override {
    return std::make_unique<HeldSender>(inner.makeSender(channel, from, to),
                                        makeEnd(channel));
  }
  std::unique_ptr<Receiver> makeReceiver(uint32_t channel, uint32_t from,
                                         uint32_t to) override {
    return std::make_unique<HeldReceiver>(inner.makeReceiver(channel, from, to),
                                          makeEnd(channel));
  }

  void abandon(const std::string &reason) override {
    inner.abandon(reason);
    Scheduler::Lock lock(Scheduler::get().mutex);
    abandonment->isAbandoned = true;
    Scheduler::get().changed();
  }

private:
  End makeEnd(uint32_t channel) {
    std::shared_ptr<Progress> &own = progress[channel];
    if (!own)
      own = std::make_shared<Progress>();
    return End(own, abandonment, isSeen);
  }

  Channels &inner;
  bool isSeen;
  std::shared_ptr<Abandonment> abandonment;
  std::unordered_map<uint32_t, std::shared_ptr<Progress>> progress;
};
} // namespace

std::unique_ptr<Channels> emulated::makeHeldChannels(Channels &inner,
                                                     bool isSeen) {
  return std::make_unique<HeldChannels>(inner, isSeen);
}
