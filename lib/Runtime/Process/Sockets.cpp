//===- Sockets.cpp - TCP connections between processes --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Sockets.h"
#include "Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

static void tune(int socket) {
  int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  (void)fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
}

int runtime::listenOn(uint32_t backlog, uint16_t &port) {
  // One socket for both families, or IPv4 where the kernel lacks the other.
  sockaddr_storage address = {};
  socklen_t length = sizeof(sockaddr_in6);
  int result = socket(AF_INET6, SOCK_STREAM, 0);
  if (result >= 0) {
    int off = 0;
    (void)setsockopt(result, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    auto *any = reinterpret_cast<sockaddr_in6 *>(&address);
    any->sin6_family = AF_INET6;
    any->sin6_addr = in6addr_any;
    any->sin6_port = htons(port);
  } else {
    result = socket(AF_INET, SOCK_STREAM, 0);
    auto *any = reinterpret_cast<sockaddr_in *>(&address);
    any->sin_family = AF_INET;
    any->sin_addr.s_addr = htonl(INADDR_ANY);
    any->sin_port = htons(port);
    length = sizeof(sockaddr_in);
  }
  int on = 1;
  (void)setsockopt(result, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (result < 0 ||
      bind(result, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(result, static_cast<int>(backlog)) != 0 ||
      getsockname(result, reinterpret_cast<sockaddr *>(&address), &length) != 0)
    failed("expected a TCP socket to listen on",
           port ? text(" port ", port) : "", ", got: ", std::strerror(errno),
           "; the processes of a run need TCP");
  tune(result);
  port = ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in *>(&address)->sin_port);
  return result;
}

int runtime::acceptFrom(int listener) {
  int result = accept(listener, nullptr, nullptr);
  if (result >= 0)
    tune(result);
  return result;
}

int runtime::connectTo(const std::string &address, uint16_t port,
                       int milliseconds) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints,
                  &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  int result = socket(found->ai_family, SOCK_STREAM, 0);
  int error = result < 0 ? errno : 0;
  if (result >= 0) {
    tune(result);
    if (connect(result, found->ai_addr, found->ai_addrlen) != 0)
      error = errno;
    if (error == EINPROGRESS) {
      pollfd wait = {result, POLLOUT, 0};
      socklen_t length = sizeof(error);
      if (poll(&wait, 1, milliseconds) <= 0)
        error = ETIMEDOUT;
      else
        (void)getsockopt(result, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error) {
      close(result);
      result = -1;
    }
  }
  freeaddrinfo(found);
  errno = error;
  return result;
}

std::vector<std::string> runtime::ownAddresses() {
  std::vector<std::string> result;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0)
    return result;
  for (const ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) ||
        (entry->ifa_flags & IFF_LOOPBACK))
      continue;
    socklen_t length = 0;
    if (entry->ifa_addr->sa_family == AF_INET) {
      length = sizeof(sockaddr_in);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const auto *v6 = reinterpret_cast<const sockaddr_in6 *>(entry->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        length = sizeof(sockaddr_in6);
    }
    char name[NI_MAXHOST];
    if (length && getnameinfo(entry->ifa_addr, length, name, sizeof(name),
                              nullptr, 0, NI_NUMERICHOST) == 0)
      result.emplace_back(name);
  }
  freeifaddrs(list);
  return result;
}

std::array<char, 16> runtime::randomToken() {
  std::array<char, 16> token;
  std::random_device device;
  for (char &byte : token)
    byte = static_cast<char>(device());
  return token;
}

std::string runtime::toHex(const std::array<char, 16> &token) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (char byte : token) {
    auto value = static_cast<unsigned char>(byte);
    result += {digits[value >> 4], digits[value & 15]};
  }
  return result;
}

std::array<char, 16> runtime::fromHex(const std::string &text) {
  std::array<char, 16> token = {};
  for (size_t i = 0; i != token.size() && 2 * i + 1 < text.size(); ++i)
    token[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return token;
}
