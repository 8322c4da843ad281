//===- FailureState.h - Whether the steps of a group can go on --*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_PROCESS_FAILURESTATE_H
#define SOAP_LIB_RUNTIME_PROCESS_FAILURESTATE_H

#include "Process/Monitor.h"
#include <chrono>

namespace soap::runtime {

/// Whether the steps of one group of processes can go on, as this process knows
/// it. All functions may be called by any thread.
class FailureState {
public:
  /// `number`: of the group, in the monitor.
  FailureState(Monitor &monitor, uint32_t number)
      : number(number), monitor_(monitor) {}

  /// From now on check() throws this; the first reason counts. False if there
  /// is one.
  bool breakBy(const std::string &why);
  bool isBroken() const { return broken_; }
  /// Throws the reason if there is one.
  void check();
  /// The same, when it has asked the monitor what others have said.
  void checkOthers();
  /// Breaks if a process has left, and `seen`, when this was noticed, is some
  /// time ago: what it sent before may still be on its way. All processes see
  /// that it leaves, so that no message is needed.
  void breakByLeaver(const std::string &what,
                     std::chrono::steady_clock::time_point seen);

  const uint32_t number;

private:
  Monitor &monitor_;
  std::atomic<bool> broken_{false};
  std::mutex mutex_;
  std::string reason_;
  /// When checkOthers() first saw that a process leaves; 0: none has.
  std::atomic<int64_t> leaverSeen_{0};
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_PROCESS_FAILURESTATE_H
