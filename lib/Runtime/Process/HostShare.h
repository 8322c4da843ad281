//===- HostShare.h - What processes of one host share -----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_HOSTSHARE_H
#define SOAP_LIB_RUNTIME_PROCESS_HOSTSHARE_H

#include "Process/Group.h"

namespace soap::runtime {

/// How this process's devices stand among those of its host.
struct HostShare {
  /// Devices of all processes that may use the same cores, and how many of them
  /// come before this process's.
  size_t devices = 0, firstDevice = 0;
  /// The same of all processes of this host, whatever cores they may use.
  uint32_t onHost = 0, firstOnHost = 0;
  /// What all processes of the host need.
  uint64_t neededBytes = 0;
};

/// Collective. Every rank gives the cores that it may use, the bytes that it
/// needs and what must be equal on all of them (the model), and throws
/// SOAP_INVALID if it is not.
HostShare shareHost(Group *group, const Placement &placement,
                    const std::vector<int> &cores, uint64_t neededBytes,
                    const std::string &model);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_HOSTSHARE_H
