//===- Losses.cpp - Who is lost, and what is said about it ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Process/Monitor.h"
#include "Process/Sockets.h"
#include "Process/Termination.h"
#include <algorithm>
#include <sstream>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

/// How long a process that the launcher ends looks for the reason: launchers
/// kill a second later.
static constexpr int64_t graceAfterTermination = 500'000'000;

/// How long a process stays after it has named a lost one, in us.
static constexpr useconds_t timeForLastWords = 400'000;

/// A process that did not run for long takes the silence that it sees within
/// this time, in ns, for its own.
static constexpr int64_t graceAfterResuming = 2'000'000'000;

/// The least time that processes get to start, on one host and on several.
static constexpr int64_t slowStart = 10'000'000'000,
                         slowerStart = 60'000'000'000;

void Monitor::checkSilence(int64_t time) {
  for (const Connection &connection : connections_) {
    if (connection.rank < 0 || connection.closed)
      continue;
    int64_t silence = time - connection.heard;
    if (silence > timeout_)
      declareLost(static_cast<uint32_t>(connection.rank), Reason::Silent,
                  static_cast<uint32_t>(silence / 1'000'000));
  }
}

void Monitor::checkRegistry(int64_t time) {
  // States are read before verdicts: a process that ends because of a verdict
  // has published it before.
  std::vector<Registry::State> states;
  for (uint32_t rank = 0; rank != launch_.size; ++rank)
    states.push_back(registry_.stateOf(rank));
  followVerdict();
  bool known = launch_.oneHost && !launch_.jobFolder.empty();
  int64_t waited = time - begun_;
  for (uint32_t rank = 0; rank != launch_.size; ++rank) {
    if (rank == launch_.rank)
      continue;
    Registry::State state = states[rank];
    bool saidBye =
        std::any_of(connections_.begin(), connections_.end(),
                    [&](const Connection &connection) {
                      return connection.rank == rank && connection.saidBye;
                    });
    if (state == Registry::State::Ended && !saidBye)
      declareLost(rank, Reason::Ended, 0);
    if (state == Registry::State::Unknown && known &&
        waited > std::max(timeout_, slowStart))
      declareLost(rank, Reason::Silent,
                  static_cast<uint32_t>(waited / 1'000'000));
    if (state != Registry::State::Stopped) {
      stoppedSince_[rank] = 0;
      continue;
    }
    if (!stoppedSince_[rank])
      stoppedSince_[rank] = time;
    if (time - stoppedSince_[rank] > timeout_)
      declareLost(rank, Reason::Stopped, 0);
  }
  if (!known && waited > std::max(timeout_, slowerStart))
    report(text("expected ", launch_.size, " processes to meet within ",
                waited / 1'000'000'000,
                " s, got: fewer; see whether a host "
                "has stopped, or raise --timeout"));
}

/// A launcher that is asked to end kills the processes one after the other,
/// also those that save their state first and then wait for it in
/// MPI_Finalize. The others are told of a process that ends behind the last
/// step only if they live on.
void Monitor::checkCutOff(int64_t time) {
  for (const Connection &connection : connections_)
    if (connection.cutOff && time - connection.cutOff >= graceAfterTermination)
      declareLost(static_cast<uint32_t>(connection.rank), Reason::Ended, 0);
}

void Monitor::checkTermination(int64_t time) {
  if (!tookTermination() || leaving_)
    return;
  followVerdict();
  if (!terminatedAt_)
    terminatedAt_ = time;
  if (time - terminatedAt_ < graceAfterTermination)
    return;
  checkRegistry(time);
  for (uint32_t rank = 0; rank != launch_.size; ++rank)
    if (rank != launch_.rank && launch_.oneHost && !launch_.jobFolder.empty() &&
        registry_.stateOf(rank) == Registry::State::Unknown)
      declareLost(rank, Reason::Ended, 0);
  report("the launcher ends this process (SIGTERM); it says why");
}

std::string Monitor::nameOf(uint32_t rank) const {
  std::string host = names_[rank].host;
  int64_t pid = names_[rank].pid;
  if (host.empty() && launch_.oneHost)
    host = hostName();
  if (!pid && (launch_.oneHost || host == hostName()))
    pid = registry_.processOf(rank);
  std::string details;
  if (!host.empty())
    details = "host " + host;
  if (pid)
    details += (details.empty() ? "pid " : ", pid ") + std::to_string(pid);
  return text("rank ", rank, details.empty() ? "" : " (" + details + ")");
}

/// Says what another process of this host has found out, if one has.
void Monitor::followVerdict() {
  std::istringstream line(registry_.verdict());
  uint32_t rank = 0, reason = 0, milliseconds = 0;
  if (!(line >> rank >> reason >> milliseconds) || rank >= launch_.size ||
      reason > static_cast<uint32_t>(Reason::Stopped))
    return;
  declareLost(rank, static_cast<Reason>(reason), milliseconds);
}

void Monitor::declareLost(uint32_t rank, Reason reason, uint32_t milliseconds) {
  if (hasLost_)
    return;
  if (rank == launch_.rank ||
      (resumed_ && lastTurn_ - resumed_ < graceAfterResuming))
    return report(
        text("rank ", launch_.rank, " (this process) did not run for ",
             paused_ / 1'000'000'000, " s and is given up by the others"));
  registry_.publishVerdict(
      text(rank, ' ', static_cast<uint32_t>(reason), ' ', milliseconds));
  if (launch_.rank == 0)
    sendAll(frameOf(Kind::Lost, rank, reason, milliseconds));
  switch (reason) {
  case Reason::Ended:
    return report(nameOf(rank) + " has ended before the run has; see its last "
                                 "messages, and what may have killed it");
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
  if (hasLost_)
    return;
  hasLost_ = true;
  // The line is printed at once, since launchers leave little time. They stop
  // forwarding the output of all processes when the first of them has ended, so
  // this one stays until the others have printed theirs.
  lost_(line);
  usleep(timeForLastWords);
  if (exits_)
    _exit(1);
  loss_ = line;
  hasFailures_ = true;
  // The program has been told, and goes on by itself.
  releaseTermination();
}
