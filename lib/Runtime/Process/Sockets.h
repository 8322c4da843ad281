//===- Sockets.h - TCP connections between processes ------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_SOCKETS_H
#define SOAP_LIB_RUNTIME_PROCESS_SOCKETS_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace soap::runtime {

/// A non-blocking socket that listens on a port of all addresses; on a free
/// one, which it returns, if `port` is 0. Throws SOAP_FAILED.
int listenOn(uint32_t backlog, uint16_t &port);
/// The next connection, or -1.
int acceptFrom(int listener);
/// A connected socket, or -1 (errno says why). The address is a number or a
/// name.
int connectTo(const std::string &address, uint16_t port, int milliseconds);

/// The addresses of this host that others may reach, as numbers.
std::vector<std::string> ownAddresses();

/// What only the processes of one run know.
std::array<char, 16> randomToken();
std::string toHex(const std::array<char, 16> &token);
std::array<char, 16> fromHex(const std::string &text);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_SOCKETS_H
