//===- Cores.h - Devices as sets of cores -----------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ENGINE_CORES_H
#define SOAP_LIB_RUNTIME_ENGINE_CORES_H

#include "Patience.h"
#include "soap/Runtime/Runtime.h"
#include <string>
#include <vector>

namespace soap::runtime {

/// The cores that this process may use.
std::vector<int> allowedCores();

struct CoreSplit {
  /// Cores of each device's compute thread.
  std::vector<std::vector<int>> compute;
  /// Cores of each device's communication thread: those that no device has, or
  /// the device's own.
  std::vector<std::vector<int>> communication;
  /// Of communication threads that wait for other devices, and of each stream
  /// that waits for the other one of its device or for the end of a step.
  Patience transport, computeStream, communicationStream;
  /// Whether each device has its core, or cores, for its threads alone
  /// (CoreMates).
  bool areMates = false;
  std::string warning; ///< If devices share cores.
};

/// Gives each of `devices` devices `perDevice` cores (0: an even share, at
/// least one). Throws SOAP_INVALID if one device wants more than there are.
CoreSplit splitCores(size_t devices, size_t perDevice,
                     const std::vector<int> &allowed);

/// Binds the calling thread to cores.
void bindThread(const std::vector<int> &cores);

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ENGINE_CORES_H
