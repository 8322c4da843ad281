//===- Monitor.cpp - Notices processes that are lost ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Monitor.h"
#include "Error.h"
#include "Process/Sockets.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// How long a process that the launcher ends looks for the reason: launchers
/// kill a second later.
static constexpr int64_t graceAfterTermination = 500'000'000;

/// How long a process stays after it has named a lost one, in us.
static constexpr useconds_t timeForLastWords = 400'000;

/// What a process sees in so short a time after it did not run for long is its
/// own fault.
static constexpr int64_t graceAfterResuming = 2'000'000'000;

/// How often a process looks at the others of its host while they start.
static constexpr int64_t lookWhileStarting = 100'000'000;

/// How long a process waits for the others' goodbye after a failure.
static constexpr std::chrono::seconds goodbyeAfterFailure(3);

/// The least time that processes get to start, on one host and on several.
static constexpr int64_t slowStart = 10'000'000'000,
                         slowerStart = 60'000'000'000;

//===----------------------------------------------------------------------===//
// SIGTERM
//===----------------------------------------------------------------------===//

static std::atomic<int> terminationPipe{-1};
static std::atomic<bool> terminated{false};

static void onTermination(int) {
  int saved = errno;
  terminated = true;
  int pipe = terminationPipe;
  if (pipe >= 0)
    (void)!write(pipe, "t", 1);
  errno = saved;
}

/// Launchers end the other processes when one has died. Leaves a handler of the
/// program alone.
static void catchTermination(int pipe) {
  terminationPipe = pipe;
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 || action.sa_handler != SIG_DFL)
    return;
  action.sa_handler = onTermination;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGTERM, &action, nullptr);
}

