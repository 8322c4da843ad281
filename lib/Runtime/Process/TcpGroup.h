//===- TcpGroup.h - Processes connected by sockets --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_TCPGROUP_H
#define SOAP_LIB_RUNTIME_PROCESS_TCPGROUP_H

#include "Process/Group.h"

namespace soap::runtime {

/// Connects processes that a launcher has given RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT, as torchrun does, over TCP, without any library. What they
/// send each other goes over a connection for each pair.
std::shared_ptr<Group> joinByTcp(const Launch &launch, Monitor &monitor);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_TCPGROUP_H
