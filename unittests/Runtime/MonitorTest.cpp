//===- MonitorTest.cpp - Processes that watch each other ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Monitor.h"
#include "Error.h"
#include "Process/Sockets.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
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
            Launch{Launch::Means::Mpi, rank, size, true, ""}, timeout,
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

/// Another process. It is forked while this one has a single thread, as the
/// thread sanitizer asks for, so it gets rank 0's invitation later.
class Child {
public:
  /// Runs `body` with the invitation; it returns the exit code, if at all.
  template <typename Fn>
  explicit Child(Fn body) {
    int ends[2];
    if (pipe(ends) != 0)
      std::abort();
    pid = fork();
    if (pid == 0) {
      close(ends[1]);
      std::string invitation;
      char block[256];
      for (ssize_t n; (n = read(ends[0], block, sizeof(block))) > 0;)
        invitation.append(block, static_cast<size_t>(n));
      _exit(body(invitation));
    }
    close(ends[0]);
    end_ = ends[1];
  }
  ~Child() {
    invite("");
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  void invite(const std::string &invitation) {
    if (end_ < 0)
      return;
    EXPECT_EQ(write(end_, invitation.data(), invitation.size()),
              static_cast<ssize_t>(invitation.size()));
    close(end_);
    end_ = -1;
  }
  /// How it ended, as waitpid() says; 0x7f if it has not within 10 s.
  int status() const {
    int result = 0;
    for (int i = 0; i != 1000; ++i) {
      if (waitpid(pid, &result, WNOHANG) == pid)
        return result;
      usleep(10'000);
    }
    return 0x7f;
  }

  pid_t pid = 0;

private:
  int end_ = -1;
};

class Monitors : public testing::Test {
protected:
  static constexpr double timeout = 1;
  void SetUp() override {
    std::string invitation = zero_.monitor.invite();
    child_.invite(invitation);
    one_.monitor.join(invitation);
    std::vector<ProcessName> names = {{"a", 10}, {"b", 11}, {"c", child_.pid}};
    zero_.monitor.introduce(names);
    one_.monitor.introduce(names);
    // Its heartbeats are on their way.
    usleep(500'000);
  }
  /// Is rank 2 and does nothing else.
  Child child_{[](const std::string &invitation) -> int {
    Rank rank(2, 3, timeout);
    rank.monitor.join(invitation);
    while (true)
      pause();
  }};
  Rank zero_{0, 3, timeout}, one_{1, 3, timeout};
};
} // namespace

TEST_F(Monitors, AProcessThatEndsIsNamedByAll) {
  kill(child_.pid, SIGKILL);
  std::string name = "rank 2 (host c, pid " + std::to_string(child_.pid) + ") ";
  for (Rank *rank : {&zero_, &one_}) {
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
  kill(child_.pid, SIGSTOP);
  std::string name = "rank 2 (host c, pid " + std::to_string(child_.pid) + ") ";
  EXPECT_EQ(zero_.said().rfind(name + "has not answered for 1.", 0), 0u);
  EXPECT_EQ(one_.said().rfind(name + "has not answered for 1.", 0), 0u);
  EXPECT_TRUE(zero_.monitor.hasLost());
  // Nobody waits for the goodbye of one that does not answer.
  zero_.monitor.leave();
  one_.monitor.leave();
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
  EXPECT_EQ(one_.monitor.leaver(), -1);
  zero_.monitor.announceLeaving();
  for (int i = 0; i != 1000 && one_.monitor.leaver() < 0; ++i)
    usleep(10'000);
  EXPECT_EQ(one_.monitor.leaver(), 0);
  EXPECT_EQ(one_.monitor.leaveTogether(), std::nullopt);
  // One that has failed is waited for no more, nor are others.
  one_.monitor.announceLeaving(/*failed=*/true);
  for (int i = 0; i != 1000 && !zero_.monitor.leaveTogether(); ++i)
    usleep(10'000);
  EXPECT_EQ(zero_.monitor.leaveTogether(), false);
  EXPECT_EQ(one_.monitor.leaveTogether(), false);
}

TEST_F(Monitors, AFailureIsKnownToAllWithItsReason) {
  auto heard = [](const Monitor &monitor, uint32_t group) {
    for (int i = 0; i != 1000 && monitor.failureOf(group).empty(); ++i)
      usleep(10'000);
    return monitor.failureOf(group);
  };
  EXPECT_EQ(zero_.monitor.failureOf(3), "");
  one_.monitor.announceFailure(3, "no more paper");
  EXPECT_EQ(heard(zero_.monitor, 3), "rank 1 (host b, pid 11): no more paper");
  zero_.monitor.announceFailure(4, "no ink");
  EXPECT_EQ(heard(one_.monitor, 4), "rank 0 (host a, pid 10): no ink");
  // Only of that group, and nobody is lost.
  EXPECT_EQ(one_.monitor.failureOf(3), "");
  EXPECT_FALSE(zero_.monitor.hasLost());
}

TEST(Monitor, SigtermEndsAProgramThatOnlyListens) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child child([&](const std::string &) -> int {
    Monitor monitor(
        Launch{Launch::Means::Mpi, 1, 2, true, ""}, 10,
        [&](const std::string &line) {
          (void)!write(ends[1], line.data(), line.size());
        },
        /*exits=*/false);
    (void)!write(ends[1], "!", 1);
    while (true)
      pause();
  });
  close(ends[1]);
  child.invite("");
  char text[256] = "";
  // It listens.
  EXPECT_EQ(read(ends[0], text, 1), 1);
  kill(child.pid, SIGTERM);
  EXPECT_GT(read(ends[0], text, sizeof(text) - 1), 0);
  EXPECT_NE(std::string(text).find("SIGTERM"), std::string::npos) << text;
  int status = child.status();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  close(ends[0]);
}

// Whether the launcher has ended rank 0 before it could say goodbye.
TEST(Monitor, WhoLeavesAtTheLaunchersWordMissesNobody) {
  for (bool terminates : {false, true}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Child child([&](const std::string &invitation) -> int {
      std::atomic<bool> missed{false};
      Monitor monitor(
          Launch{Launch::Means::Mpi, 1, 2, true, ""}, 10,
          [&](const std::string &) { missed = true; }, /*exits=*/false);
      monitor.join(invitation);
      (void)!write(ends[1], "!", 1);
      monitor.leave();
      // As a program does: its end is the monitor's.
      _exit(missed ? 1 : 0);
    });
    auto zero = std::make_unique<Rank>(0, 2, 10);
    child.invite(zero->monitor.invite());
    zero->monitor.introduce({{"a", 10}, {"b", child.pid}});
    // It leaves, once it is there.
    close(ends[1]);
    char there;
    EXPECT_EQ(read(ends[0], &there, 1), 1);
    close(ends[0]);
    usleep(500'000);
    if (terminates)
      kill(child.pid, SIGTERM);
    zero.reset();
    int status = child.status();
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), terminates ? 0 : 1);
  }
}

// A launcher that ends kills all, one after the other.
TEST(Monitor, WhoIsKilledBehindTheLastStepIsMissedByWhoLivesOn) {
  Child child([](const std::string &invitation) -> int {
    Rank rank(1, 2, /*timeout=*/10);
    rank.monitor.join(invitation);
    rank.monitor.announceLeaving();
    while (true)
      pause();
  });
  Rank zero(0, 2, /*timeout=*/10);
  child.invite(zero.monitor.invite());
  zero.monitor.introduce({{"a", 10}, {"b", child.pid}});
  zero.monitor.announceLeaving();
  for (int i = 0; i != 1000 && !zero.monitor.leaveTogether(); ++i)
    usleep(10'000);
  EXPECT_EQ(zero.monitor.leaveTogether(), true);
  kill(child.pid, SIGKILL);
  usleep(200'000);
  EXPECT_FALSE(zero.monitor.hasLost());
  EXPECT_EQ(zero.said().rfind(
                "rank 1 (host b, pid " + std::to_string(child.pid) + ") ", 0),
            0u);
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

// One that is stopped, and continues before the timeout, has missed nothing:
// frames that its connection did not take are not lost, nor cut.
TEST(Monitor, WhatASlowReaderMissesComesLater) {
  constexpr uint32_t frames = 24'000; // 12 MB
  double endless = std::numeric_limits<double>::infinity();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Child child([&](const std::string &invitation) {
      auto say = [&](const std::string &line) {
        (void)!write(ends[1], line.data(), line.size());
      };
      Monitor monitor(Launch{Launch::Means::Mpi, 1, 2, true, ""}, endless, say,
                      /*exits=*/false);
      monitor.join(invitation);
      while (monitor.failureOf(frames).empty())
        usleep(1'000);
      say(monitor.failureOf(frames));
      return 0;
    });
    Rank zero(0, 2, endless);
    child.invite(zero.monitor.invite());
    zero.monitor.introduce({{"a", 10}, {"b", child.pid}});
    kill(child.pid, SIGSTOP);
    for (uint32_t i = 1; i <= frames; ++i)
      zero.monitor.announceFailure(i, "no ink");
    kill(child.pid, SIGCONT);
    pollfd word = {ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&word, 1, 60'000), 1);
    char text[256] = "";
    if (word.revents)
      (void)!read(ends[0], text, sizeof(text) - 1);
    EXPECT_EQ(text, "rank 0 (host " + hostName() + "): no ink");
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(Monitor, WhoSaysNothingDoesNotJoin) {
  Rank zero(0, 3, 1), one(1, 3, 1);
  std::string invitation = zero.monitor.invite(), token;
  one.monitor.join(invitation);
  uint16_t port = 0;
  std::istringstream(invitation) >> token >> port;
  int silent = connectTo("127.0.0.1", port, 3000);
  try {
    zero.monitor.introduce({{"a", 10}, {"b", 11}, {"c", 12}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(
        error.what(),
        "expected a connection from rank 2 (host c, pid 12) within 1 s, got: "
        "nothing; see what takes connections between the hosts");
  }
  // Whoever has heard of it first watches no more; then nobody is missed.
  zero.monitor.dissolve();
  one.monitor.dissolve();
  EXPECT_FALSE(zero.monitor.hasLost());
  close(silent);
}

TEST(Monitor, AClosedDoorKeepsStrangersOut) {
  Rank zero(0, 2, 10), one(1, 2, 10);
  std::string invitation = zero.monitor.invite(), token;
  uint16_t port = 0;
  std::istringstream(invitation) >> token >> port;
  int silent = connectTo("127.0.0.1", port, 3000);
  ASSERT_GE(silent, 0);
  one.monitor.join(invitation);
  zero.monitor.introduce({{"a", 10}, {"b", 11}});
  pollfd end = {silent, POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 20'000), 1);
  close(silent);
  EXPECT_EQ(connectTo("127.0.0.1", port, 3000), -1);
  EXPECT_FALSE(zero.monitor.hasLost());
  EXPECT_FALSE(one.monitor.hasLost());
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