/// True from when the launcher has sent SIGTERM, even if no thread has taken
/// it.
static bool isTerminated() {
  sigset_t pending;
  return terminated ||
         (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
}

/// SIGTERM ends the process again, at once if it has come already.
static void releaseTermination() {
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 ||
      action.sa_handler != onTermination)
    return;
  action.sa_handler = SIG_DFL;
  action.sa_flags = 0;
  (void)sigaction(SIGTERM, &action, nullptr);
  if (terminated)
    (void)kill(getpid(), SIGTERM);
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

Monitor::Monitor(const Launch &launch, double timeoutSeconds, Lost lost,
                 bool exits)
    : launch(launch),
      timeout(static_cast<int64_t>(std::clamp(timeoutSeconds, 0.1, 1e9) * 1e9)),
      interval(std::clamp<int64_t>(timeout / 10, 20'000'000, 1'000'000'000)),
      lost(std::move(lost)), exits(exits), registry(launch), names(launch.size),
      stoppedSince(launch.size, 0) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
    failed("expected a pipe, got: ", std::strerror(errno),
           "; raise the limit of open files (ulimit -n)");
  wakeRead = ends[0];
  wakeWrite = ends[1];
  begun = lastTurn = steadyTime();
  if (launch.size == 1)
    return;
  catchTermination(wakeWrite);
  thread = std::thread([this] { run(); });
}

Monitor::~Monitor() {
  if (thread.joinable()) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    (void)!write(wakeWrite, "s", 1);
    thread.join();
  }
  if (terminationPipe == wakeWrite) {
    terminationPipe = -1;
    releaseTermination();
  }
  for (const Connection &connection : connections)
    close(connection.socket);
  if (listener >= 0)
    close(listener);
  close(wakeRead);
  close(wakeWrite);
}

std::string Monitor::invite() {
  std::lock_guard<std::mutex> lock(mutex);
  token = randomToken();
  uint16_t port = 0;
  listener = listenOnAnyPort(launch.size, port);
  std::ostringstream line;
  line << toHex(token) << ' ' << port << ' ' << hostName();
  for (const std::string &address : ownAddresses())
    line << ' ' << address;
  (void)!write(wakeWrite, "i", 1);
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
  Connection connection;
  for (const std::string &address : addresses) {
    connection.socket = connectTo(address, port, 3000);
    if (connection.socket >= 0)
      break;
  }
  if (connection.socket < 0)
    failed("expected a connection from host ", hostName(),
           " to rank 0 on host ", host, ", port ", port,
           ", got: ", std::strerror(errno),
           "; let hosts connect to each other");
  connection.rank = 0;
  connection.heard = steadyTime();
  std::lock_guard<std::mutex> lock(mutex);
  token = fromHex(hex);
  names[0].host = host;
  connections.push_back(std::move(connection));
  send(connections.back(), frameOf(Kind::Hello, launch.rank));
  (void)!write(wakeWrite, "j", 1);
}

void Monitor::introduce(std::vector<ProcessName> processes) {
  std::lock_guard<std::mutex> lock(mutex);
  names = std::move(processes);
}

void Monitor::announceLeaving() {
  std::lock_guard<std::mutex> lock(mutex);
  sendAll(frameOf(Kind::Leaving, launch.rank));
}

void Monitor::announceFailure(uint32_t number, const std::string &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  sendAll(frameOf(Kind::Failed, launch.rank, Reason::Ended, number, reason));
}

std::string Monitor::failureOf(uint32_t number) const {
  if (!hasFailures)
    return "";
  std::lock_guard<std::mutex> lock(mutex);
  auto found = failures.find(number);
  return found == failures.end() ? "" : found->second;
}

std::string Monitor::describe(uint32_t rank) const {
  std::lock_guard<std::mutex> lock(mutex);
  return nameOf(rank);
}

void Monitor::leave(bool failed) {
  if (!thread.joinable())
    return;
  std::unique_lock<std::mutex> lock(mutex);
  leaving = true;
  givesUp = failed;
  auto waitForAll = [&](bool Connection::*what) {
    auto all = [&] {
      return reported || std::all_of(connections.begin(), connections.end(),
                                     [&](const Connection &c) {
                                       return c.rank < 0 || c.closed ||
                                              c.*what ||
                                              (failed && c.saidLeaving);
                                     });
    };
    if (failed)
      changed.wait_for(lock, goodbyeAfterFailure, all);
    else
      changed.wait(lock, all);
  };
  if (launch.rank == 0) {
    waitForAll(&Connection::saidBye);
    sendAll(frameOf(Kind::Bye, 0));
    waitForAll(&Connection::closed);
  } else {
    sendAll(frameOf(Kind::Bye, launch.rank));
    waitForAll(&Connection::saidBye);
  }
}

bool Monitor::everybodyJoined() const {
  if (launch.rank != 0)
    return !connections.empty();
  return std::count_if(connections.begin(), connections.end(),
                       [](const Connection &c) { return c.rank > 0; }) +
             1 ==
         launch.size;
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
    std::vector<pollfd> waits = {{wakeRead, POLLIN, 0}};
    bool met = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (stopping)
        return;
      met = everybodyJoined();
      if (listener >= 0)
        waits.push_back({listener, POLLIN, 0});
      for (const Connection &connection : connections)
        if (!connection.closed)
          waits.push_back({connection.socket, POLLIN, 0});
    }
    // After SIGTERM there is little time.
    int64_t pause = terminated ? 20'000'000
                    : met      ? interval
                               : std::min(interval, lookWhileStarting);
    (void)poll(waits.data(), waits.size(), static_cast<int>(pause / 1'000'000));
    char ignored[64];
    while (read(wakeRead, ignored, sizeof(ignored)) > 0) {
    }
    std::lock_guard<std::mutex> lock(mutex);
    turn();
    changed.notify_all();
  }
}

void Monitor::turn() {
  int64_t time = steadyTime();
  // A gap in which this thread did not run is nobody's silence.
  int64_t gap = time - lastTurn - interval;
  if (gap > timeout / 2) {
    resumed = time;
    paused = gap;
  }
  if (gap > interval) {
    for (Connection &connection : connections)
      connection.heard += gap;
    for (int64_t &since : stoppedSince)
      since += since ? gap : 0;
    begun += gap;
  }
  lastTurn = time;
  acceptOne();
  for (size_t i = 0; i != connections.size(); ++i)
    if (!connections[i].closed)
      receive(connections[i]);
  dropStrangers();
  if (time - lastBeat >= interval) {
    sendAll(frameOf(Kind::Beat, launch.rank));
    lastBeat = time;
  }
  if (everybodyJoined())
    checkSilence(time);
  else
    checkRegistry(time);
  checkTermination(time);
}

void Monitor::acceptOne() {
  if (listener < 0)
    return;
  while (true) {
    int socket = acceptFrom(listener);
    if (socket < 0)
      return;
    Connection connection;
    connection.socket = socket;
    connection.heard = steadyTime();
    connections.push_back(std::move(connection));
  }
}

