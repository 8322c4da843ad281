//===- TcpWorld.cpp - The connections of a process ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/TcpWorld.h"
#include "Error.h"
#include "Process/Sockets.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>

using namespace soap::runtime;
using Clock = std::chrono::steady_clock;

/// How long processes may take to come together: a launcher may start them one
/// after the other, on many hosts.
static constexpr std::chrono::seconds timeToMeet(60);

TcpWorld::TcpWorld(const Launch &launch, Monitor &monitor)
    : monitor(monitor), rank(launch.rank), size(launch.size), peers_(size) {}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// True when a socket can be read or written; false after some time.
static bool awaitSocket(int socket, short events, int milliseconds = 100) {
  pollfd wait = {socket, events, 0};
  return poll(&wait, 1, milliseconds) > 0;
}

/// Moves all bytes by `move`, read or write. False if the other end has closed
/// the connection, or `givesUp` says so.
template <typename Move, typename GivesUp>
static bool moveAll(int socket, short events, char *data, uint64_t bytes,
                    Move move, GivesUp givesUp) {
  while (bytes) {
    ssize_t moved = move(socket, data, bytes);
    if (moved > 0) {
      data += moved;
      bytes -= static_cast<uint64_t>(moved);
      continue;
    }
    if (moved == 0 || (errno != EAGAIN && errno != EINTR))
      return false;
    if (!awaitSocket(socket, events) && givesUp())
      return false;
  }
  return true;
}

template <typename GivesUp>
static bool readAll(int socket, void *data, uint64_t bytes, GivesUp givesUp) {
  return moveAll(
      socket, POLLIN, static_cast<char *>(data), bytes,
      [](int from, char *to, uint64_t count) {
        return recv(from, to, count, 0);
      },
      givesUp);
}

template <typename GivesUp>
static bool writeAll(int socket, const void *data, uint64_t bytes,
                     GivesUp givesUp) {
  return moveAll(
      socket, POLLOUT, static_cast<char *>(const_cast<void *>(data)), bytes,
      [](int to, char *from, uint64_t count) {
        return ::send(to, from, count, MSG_NOSIGNAL);
      },
      givesUp);
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

/// A text with its length, before a connection carries messages.
static bool writeText(int socket, const std::string &text,
                      Clock::time_point end) {
  auto late = [&] { return Clock::now() > end; };
  uint64_t bytes = text.size();
  return writeAll(socket, &bytes, sizeof(bytes), late) &&
         writeAll(socket, text.data(), bytes, late);
}

/// Reads one; "" if none comes, or something else does.
static std::string readText(int socket, Clock::time_point end) {
  auto late = [&] { return Clock::now() > end; };
  constexpr uint64_t most = 1 << 20;
  uint64_t bytes = 0;
  if (!readAll(socket, &bytes, sizeof(bytes), late) || bytes > most)
    return "";
  std::string text(bytes, '\0');
  return readAll(socket, text.data(), bytes, late) ? text : "";
}

/// What the launcher has set, which joinByTcp() is called for.
static std::string variable(const char *name) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    invalid("expected ", name,
            " in the environment beside RANK and "
            "WORLD_SIZE, got: none; start the processes with torchrun, or set "
            "MASTER_ADDR and MASTER_PORT");
  return text;
}

/// The port at which rank 0 is met. torchrun's own server has that of
/// MASTER_PORT: then it is the next one.
static uint16_t meetingPort() {
  std::string text = variable("MASTER_PORT");
  char *end = nullptr;
  long port = std::strtol(text.c_str(), &end, 10);
  const char *taken = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  port += taken && std::strcmp(taken, "True") == 0;
  if (*end || port < 1 || port > 65535)
    invalid("expected a port as MASTER_PORT, got: '", text, "'");
  return static_cast<uint16_t>(port);
}

/// How others reach this process: "PORT ADDRESS..."
static std::string doorOf(uint16_t port) {
  std::string text = std::to_string(port);
  for (const std::string &address : ownAddresses())
    text += ' ' + address;
  return text + " 127.0.0.1";
}

static int connectToAny(const std::string &door, Clock::time_point end) {
  std::istringstream in(door);
  uint16_t port = 0;
  in >> port;
  for (std::string address; in >> address && Clock::now() < end;) {
    int socket = connectTo(address, port, 2000);
    if (socket >= 0)
      return socket;
  }
  return -1;
}

/// "a lost cable" for ranks that did not come.
[[noreturn]] static void notMet(const std::string &who) {
  failed("expected all processes of the run to come within ",
         timeToMeet.count(), " s, got: none from ", who,
         "; see that MASTER_ADDR and MASTER_PORT name the host of rank 0 and a "
         "free port there, and that all ranks were started");
}

void TcpWorld::connect() {
  uint16_t port = rank == 0 ? meetingPort() : 0;
  int listener = listenOn(size, port);
  if (rank == 0)
    meetAsFirst(listener);
  else
    meetFirst(listener, port);
  close(listener);
  for (uint32_t other = 0; other != size; ++other)
    if (other != rank)
      std::thread([this, other] { read(other); }).detach();
}

