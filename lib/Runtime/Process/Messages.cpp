//===- Messages.cpp - What processes say to each other --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "Process/Monitor.h"
#include "Process/Sockets.h"
#include "Process/Termination.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

void Monitor::acceptAll() {
  if (listener_ < 0)
    return;
  while (true) {
    int socket = acceptFrom(listener_);
    if (socket < 0)
      return;
    Connection connection;
    connection.socket = socket;
    connection.heard = now();
    connections_.push_back(std::move(connection));
  }
}

/// Called when all processes have connected.
void Monitor::closeDoor() {
  if (listener_ < 0)
    return;
  close(listener_);
  listener_ = -1;
  for (Connection &connection : connections_)
    if (connection.rank < 0)
      connection.closed = true;
}

/// Closes connections that ended before their rank was known, or that began
/// with anything but a hello.
void Monitor::dropStrangers() {
  auto stranger = [](const Connection &connection) {
    if (!connection.closed || connection.rank >= 0)
      return false;
    close(connection.socket);
    return true;
  };
  connections_.erase(
      std::remove_if(connections_.begin(), connections_.end(), stranger),
      connections_.end());
}

void Monitor::receive(Connection &connection) {
  char block[512];
  // At most so many bytes are read, however much a process sends; the rest is
  // read in the next turn.
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
    if (frame.token != token_) {
      connection.closed = true; // No process of this run.
      break;
    }
    connection.heard = now();
    handle(connection, frame);
  }
  connection.buffer.erase(
      connection.buffer.begin(),
      connection.buffer.begin() +
          static_cast<std::ptrdiff_t>(std::min(at, connection.buffer.size())));
  // Launchers end all processes as soon as one has ended with another code than
  // 0. Rank 0 may then end without a goodbye to processes that are about to
  // end, too.
  bool together =
      leaving_ && (isTerminated() || (givesUp_ && connection.saidLeaving));
  if (!connection.closed || connection.rank < 0 || connection.saidBye ||
      together)
    return;
  if (everybodyLeaves() && !oneFailed_)
    connection.cutOff = now();
  else
    declareLost(static_cast<uint32_t>(connection.rank), Reason::Ended, 0);
}

void Monitor::handle(Connection &connection, const Frame &frame) {
  if (frame.rank >= launch_.size)
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
    if (frame.rank == launch_.rank)
      break; // Sent back by rank 0.
    leaver_ = frame.rank;
    leavers_[frame.rank] = true;
    oneFailed_ |= frame.number != 0;
    if (connection.rank == frame.rank)
      connection.saidLeaving = true;
    if (launch_.rank == 0)
      sendAll(frame);
    break;
  case Kind::Failed: {
    if (frame.rank == launch_.rank)
      break; // Sent back by rank 0.
    // The others are told before this process acts on it and ends.
    if (launch_.rank == 0)
      sendAll(frame);
    std::string reason(frame.text.data(),
                       strnlen(frame.text.data(), frame.text.size()));
    failures_.try_emplace(frame.number, nameOf(frame.rank) + ": " + reason);
    hasFailures_ = true;
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
  Frame frame{token_, kind, rank, reason, number, {}};
  std::copy_n(text.begin(), std::min(text.size(), frame.text.size()),
              frame.text.begin());
  return frame;
}

void Monitor::send(Connection &connection, const Frame &frame) {
  // A process that does not read gets no more heartbeats, so that nothing piles
  // up here.
  if (frame.kind == Kind::Beat && !connection.unsent.empty())
    return;
  const char *bytes = reinterpret_cast<const char *>(&frame);
  connection.unsent.insert(connection.unsent.end(), bytes,
                           bytes + sizeof(frame));
  sendRest(connection);
}

/// Sends what the connection takes; the rest is sent in the next turn.
void Monitor::sendRest(Connection &connection) {
  std::vector<char> &rest = connection.unsent;
  size_t sent = 0;
  while (sent != rest.size()) {
    ssize_t count = ::send(connection.socket, rest.data() + sent,
                           rest.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    sent += static_cast<size_t>(count);
  }
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(sent));
}

void Monitor::sendAll(const Frame &frame) {
  for (Connection &connection : connections_)
    if (connection.rank >= 0 && !connection.closed)
      send(connection, frame);
}