/// Closes the connections of those who hung up, or said something else than
/// hello, before anybody knew them.
void Monitor::dropStrangers() {
  auto stranger = [](const Connection &connection) {
    if (!connection.closed || connection.rank >= 0)
      return false;
    close(connection.socket);
    return true;
  };
  connections.erase(
      std::remove_if(connections.begin(), connections.end(), stranger),
      connections.end());
}

void Monitor::receive(Connection &connection) {
  char block[512];
  // A little at a time, whoever sends how much: the rest is for the next turn.
  while (connection.buffer.size() < 64 * sizeof(Frame)) {
    ssize_t count = recv(connection.socket, block, sizeof(block), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (count <= 0) {
      connection.closed = true;
      break;
    }
    connection.buffer.insert(connection.buffer.end(), block, block + count);
  }
  size_t at = 0;
  for (; at + sizeof(Frame) <= connection.buffer.size(); at += sizeof(Frame)) {
    Frame frame;
    std::memcpy(&frame, connection.buffer.data() + at, sizeof(Frame));
    if (frame.token != token) {
      connection.closed = true; // A stranger.
      break;
    }
    connection.heard = steadyTime();
    handle(connection, frame);
  }
  connection.buffer.erase(
      connection.buffer.begin(),
      connection.buffer.begin() +
          static_cast<std::ptrdiff_t>(std::min(at, connection.buffer.size())));
  // Launchers end all as soon as one has ended with another code than 0: then
  // rank 0 may not get to say goodbye to those that are just about to end, too.
  bool together =
      leaving && (isTerminated() || (givesUp && connection.saidLeaving));
  if (connection.closed && connection.rank >= 0 && !connection.saidBye &&
      !together)
    declareLost(static_cast<uint32_t>(connection.rank), Reason::Ended, 0);
}

void Monitor::handle(Connection &connection, const Frame &frame) {
  if (frame.rank >= launch.size)
    return;
  switch (frame.kind) {
  case Kind::Hello:
    connection.rank = frame.rank;
    break;
  case Kind::Beat:
    break;
  case Kind::Lost:
    declareLost(frame.rank, frame.reason, frame.number);
    break;
  case Kind::Leaving:
    whoLeaves = frame.rank;
    if (connection.rank == frame.rank)
      connection.saidLeaving = true;
    if (launch.rank == 0)
      sendAll(frameOf(Kind::Leaving, frame.rank));
    break;
  case Kind::Failed: {
    if (frame.rank == launch.rank)
      break; // By way of rank 0.
    // The others hear of it before anybody acts on it and ends.
    if (launch.rank == 0)
      sendAll(frame);
    auto end = std::find(frame.text.begin(), frame.text.end(), '\0');
    failures.try_emplace(frame.number,
                         nameOf(frame.rank) + ": " +
                             std::string(frame.text.begin(), end));
    hasFailures = true;
    break;
  }
  case Kind::Bye:
    connection.saidBye = true;
    break;
  }
}

Monitor::Frame Monitor::frameOf(Kind kind, uint32_t rank, Reason reason,
                                uint32_t number,
                                const std::string &text) const {
  Frame frame{token, kind, rank, reason, number, {}};
  std::copy_n(text.begin(), std::min(text.size(), frame.text.size()),
              frame.text.begin());
  return frame;
}

void Monitor::send(const Connection &connection, const Frame &frame) {
  // A full buffer means that nobody reads: silence will tell.
  (void)!::send(connection.socket, &frame, sizeof(frame),
                MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Monitor::sendAll(const Frame &frame) {
  for (const Connection &connection : connections)
    if (connection.rank >= 0 && !connection.closed)
      send(connection, frame);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

void Monitor::checkSilence(int64_t time) {
  for (const Connection &connection : connections) {
    if (connection.rank < 0 || connection.closed)
      continue;
    int64_t silence = time - connection.heard;
    if (silence > timeout)
      declareLost(static_cast<uint32_t>(connection.rank), Reason::Silent,
                  static_cast<uint32_t>(silence / 1'000'000));
  }
}

void Monitor::checkRegistry(int64_t time) {
  // States first: who ends because of a verdict has published it before.
  std::vector<Registry::State> states;
  for (uint32_t rank = 0; rank != launch.size; ++rank)
    states.push_back(registry.stateOf(rank));
  followVerdict();
  bool known = launch.oneHost && !launch.jobFolder.empty();
  int64_t waited = time - begun;
  for (uint32_t rank = 0; rank != launch.size; ++rank) {
    if (rank == launch.rank)
      continue;
    Registry::State state = states[rank];
    bool saidBye =
        std::any_of(connections.begin(), connections.end(),
                    [&](const Connection &connection) {
                      return connection.rank == rank && connection.saidBye;
                    });
    if (state == Registry::State::Ended && !saidBye)
      declareLost(rank, Reason::Ended, 0);
    if (state == Registry::State::Unknown && known &&
        waited > std::max(timeout, slowStart))
      declareLost(rank, Reason::Silent,
                  static_cast<uint32_t>(waited / 1'000'000));
    if (state != Registry::State::Stopped) {
      stoppedSince[rank] = 0;
      continue;
    }
    if (!stoppedSince[rank])
      stoppedSince[rank] = time;
    if (time - stoppedSince[rank] > timeout)
      declareLost(rank, Reason::Stopped, 0);
  }
  if (!known && waited > std::max(timeout, slowerStart))
    report(text("expected ", launch.size, " processes to meet within ",
                waited / 1'000'000'000,
                " s, got: fewer; see whether a host "
                "has stopped, or raise --timeout"));
}

void Monitor::checkTermination(int64_t time) {
  if (!terminated || leaving)
    return;
  followVerdict();
  if (!terminatedAt)
    terminatedAt = time;
  if (time - terminatedAt < graceAfterTermination)
    return;
  checkRegistry(time);
  for (uint32_t rank = 0; rank != launch.size; ++rank)
    if (rank != launch.rank && launch.oneHost && !launch.jobFolder.empty() &&
        registry.stateOf(rank) == Registry::State::Unknown)
      declareLost(rank, Reason::Ended, 0);
  report("the launcher ends this process (SIGTERM); it says why");
}

std::string Monitor::nameOf(uint32_t rank) const {
  std::string host = names[rank].host;
  int64_t pid = names[rank].pid;
  if (host.empty() && launch.oneHost)
    host = hostName();
  if (!pid && (launch.oneHost || host == hostName()))
    pid = registry.processOf(rank);
  std::string details;
  if (!host.empty())
    details = "host " + host;
  if (pid)
    details += (details.empty() ? "pid " : ", pid ") + std::to_string(pid);
  return text("rank ", rank, details.empty() ? "" : " (" + details + ")");
}

/// Says what another process of this host has found out, if one has.
void Monitor::followVerdict() {
  std::istringstream line(registry.verdict());
  uint32_t rank = 0, reason = 0, milliseconds = 0;
  if (!(line >> rank >> reason >> milliseconds) || rank >= launch.size ||
      reason > static_cast<uint32_t>(Reason::Stopped))
    return;
  declareLost(rank, static_cast<Reason>(reason), milliseconds);
}

void Monitor::declareLost(uint32_t rank, Reason reason, uint32_t milliseconds) {
  if (reported)
    return;
  if (rank == launch.rank ||
      (resumed && lastTurn - resumed < graceAfterResuming))
    return report(text("rank ", launch.rank, " (this process) did not run for ",
                       paused / 1'000'000'000,
                       " s and is given up by the others"));
  registry.publishVerdict(
      text(rank, ' ', static_cast<uint32_t>(reason), ' ', milliseconds));
  if (launch.rank == 0)
    sendAll(frameOf(Kind::Lost, rank, reason, milliseconds));
  switch (reason) {
  case Reason::Ended:
    return report(nameOf(rank) + " has ended before the run has; look for its "
                                 "last words, or for who killed it");
  case Reason::Silent:
    return report(text(nameOf(rank), " has not answered for ",
                       milliseconds / 1000, '.', milliseconds / 100 % 10,
                       " s; see whether it or its host has stopped, or raise "
                       "--timeout if it was busy"));
  case Reason::Stopped:
    return report(nameOf(rank) + " has been stopped (SIGSTOP) while it "
                                 "started; let it continue, or run again");
  }
}

void Monitor::report(const std::string &line) {
  if (reported)
    return;
  reported = true;
  // Printed at once: launchers leave little time. The first process that ends
  // makes them stop listening to the others, which have theirs to say, too.
  lost(line);
  usleep(timeForLastWords);
  if (exits)
    _exit(1);
  // The program was told, and is its own master again.
  releaseTermination();
}
