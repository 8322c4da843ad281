//===- Monitor.cpp - Notices processes that are lost ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Monitor.h"
#include "Clock.h"
#include "Error.h"
#include "Process/Sockets.h"
#include "Process/Termination.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// How often a process looks at the others of its host while they start.
static constexpr int64_t lookWhileStarting = 100'000'000;

/// The shortest and the longest time that a connection to one address may take.
static constexpr int64_t quickConnection = 100'000'000,
                         slowConnection = 3'000'000'000;

/// How long a process waits for the others' goodbye after a failure.
static constexpr std::chrono::seconds goodbyeAfterFailure(3);

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

Monitor::Monitor(const Launch &launch, double timeoutSeconds, Lost lost,
                 bool exits)
    : launch_(launch), timeout_(static_cast<int64_t>(
                           std::clamp(timeoutSeconds, 0.1, 1e9) * 1e9)),
      interval_(std::clamp<int64_t>(timeout_ / 10, 20'000'000, 1'000'000'000)),
      lost_(std::move(lost)), exits_(exits), registry_(launch),
      names_(launch.size), stoppedSince_(launch.size, 0),
      leavers_(launch.size, false) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
    failed("expected a pipe, got: ", std::strerror(errno),
           "; raise the limit of open files (ulimit -n)");
  wakeRead_ = ends[0];
  wakeWrite_ = ends[1];
  begun_ = lastTurn_ = now();
  if (launch.size == 1)
    return;
  catchTermination(wakeWrite_);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error &error) {
    stop();
    close(wakeRead_);
    close(wakeWrite_);
    failed("expected a thread, got: ", error.what(),
           "; raise the limit of threads (ulimit -u)");
  }
}

/// Ends the thread and leaves SIGTERM alone.
void Monitor::stop() {
  if (thread_.joinable()) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    (void)!write(wakeWrite_, "s", 1);
    thread_.join();
  }
  releaseTermination(wakeWrite_);
}

Monitor::~Monitor() {
  stop();
  for (const Connection &connection : connections_)
    close(connection.socket);
  if (listener_ >= 0)
    close(listener_);
  close(wakeRead_);
  close(wakeWrite_);
}

std::string Monitor::invite() {
  std::lock_guard<std::mutex> lock(mutex_);
  token_ = randomToken();
  uint16_t port = 0;
  listener_ = listenOn(launch_.size, port);
  std::ostringstream line;
  line << toHex(token_) << ' ' << port << ' ' << hostName();
  for (const std::string &address : ownAddresses())
    line << ' ' << address;
  (void)!write(wakeWrite_, "i", 1);
  return line.str();
}

void Monitor::join(const std::string &invitation) {
  std::istringstream line(invitation);
  std::string hex, host;
  uint16_t port = 0;
  line >> hex >> port >> host;
  std::vector<std::string> addresses;
  if (host == hostName())
    addresses = {"127.0.0.1", "::1"};
  for (std::string address; line >> address;)
    addresses.push_back(address);
  // All attempts together take no longer than a process may be silent.
  int64_t each = std::clamp(
      timeout_ / std::max<int64_t>(1, static_cast<int64_t>(addresses.size())),
      quickConnection, slowConnection);
  Connection connection;
  errno = EADDRNOTAVAIL;
  for (const std::string &address : addresses) {
    connection.socket =
        connectTo(address, port, static_cast<int>(each / 1'000'000));
    if (connection.socket >= 0)
      break;
  }
  if (connection.socket < 0)
    failed("expected a connection from host ", hostName(),
           " to rank 0 on host ", host, ", port ", port,
           ", got: ", std::strerror(errno),
           "; let hosts connect to each other");
  connection.rank = 0;
  connection.heard = now();
  std::lock_guard<std::mutex> lock(mutex_);
  token_ = fromHex(hex);
  names_[0].host = host;
  connections_.push_back(std::move(connection));
  send(connections_.back(), frameOf(Kind::Hello, launch_.rank));
  (void)!write(wakeWrite_, "j", 1);
}

void Monitor::introduce(std::vector<ProcessName> processes) {
  std::unique_lock<std::mutex> lock(mutex_);
  names_ = std::move(processes);
  if (changed_.wait_for(lock, std::chrono::nanoseconds(timeout_),
                        [&] { return hasLost_ || everybodyJoined(); }))
    return;
  uint32_t missing = 1;
  while (std::any_of(connections_.begin(), connections_.end(),
                     [&](const Connection &c) { return c.rank == missing; }))
    ++missing;
  failed("expected a connection from ", nameOf(missing), " within ",
         timeout_ / 1e9,
         " s, got: nothing; see what takes connections between the hosts");
}

