//===- Termination.cpp - SIGTERM from the launcher ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/Termination.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

using namespace soap;
using namespace soap::runtime;

static std::atomic<int> terminationPipe{-1};
static std::atomic<bool> terminated{false};

static void onTermination(int) {
  int saved = errno;
  terminated = true;
  int pipe = terminationPipe;
  if (pipe >= 0)
    (void)!write(pipe, "t", 1);
  errno = saved;
}

void runtime::catchTermination(int pipe) {
  terminationPipe = pipe;
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 || action.sa_handler != SIG_DFL)
    return;
  action.sa_handler = onTermination;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGTERM, &action, nullptr);
}

bool runtime::tookTermination() { return terminated; }

bool runtime::isTerminated() {
  sigset_t pending;
  return terminated ||
         (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
}

void runtime::releaseTermination() {
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 ||
      action.sa_handler != onTermination)
    return;
  action.sa_handler = SIG_DFL;
  action.sa_flags = 0;
  (void)sigaction(SIGTERM, &action, nullptr);
  if (terminated)
    (void)kill(getpid(), SIGTERM);
}

void runtime::releaseTermination(int pipe) {
  if (terminationPipe != pipe)
    return;
  terminationPipe = -1;
  releaseTermination();
}
