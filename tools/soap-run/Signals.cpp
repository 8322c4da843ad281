//===- Signals.cpp - Requests to end --------------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

using namespace soap;

static volatile std::sig_atomic_t received = 0;

static void onSignal(int signal) {
  if (received != 0) {
    std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
    return;
  }
  received = signal;
}

run::SignalCatcher::SignalCatcher() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGINT, &action, &interrupt_);
  (void)sigaction(SIGTERM, &action, &terminate_);
}

run::SignalCatcher::~SignalCatcher() {
  (void)sigaction(SIGINT, &interrupt_, nullptr);
  (void)sigaction(SIGTERM, &terminate_, nullptr);
}

int run::receivedSignal() { return received; }
