//===- Monitor.h - Notices processes that are lost --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process of a run has a thread that exchanges heartbeats with rank 0
// over a TCP connection of its own, whatever the other threads do and wait for.
//
//   a connection that closes without a word    the process has ended
//   no heartbeat for the timeout               the process, or its host,
//   stopped SIGTERM from the launcher                  somebody has ended: the
//                                              connections say who
//
// Rank 0 tells the others which process is lost; all of them see by themselves
// if rank 0 is. Until the connections exist (while MPI starts), the ranks of
// one host are watched through the Registry.
//
// A process that is alive, but cannot go on with a step in which others take
// part, sends its reason over the same connections.
//
// Time in which this process itself did not run does not count as silence of
// others.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_MONITOR_H
#define SOAP_LIB_RUNTIME_PROCESS_MONITOR_H

#include "Process/Launcher.h"
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace soap::runtime {

/// One process of a run.
struct ProcessName {
  std::string host;
  int64_t pid = 0;
};

class Monitor {
public:
  /// Called once, by the monitor's thread, with one line that names the process
  /// that is lost.
  using Lost = std::function<void(const std::string &line)>;

  /// `exits`: this process ends, with code 1, when `lost` has returned. The
  /// timeout is one of 0.1 s to 1e9 s, or the nearest of them.
  Monitor(const Launch &launch, double timeoutSeconds, Lost lost, bool exits);
  ~Monitor();
  Monitor(const Monitor &) = delete;

  /// Rank 0: opens the socket. Returns one line for join().
  std::string invite();
  /// Other ranks: connects to rank 0. Throws SOAP_FAILED if it cannot, after
  /// about the timeout at the latest.
  void join(const std::string &invitation);
  /// All processes by rank, for messages. Rank 0 waits until all have joined:
  /// what it says from now on reaches everybody. Throws SOAP_FAILED if one has
  /// not after the timeout.
  void introduce(std::vector<ProcessName> names);
  /// When all processes know that they could not all join: nobody is watched,
  /// and SIGTERM ends the process. Connections stay open, since those who have
  /// not heard yet would take a closed one for a loss.
  void dissolve();

  /// Says that this process takes part in no more steps, and whether it leaves
  /// after a failure.
  void announceLeaving(bool failed = false);
  /// A rank that said so, or -1.
  int64_t leaver() const { return leaver_; }
  /// True when all have said so, false as soon as one leaves after a failure or
  /// is lost: then nobody waits for all to end MPI together.
  std::optional<bool> leaveTogether() const;

  /// Says that this process cannot go on with the steps of group `number`.
  void announceFailure(uint32_t number, const std::string &reason);
  /// What the first rank that said so of this group gave as its reason, with
  /// its name, or which process is lost, if this one goes on; "" if there is
  /// nothing. Cheap as long as that holds for all groups.
  std::string failureOf(uint32_t number) const;

  /// `rank 1 (host a, pid 4711)`
  std::string describe(uint32_t rank) const;
  /// True when a loss is reported: nobody may be waited for any more.
  bool hasLost() const { return hasLost_; }

  /// The regular end: returns when all processes have said that they end (rank
  /// 0: when they have). Losses until then are reported as usual, and end it.
  /// After a failure nobody waits for long, nor for those that leave.
  void leave(bool failed = false);

private:
  enum class Kind : uint32_t { Hello, Beat, Lost, Leaving, Failed, Bye };
  enum class Reason : uint32_t { Ended, Silent, Stopped };
  struct Frame {
    std::array<char, 16> token;
    Kind kind;
    uint32_t rank;
    Reason reason;
    uint32_t number; ///< Milliseconds of a silence, or a group.
    std::array<char, 480> text;
  };
  struct Connection {
    int socket = -1;
    int64_t rank = -1;        ///< -1: has not said hello.
    std::vector<char> buffer; ///< What came, up to whole frames.
    std::vector<char> unsent; ///< What must wait until the other end reads.
    int64_t heard = 0;        ///< When, in ns.
    bool saidLeaving = false, saidBye = false, closed = false;
    /// When it closed without a word behind the last step, in ns; 0: it has
    /// not.
    int64_t cutOff = 0;
  };

  void run();
  void stop();
  void turn();
  void acceptAll();
  void closeDoor();
  void dropStrangers();
  void receive(Connection &connection);
  void handle(Connection &connection, const Frame &frame);
  void send(Connection &connection, const Frame &frame);
  void sendRest(Connection &connection);
  void sendAll(const Frame &frame);
  Frame frameOf(Kind kind, uint32_t rank, Reason reason = Reason::Ended,
                uint32_t number = 0, const std::string &text = "") const;
  void checkSilence(int64_t now);
  void checkRegistry(int64_t now);
  void checkCutOff(int64_t now);
  void checkTermination(int64_t now);
  void declareLost(uint32_t rank, Reason reason, uint32_t milliseconds);
  void followVerdict();
  void report(const std::string &line);
  bool everybodyJoined() const;
  bool everybodyLeaves() const;
  std::string nameOf(uint32_t rank) const;

  Launch launch_;
  int64_t timeout_, interval_; ///< ns
  Lost lost_;
  bool exits_;
  Registry registry_;

  std::thread thread_;
  int wakeRead_ = -1, wakeWrite_ = -1;
  mutable std::mutex mutex_; ///< Of all that follows.
  std::condition_variable changed_;
  int listener_ = -1;
  std::array<char, 16> token_{};
  std::vector<Connection> connections_;
  std::vector<ProcessName> names_;
  std::vector<int64_t> stoppedSince_; ///< By rank; 0: runs. While starting.
  /// When this process ran again after it had not for long, and for how long.
  int64_t resumed_ = 0, paused_ = 0;
  int64_t begun_ = 0, lastTurn_ = 0, lastBeat_ = 0, terminatedAt_ = 0;
  bool leaving_ = false, givesUp_ = false, stopping_ = false;
  std::atomic<bool> hasLost_{false};
  std::atomic<int64_t> leaver_{-1};
  std::vector<bool> leavers_;                ///< By rank.
  bool oneFailed_ = false;                   ///< Of these.
  std::map<uint32_t, std::string> failures_; ///< By group.
  std::string loss_; ///< What was reported, if the program goes on.
  std::atomic<bool> hasFailures_{false};
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_MONITOR_H
