//===- ProcessTest.cpp - Several processes of one run ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/Engine.h"
#include "ModelBuilder.h"
#include "Process/Group.h"
#include "Process/Sockets.h"
#include <atomic>
#include <csignal>
#include <future>
#include <gtest/gtest.h>
#include <limits>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace soap::runtime;

namespace {
/// A rank whose process is this one.
struct Rank {
  Rank(uint32_t rank, uint32_t size, double timeout)
      : monitor(
            Launch{rank, size, true, ""}, timeout,
            [this](const std::string &line) { lost.set_value(line); },
            /*exits=*/false) {}

  /// What it says about a lost one; "" if nothing within some seconds.
  std::string said() {
    auto line = lost.get_future();
    return line.wait_for(std::chrono::seconds(20)) == std::future_status::ready
               ? line.get()
               : "";
  }

  std::promise<std::string> lost;
  Monitor monitor;
};

/// A child process that is rank 2 of 3 and does nothing else.
pid_t startRank2(const std::string &invitation, double timeout) {
  pid_t child = fork();
  if (child == 0) {
    Rank rank(2, 3, timeout);
    rank.monitor.join(invitation);
    while (true)
      pause();
  }
  return child;
}

class Monitors : public testing::Test {
protected:
  static constexpr double timeout = 1;
  void SetUp() override {
    std::string invitation = zero.monitor.invite();
    child = startRank2(invitation, timeout);
    one.monitor.join(invitation);
    std::vector<ProcessName> names = {{"a", 10}, {"b", 11}, {"c", child}};
    zero.monitor.introduce(names);
    one.monitor.introduce(names);
    // Its heartbeats are on their way.
    usleep(500'000);
  }
  void TearDown() override {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  Rank zero{0, 3, timeout}, one{1, 3, timeout};
  pid_t child = 0;
};
} // namespace

TEST_F(Monitors, AProcessThatEndsIsNamedByAll) {
  kill(child, SIGKILL);
  std::string name = "rank 2 (host c, pid " + std::to_string(child) + ") ";
  for (Rank *rank : {&zero, &one}) {
    std::string line = rank->said();
    EXPECT_EQ(line.rfind(name + "has ended", 0), 0u);
    // A program that goes on waits in vain in no group.
    for (int i = 0; i != 1000 && rank->monitor.failureOf(7).empty(); ++i)
      usleep(10'000);
    EXPECT_EQ(rank->monitor.failureOf(7), line);
    EXPECT_EQ(rank->monitor.leaveTogether(), false);
  }
}

TEST_F(Monitors, AProcessThatStopsIsNamedByAll) {
  kill(child, SIGSTOP);
  std::string name = "rank 2 (host c, pid " + std::to_string(child) + ") ";
  EXPECT_EQ(zero.said().rfind(name + "has not answered for 1.", 0), 0u);
  EXPECT_EQ(one.said().rfind(name + "has not answered for 1.", 0), 0u);
  EXPECT_TRUE(zero.monitor.hasLost());
  // Nobody waits for the goodbye of one that does not answer.
  zero.monitor.leave();
  one.monitor.leave();
}

TEST(Monitor, StrangersAreTurnedAway) {
  Rank zero(0, 2, 1), one(1, 2, 1);
  std::string invitation = zero.monitor.invite(), token;
  uint16_t port = 0;
  std::istringstream(invitation) >> token >> port;
  int stranger = connectTo("127.0.0.1", port, 3000);
  ASSERT_GE(stranger, 0);
  one.monitor.join(invitation);
  std::string noise(1 << 16, 'x');
  (void)send(stranger, noise.data(), noise.size(), MSG_NOSIGNAL);
  // The connection is closed, not just forgotten.
  pollfd end = {stranger, POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 20'000), 1);
  char byte;
  EXPECT_LE(recv(stranger, &byte, 1, 0), 0);
  close(stranger);
  EXPECT_FALSE(zero.monitor.hasLost());
  EXPECT_FALSE(one.monitor.hasLost());
}

TEST(Monitor, ATimeoutMayBeEndless) {
  double endless = std::numeric_limits<double>::infinity();
  Rank zero(0, 2, endless), one(1, 2, endless);
  one.monitor.join(zero.monitor.invite());
  usleep(300'000);
  EXPECT_FALSE(zero.monitor.hasLost());
  EXPECT_FALSE(one.monitor.hasLost());
}

TEST_F(Monitors, WhoLeavesIsKnownToAll) {
  EXPECT_EQ(one.monitor.leaver(), -1);
  zero.monitor.announceLeaving();
  for (int i = 0; i != 1000 && one.monitor.leaver() < 0; ++i)
    usleep(10'000);
  EXPECT_EQ(one.monitor.leaver(), 0);
  EXPECT_EQ(one.monitor.leaveTogether(), std::nullopt);
  // One that has failed is waited for no more, nor are others.
  one.monitor.announceLeaving(/*failed=*/true);
  for (int i = 0; i != 1000 && !zero.monitor.leaveTogether(); ++i)
    usleep(10'000);
  EXPECT_EQ(zero.monitor.leaveTogether(), false);
  EXPECT_EQ(one.monitor.leaveTogether(), false);
}

TEST_F(Monitors, AFailureIsKnownToAllWithItsReason) {
  auto heard = [](const Monitor &monitor, uint32_t group) {
    for (int i = 0; i != 1000 && monitor.failureOf(group).empty(); ++i)
      usleep(10'000);
    return monitor.failureOf(group);
  };
  EXPECT_EQ(zero.monitor.failureOf(3), "");
  one.monitor.announceFailure(3, "no more paper");
  EXPECT_EQ(heard(zero.monitor, 3), "rank 1 (host b, pid 11): no more paper");
  zero.monitor.announceFailure(4, "no ink");
  EXPECT_EQ(heard(one.monitor, 4), "rank 0 (host a, pid 10): no ink");
  // Only of that group, and nobody is lost.
  EXPECT_EQ(one.monitor.failureOf(3), "");
  EXPECT_FALSE(zero.monitor.hasLost());
}

TEST(Monitor, SigtermEndsAProgramThatOnlyListens) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    Monitor monitor(
        Launch{1, 2, true, ""}, 10,
        [&](const std::string &line) {
          (void)!write(ends[1], line.data(), line.size());
        },
        /*exits=*/false);
    while (true)
      pause();
  }
  usleep(300'000);
  kill(child, SIGTERM);
  char text[256] = "";
  EXPECT_GT(read(ends[0], text, sizeof(text) - 1), 0);
  EXPECT_NE(std::string(text).find("SIGTERM"), std::string::npos) << text;
  int status = 0;
  for (int i = 0; i != 1000 && waitpid(child, &status, WNOHANG) == 0; ++i)
    usleep(10'000);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  kill(child, SIGKILL);
  close(ends[0]);
  close(ends[1]);
}

// Whether the launcher has ended rank 0 before it could say goodbye.
TEST(Monitor, WhoLeavesAtTheLaunchersWordMissesNobody) {
  for (bool terminates : {false, true}) {
    auto zero = std::make_unique<Rank>(0, 2, 10);
    std::string invitation = zero->monitor.invite();
    pid_t child = fork();
    if (child == 0) {
      std::atomic<bool> missed{false};
      Monitor monitor(
          Launch{1, 2, true, ""}, 10,
          [&](const std::string &) { missed = true; }, /*exits=*/false);
      monitor.join(invitation);
      monitor.leave();
      _exit(missed ? 1 : 0);
    }
    usleep(500'000);
    if (terminates)
      kill(child, SIGTERM);
    zero.reset();
    int status = 0;
    for (int i = 0; i != 1000 && waitpid(child, &status, WNOHANG) == 0; ++i)
      usleep(10'000);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), terminates ? 0 : 1);
    kill(child, SIGKILL);
  }
}

TEST(Monitor, WhatRank0SaysReachesThoseWhoJoinLate) {
  Rank zero(0, 2, 10), one(1, 2, 10);
  std::string invitation = zero.monitor.invite();
  std::thread late([&] {
    usleep(300'000);
    one.monitor.join(invitation);
  });
  zero.monitor.introduce({{"a", 10}, {"b", 11}});
  zero.monitor.announceLeaving();
  late.join();
  for (int i = 0; i != 500 && one.monitor.leaver() < 0; ++i)
    usleep(10'000);
  EXPECT_EQ(one.monitor.leaver(), 0);
}

TEST(Monitor, ARegularEndIsNoLoss) {
  auto zero = std::make_unique<Rank>(0, 2, 1),
       one = std::make_unique<Rank>(1, 2, 1);
  one->monitor.join(zero->monitor.invite());
  usleep(300'000);
  for (Rank *rank : {zero.get(), one.get()}) {
    EXPECT_EQ(rank->monitor.leaveTogether(), std::nullopt);
    rank->monitor.announceLeaving();
  }
  for (Rank *rank : {zero.get(), one.get()}) {
    for (int i = 0; i != 1000 && !rank->monitor.leaveTogether(); ++i)
      usleep(10'000);
    EXPECT_EQ(rank->monitor.leaveTogether(), true);
  }
  std::thread other([&] {
    one->monitor.leave();
    one.reset();
  });
  zero->monitor.leave();
  other.join();
  EXPECT_EQ(zero->lost.get_future().wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

namespace {
class BrokenReceiver final : public Receiver {
public:
  void post(char *, uint64_t) override {}
  void finish() override { failed("the cable is cut"); }
};

/// A group of a size, whose messages do not come.
class FakeGroup final : public Group {
public:
  explicit FakeGroup(uint32_t size) : all(size) {}
  uint32_t rank() const override { return 1; }
  const std::vector<ProcessName> &names() const override { return all; }
  std::string library() const override { return ""; }
  void setSpins(unsigned) override {}
  void barrier() override {}
  std::vector<std::string> allGather(const std::string &mine) override {
    return std::vector<std::string>(all.size(), mine);
  }
  std::vector<std::string> gather(const std::string &mine) override {
    return allGather(mine);
  }
  void fail(const std::string &why) override {
    if (reason.empty())
      reason = why;
  }
  bool hasFailed() const override { return !reason.empty(); }
  std::shared_ptr<Group> duplicate() override { return nullptr; }
  void needChannels(uint64_t) const override {}
  std::unique_ptr<Sender> makeSender(uint64_t, uint32_t) override {
    return nullptr;
  }
  std::unique_ptr<Receiver> makeReceiver(uint64_t, uint32_t) override {
    return std::make_unique<BrokenReceiver>();
  }

  std::string reason;

private:
  std::vector<ProcessName> all;
};
} // namespace

TEST(Placement, SpreadsDevicesEvenlyAndInOrder) {
  for (uint32_t ranks = 1; ranks != 9; ++ranks)
    for (size_t devices = ranks; devices != 12; ++devices) {
      FakeGroup group(ranks);
      Placement placement = placeDevices(devices, {}, &group);
      std::vector<size_t> count(ranks, 0);
      for (size_t d = 0; d != devices; ++d) {
        ++count[placement.rankOf[d]];
        if (d)
          EXPECT_GE(placement.rankOf[d], placement.rankOf[d - 1]);
      }
      for (size_t c : count) {
        EXPECT_GE(c, devices / ranks);
        EXPECT_LE(c, (devices + ranks - 1) / ranks);
      }
    }
}

TEST(Placement, FollowsTheMap) {
  FakeGroup group(3);
  Placement placement = placeDevices(4, {2, 1, 0, 1}, &group);
  EXPECT_EQ(placement.localDevices(), (std::vector<uint32_t>{1, 3}));
  EXPECT_THROW(placeDevices(2, {}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 1, 2}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 1, 2, 3}, &group), Error);
  EXPECT_THROW(placeDevices(4, {0, 0, 2, 2}, &group), Error);
}

TEST(Agreement, AllThrowWhatTheLowestRankDid) {
  FakeGroup group(2);
  try {
    agree(&group, [] { invalid("no such ", "file"); });
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_INVALID);
    EXPECT_STREQ(error.what(), "no such file");
  }
  agree(&group, [] {});
  // Callbacks may throw anything; the others must hear of it, too.
  try {
    agree(&group, [] { throw 1; });
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.status, SOAP_FAILED);
  }
}

//===----------------------------------------------------------------------===//
// Messages that fail
//===----------------------------------------------------------------------===//

// Device 0 fails to get what it needs from another process, so that it never
// takes what device 1 sends to it: device 1 and all that wait for it end, too.
TEST(Abandonment, NobodyWaitsForARowThatFailed) {
  soap::test::ModelBuilder b(3);
  uint32_t buffers[3];
  for (uint32_t d = 0; d != 3; ++d)
    buffers[d] = b.buffer(d, 128);
  soap::fb::ExchangeT exchanges[3];
  for (uint32_t from : {2u, 1u}) {
    exchanges[from].sends.emplace_back(0, from,
                                       soap::fb::Extent(buffers[from], 0, 64));
    exchanges[0].receives.emplace_back(
        from, from, soap::fb::Extent(buffers[0], 64 * (from - 1), 64));
  }
  for (uint32_t d = 0; d != 3; ++d)
    b.row(d, std::move(exchanges[d]), soap::fb::Stream::Communication);
  std::vector<uint8_t> table = b.finish();
  EngineOptions options;
  auto group = std::make_shared<FakeGroup>(2);
  options.group = group;
  options.map = {1, 1, 0};
  Engine engine(
      CompiledModel::fromMemory(table.data(), table.size(), nullptr, 0, "."),
      options);
  auto step = [&] {
    try {
      engine.start(nullptr, nullptr);
      engine.wait();
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(step(), "the cable is cut");
  EXPECT_EQ(group->reason, "the cable is cut");
  EXPECT_EQ(step(), "the cable is cut");
}