void Monitor::dissolve() { stop(); }

void Monitor::announceLeaving(bool failed) {
  std::lock_guard<std::mutex> lock(mutex_);
  leavers_[launch_.rank] = true;
  oneFailed_ |= failed;
  sendAll(frameOf(Kind::Leaving, launch_.rank, Reason::Ended, failed));
}

std::optional<bool> Monitor::leaveTogether() const {
  if (hasLost())
    return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (oneFailed_)
    return false;
  if (everybodyLeaves())
    return true;
  return std::nullopt;
}

void Monitor::announceFailure(uint32_t number, const std::string &reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  sendAll(frameOf(Kind::Failed, launch_.rank, Reason::Ended, number, reason));
}

std::string Monitor::failureOf(uint32_t number) const {
  if (!hasFailures_)
    return "";
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = failures_.find(number);
  return found == failures_.end() ? loss_ : found->second;
}

std::string Monitor::describe(uint32_t rank) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return nameOf(rank);
}

void Monitor::leave(bool failed) {
  if (!thread_.joinable())
    return;
  std::unique_lock<std::mutex> lock(mutex_);
  leaving_ = true;
  givesUp_ = failed;
  auto waitForAll = [&](bool Connection::*what) {
    auto all = [&] {
      return hasLost_ || std::all_of(connections_.begin(), connections_.end(),
                                     [&](const Connection &c) {
                                       return c.rank < 0 || c.closed ||
                                              c.*what ||
                                              (failed && c.saidLeaving);
                                     });
    };
    if (failed)
      changed_.wait_for(lock, goodbyeAfterFailure, all);
    else
      changed_.wait(lock, all);
  };
  if (launch_.rank == 0) {
    waitForAll(&Connection::saidBye);
    sendAll(frameOf(Kind::Bye, 0));
    waitForAll(&Connection::closed);
  } else {
    sendAll(frameOf(Kind::Bye, launch_.rank));
    waitForAll(&Connection::saidBye);
  }
}

bool Monitor::everybodyJoined() const {
  if (launch_.rank != 0)
    return !connections_.empty();
  return std::count_if(connections_.begin(), connections_.end(),
                       [](const Connection &c) { return c.rank > 0; }) +
             1 ==
         launch_.size;
}

/// True when all have ended their last step.
bool Monitor::everybodyLeaves() const {
  return std::find(leavers_.begin(), leavers_.end(), false) == leavers_.end();
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void Monitor::run() {
  // The program's signals are for its other threads.
  sigset_t all;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (true) {
    std::vector<pollfd> waits = {{wakeRead_, POLLIN, 0}};
    bool met = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_)
        return;
      met = everybodyJoined();
      if (listener_ >= 0)
        waits.push_back({listener_, POLLIN, 0});
      for (const Connection &connection : connections_)
        if (!connection.closed)
          waits.push_back(
              {connection.socket,
               static_cast<short>(POLLIN |
                                  (connection.unsent.empty() ? 0 : POLLOUT)),
               0});
    }
    // After SIGTERM, launchers leave little time.
    int64_t pause = tookTermination() ? 20'000'000
                    : met             ? interval_
                                      : std::min(interval_, lookWhileStarting);
    (void)poll(waits.data(), waits.size(), static_cast<int>(pause / 1'000'000));
    char ignored[64];
    while (read(wakeRead_, ignored, sizeof(ignored)) > 0) {
    }
    std::lock_guard<std::mutex> lock(mutex_);
    turn();
    changed_.notify_all();
  }
}

void Monitor::turn() {
  int64_t time = now();
  // Time in which this thread did not run does not count as silence of the
  // others.
  int64_t gap = time - lastTurn_ - interval_;
  if (gap > timeout_ / 2) {
    resumed_ = time;
    paused_ = gap;
  }
  if (gap > interval_) {
    for (Connection &connection : connections_)
      connection.heard += gap;
    for (int64_t &since : stoppedSince_)
      since += since ? gap : 0;
    begun_ += gap;
  }
  lastTurn_ = time;
  acceptAll();
  for (Connection &connection : connections_)
    if (!connection.closed) {
      receive(connection);
      sendRest(connection);
    }
  if (everybodyJoined())
    closeDoor();
  dropStrangers();
  if (time - lastBeat_ >= interval_) {
    sendAll(frameOf(Kind::Beat, launch_.rank));
    lastBeat_ = time;
  }
  if (everybodyJoined())
    checkSilence(time);
  else
    checkRegistry(time);
  checkCutOff(time);
  checkTermination(time);
}
