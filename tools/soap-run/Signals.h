//===- Signals.h - Requests to end ------------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_SIGNALS_H
#define SOAP_TOOLS_SOAPRUN_SIGNALS_H

#include <csignal>

namespace soap::run {

/// As long as it lives, the first SIGINT or SIGTERM is only remembered. The
/// second one ends the program. There is one at a time.
class SignalCatcher {
public:
  SignalCatcher();
  ~SignalCatcher();
  SignalCatcher(const SignalCatcher &) = delete;
  SignalCatcher &operator=(const SignalCatcher &) = delete;

private:
  struct sigaction interrupt_ = {}, terminate_ = {}; ///< Those before.
};

/// The signal that came, or 0.
int receivedSignal();

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_SIGNALS_H