void TcpWorld::meetAsFirst(int listener) {
  auto end = Clock::now() + timeToMeet;
  std::vector<std::string> doors(size), lines(size);
  lines[0] = hostName() + ' ' + std::to_string(getpid());
  // "rank", "host pid", door: three texts of each.
  for (uint32_t missing = size - 1; missing != 0;) {
    if (Clock::now() > end) {
      uint32_t first = 1;
      while (peers_[first].socket >= 0)
        ++first;
      notMet(text("rank ", first));
    }
    int socket = awaitSocket(listener, POLLIN) ? acceptFrom(listener) : -1;
    if (socket < 0)
      continue;
    std::string number = readText(socket, end);
    std::string line = readText(socket, end), door = readText(socket, end);
    uint32_t other =
        number.empty() || number.find_first_not_of("0123456789") < number.size()
            ? 0
            : static_cast<uint32_t>(std::strtoul(number.c_str(), nullptr, 10));
    if (other == 0 || other >= size || peers_[other].socket >= 0 ||
        door.empty()) {
      close(socket);
      continue;
    }
    peers_[other].socket = socket;
    lines[other] = line;
    doors[other] = door;
    --missing;
  }
  std::string all = toHex(randomToken()) + '\n';
  for (uint32_t other = 0; other != size; ++other)
    all += lines[other] + '\n' + doors[other] + '\n';
  for (uint32_t other = 1; other != size; ++other)
    if (!writeText(peers_[other].socket, all, end))
      notMet(text("rank ", other));
  for (const std::string &line : lines) {
    size_t space = line.rfind(' ');
    names.push_back(
        {line.substr(0, space), std::stoll(line.substr(space + 1))});
  }
}

void TcpWorld::meetFirst(int listener, uint16_t port) {
  auto end = Clock::now() + timeToMeet;
  std::string door =
      std::to_string(meetingPort()) + ' ' + variable("MASTER_ADDR");
  int &first = peers_[0].socket;
  // Rank 0 may come later.
  while ((first = connectToAny(door, end)) < 0) {
    if (Clock::now() > end)
      notMet("rank 0");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::string all;
  if (writeText(first, std::to_string(rank), end) &&
      writeText(first, hostName() + ' ' + std::to_string(getpid()), end) &&
      writeText(first, doorOf(port), end))
    all = readText(first, end);
  if (all.empty())
    notMet("rank 0");
  std::istringstream in(all);
  std::string token, line;
  std::getline(in, token);
  std::vector<std::string> doors;
  while (std::getline(in, line)) {
    size_t space = line.rfind(' ');
    names.push_back(
        {line.substr(0, space), std::stoll(line.substr(space + 1))});
    std::getline(in, doors.emplace_back());
  }
  if (names.size() != size)
    failed("expected as many processes on all ranks, got: ", names.size(),
           " on rank 0, ", size, " on rank ", rank,
           "; start all ranks with one WORLD_SIZE");
  meetOthers(listener, doors, token);
}

/// The later one of two ranks connects.
void TcpWorld::meetOthers(int listener, const std::vector<std::string> &doors,
                          const std::string &token) {
  auto end = Clock::now() + timeToMeet;
  for (uint32_t other = 1; other != rank; ++other) {
    int socket = connectToAny(doors[other], end);
    if (socket < 0 || !writeText(socket, token, end) ||
        !writeText(socket, std::to_string(rank), end))
      notMet(text("rank ", other));
    peers_[other].socket = socket;
  }
  for (uint32_t missing = size - 1 - rank; missing != 0;) {
    if (Clock::now() > end)
      notMet("a rank above " + std::to_string(rank));
    int socket = awaitSocket(listener, POLLIN) ? acceptFrom(listener) : -1;
    if (socket < 0)
      continue;
    bool isOurs = readText(socket, end) == token;
    auto other = static_cast<uint32_t>(
        std::strtoul(readText(socket, end).c_str(), nullptr, 10));
    if (!isOurs || other <= rank || other >= size ||
        peers_[other].socket >= 0) {
      close(socket);
      continue;
    }
    peers_[other].socket = socket;
    --missing;
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void TcpWorld::send(const TcpAddress &address, const char *data,
                    uint64_t bytes) {
  Peer &peer = peers_[address.rank];
  Frame frame = {address.group, rank, address.channel, bytes};
  std::lock_guard<std::mutex> lock(peer.writing);
  // Half a message would be the beginning of the next one, so only a loss ends
  // this: the other process always reads.
  auto givesUp = [&] { return monitor.hasLost(); };
  if (!writeAll(peer.socket, &frame, sizeof(frame), givesUp) ||
      !writeAll(peer.socket, data, bytes, givesUp))
    failed("expected ", monitor.describe(address.rank),
           " to take a message, got: its end");
}

void TcpWorld::read(uint32_t other) {
  auto never = [] { return false; };
  int socket = peers_[other].socket;
  Frame frame;
  while (readAll(socket, &frame, sizeof(frame), never)) {
    std::vector<char> message(frame.bytes);
    if (!readAll(socket, message.data(), frame.bytes, never))
      break;
    std::lock_guard<std::mutex> lock(mutex_);
    messages_[{frame.group, other, frame.channel}].push_back(
        std::move(message));
    changed_.notify_all();
  }
  // The monitor says why.
  wakeAll();
}

std::vector<char> TcpWorld::receive(const TcpAddress &address,
                                    FailureState &state) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::deque<std::vector<char>> &queue = messages_[address];
  while (queue.empty()) {
    changed_.wait_for(lock, std::chrono::milliseconds(5));
    if (!queue.empty())
      break;
    lock.unlock();
    state.checkOthers();
    lock.lock();
  }
  std::vector<char> message = std::move(queue.front());
  queue.pop_front();
  return message;
}

void TcpWorld::wakeAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

TcpWorld *TcpWorld::connected = nullptr;

void TcpWorld::leaveAtExit() {
  connected = this;
  std::atexit(end);
}

void TcpWorld::end() {
  if (getpid() != connected->process_)
    return;
  Monitor &monitor = connected->monitor;
  if (monitor.hasLost())
    return;
  monitor.announceLeaving(connected->hasFailed);
  std::optional<bool> together = monitor.leaveTogether();
  for (; !together; together = monitor.leaveTogether())
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  monitor.leave(!*together);
}
