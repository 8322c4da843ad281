//===- FailureState.cpp - Whether the steps of a group can go on ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process/FailureState.h"
#include "Error.h"

using namespace soap::runtime;
using std::chrono::steady_clock;

/// How long a wait goes on after another process said that it leaves.
static constexpr std::chrono::seconds graceAfterLeaving(3);

bool FailureState::breakBy(const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (broken_)
    return false;
  reason_ = why;
  broken_ = true;
  return true;
}

void FailureState::check() {
  if (!broken_)
    return;
  std::lock_guard<std::mutex> lock(mutex_);
  failed(reason_);
}

void FailureState::breakByLeaver(const std::string &what,
                                 steady_clock::time_point seen) {
  if (steady_clock::now() - seen <= graceAfterLeaving)
    return;
  auto leaver = static_cast<uint32_t>(monitor_.leaver());
  breakBy(text("expected ", monitor_.describe(leaver), " to take part in ",
               what, ", got: its end; make the same calls on all ranks"));
}

void FailureState::checkOthers() {
  check();
  std::string failure = monitor_.failureOf(number);
  if (!failure.empty()) {
    breakBy(failure);
  } else if (monitor_.leaver() >= 0) {
    int64_t first = 0, now = steady_clock::now().time_since_epoch().count();
    if (leaverSeen_.compare_exchange_strong(first, now))
      first = now;
    breakByLeaver("a step",
                  steady_clock::time_point(steady_clock::duration(first)));
  }
  check();
}
