//===- TcpGroup.cpp - Processes connected by sockets ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A message goes to the process of its receiver as soon as it is posted, and
// waits there, read by a thread of its own for every connection. So nobody who
// sends waits for a row of another device.
//
//===----------------------------------------------------------------------===//

#include "Process/TcpGroup.h"
#include "Process/FailureState.h"
#include "Process/TcpWorld.h"
#include <cstring>

using namespace soap;
using namespace soap::runtime;

namespace {
class TcpSender final : public Sender {
public:
  TcpSender(TcpWorld &world, FailureState &state, TcpAddress address)
      : world_(world), state_(state), address_(address) {}
  void post(const char *data, uint64_t bytes) override {
    state_.check();
    world_.send(address_, data, bytes);
  }

private:
  void awaitReceiver() override {} // The message has its own copy.

  TcpWorld &world_;
  FailureState &state_;
  TcpAddress address_;
};

class TcpReceiver final : public Receiver {
public:
  TcpReceiver(TcpWorld &world, FailureState &state, TcpAddress address)
      : world_(world), state_(state), address_(address) {}
  void post(char *buffer, uint64_t bytes) override {
    open_.push_back({buffer, bytes});
  }
  void finish() override {
    for (const auto &[buffer, bytes] : std::exchange(open_, {})) {
      std::vector<char> message = world_.receive(address_, state_);
      if (message.size() != bytes)
        failed("expected a message of ", bytes, " bytes, got: ", message.size(),
               "; start all ranks with one command and one "
               "file");
      if (bytes)
        std::memcpy(buffer, message.data(), bytes);
    }
  }

private:
  TcpWorld &world_;
  FailureState &state_;
  TcpAddress address_;
  std::vector<std::pair<char *, uint64_t>> open_;
};

/// The processes of a model. Its messages have its number.
class TcpGroup final : public Group {
public:
  TcpGroup(TcpWorld &world, uint32_t number)
      : world_(world), state_(world.monitor, number) {}

  uint32_t rank() const override { return world_.rank; }
  const std::vector<ProcessName> &names() const override {
    return world_.names;
  }
  const char *transport() const override { return "tcp"; }
  std::string library() const override { return "TCP"; }
  void setSpins(unsigned) override {}

  void barrier() override { (void)allGather(""); }
  std::vector<std::string> allGather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/true);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return gatherOn(mine, /*everywhere=*/false);
  }

  void check() override { state_.checkOthers(); }
  void fail(const std::string &reason) override {
    world_.hasFailed = true;
    if (!state_.breakBy(reason))
      return;
    world_.monitor.announceFailure(state_.number, reason);
    world_.wakeAll();
  }
  bool hasFailed() const override {
    return state_.isBroken() || world_.monitor.hasLost();
  }

  std::shared_ptr<Group> duplicate() override {
    // Every rank counts alike; one that has failed to come here is noticed.
    barrier();
    return std::make_shared<TcpGroup>(world_, world_.nextNumber());
  }

  void needChannels(uint64_t) const override {}
  std::unique_ptr<Sender> makeSender(uint64_t channel, uint32_t to) override {
    return std::make_unique<TcpSender>(world_, state_,
                                       TcpAddress{state_.number, to, channel});
  }
  std::unique_ptr<Receiver> makeReceiver(uint64_t channel,
                                         uint32_t from) override {
    return std::make_unique<TcpReceiver>(
        world_, state_, TcpAddress{state_.number, from, channel});
  }

private:
  /// Of texts, beside those of rows.
  static constexpr uint64_t textChannel = UINT64_MAX;

  void sendText(uint32_t to, const std::string &text) {
    world_.send({state_.number, to, textChannel}, text.data(), text.size());
  }
  std::string receiveText(uint32_t from) {
    std::vector<char> text =
        world_.receive({state_.number, from, textChannel}, state_);
    return {text.begin(), text.end()};
  }

  std::vector<std::string> gatherOn(const std::string &mine, bool everywhere);

  TcpWorld &world_;
  FailureState state_;
};
} // namespace

std::vector<std::string> TcpGroup::gatherOn(const std::string &mine,
                                            bool everywhere) {
  std::vector<std::string> all(size());
  try {
    state_.check();
    all[rank()] = mine;
    if (rank() != 0)
      sendText(0, mine);
    for (uint32_t other = 1; rank() == 0 && other != size(); ++other)
      all[other] = receiveText(other);
    for (uint32_t to = 1; rank() == 0 && everywhere && to != size(); ++to)
      for (const std::string &text : all)
        sendText(to, text);
    for (uint32_t other = 0; rank() != 0 && everywhere && other != size();
         ++other)
      all[other] = receiveText(0);
  } catch (const Error &error) {
    // Whoever cannot take part tells the others.
    fail(error.what());
    throw;
  }
  if (rank() != 0 && !everywhere)
    all.assign(size(), "");
  return all;
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

std::shared_ptr<Group> runtime::joinByTcp(const Launch &launch,
                                          Monitor &monitor) {
  // Never destroyed: its threads read until the process ends.
  auto *world = new TcpWorld(launch, monitor);
  world->connect();
  auto group = std::make_shared<TcpGroup>(*world, world->nextNumber());
  connectMonitors(*group, monitor);
  world->leaveAtExit();
  return group;
}
