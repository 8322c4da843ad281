//===- TcpWorld.h - The connections of a process ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_TCPWORLD_H
#define SOAP_LIB_RUNTIME_PROCESS_TCPWORLD_H

#include "Process/FailureState.h"
#include <deque>
#include <tuple>
#include <unistd.h>

namespace soap::runtime {

/// Where a message goes to or comes from.
struct TcpAddress {
  uint32_t group, rank;
  uint64_t channel;
  bool operator<(const TcpAddress &o) const {
    return std::tie(group, rank, channel) <
           std::tie(o.group, o.rank, o.channel);
  }
};

/// A connection to every other process, and the messages that have come.
class TcpWorld {
public:
  TcpWorld(const Launch &launch, Monitor &monitor);

  /// Connects all processes, and learns their names. Throws SOAP_FAILED if one
  /// does not come within a minute.
  void connect();
  /// Says when the program exits that this process leaves, and waits until all
  /// do.
  void leaveAtExit();

  /// Sends a message to a rank; `address.rank` is the receiver.
  void send(const TcpAddress &address, const char *data, uint64_t bytes);
  /// Waits for the next message; `address.rank` is the sender. Throws what
  /// `state` knows.
  std::vector<char> receive(const TcpAddress &address, FailureState &state);
  /// Lets all who wait look at their states.
  void wakeAll();

  /// The number of the next group.
  uint32_t nextNumber() { return groups_++; }

  Monitor &monitor;
  const uint32_t rank, size;
  std::atomic<bool> hasFailed{false}; ///< A step of some group.
  std::vector<ProcessName> names;     ///< By rank.

private:
  struct Peer {
    int socket = -1;
    std::mutex writing;
  };
  struct Frame {
    uint32_t group, from;
    uint64_t channel, bytes;
  };

  void meetAsFirst(int listener);
  void meetFirst(int listener, uint16_t port);
  void meetOthers(int listener, const std::vector<std::string> &doors,
                  const std::string &token);
  void read(uint32_t peer);
  static void end();
  static TcpWorld *connected; ///< What end() ends.

  std::vector<Peer> peers_; ///< By rank.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<TcpAddress, std::deque<std::vector<char>>> messages_;
  std::atomic<uint32_t> groups_{0};
  pid_t process_ = getpid(); ///< Not one that it forks.
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_TCPWORLD_H
