//===- Wait.h - Waiting between threads -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counter that only grows and on which threads wait: a short spin, then the
// kernel's futex. How long to spin depends on who shares the core: see
// CoreSplit.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_WAIT_H
#define SOAP_LIB_RUNTIME_WAIT_H

#include "Clock.h"
#include <atomic>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace soap::runtime {

class alignas(64) Counter {
public:
  /// Sets the value and wakes whoever waits for it. Everything written before
  /// is visible to them.
  void set(uint32_t newValue) {
    value_.store(newValue, std::memory_order_seq_cst);
    wake();
  }

  /// Adds one and wakes.
  void increment() {
    value_.fetch_add(1, std::memory_order_seq_cst);
    wake();
  }

  /// True if the value has reached `target` (modulo 2^32).
  bool reached(uint32_t target) const {
    return static_cast<int32_t>(value_.load(std::memory_order_acquire) -
                                target) >= 0;
  }

  /// Waits until the value has reached `target`, first by looking at it
  /// `spins` times. False if the counter has been abandoned.
  bool wait(uint32_t target, unsigned spins = 0) {
    for (unsigned spin = 0; spin != spins; ++spin) {
      if (reached(target))
        return !isAbandoned();
      pause();
    }
    while (true) {
      waiters_.fetch_add(1, std::memory_order_seq_cst);
      uint32_t seen = value_.load(std::memory_order_seq_cst);
      // After the value: abandon() changes both, the value last.
      bool done = abandoned_.load(std::memory_order_seq_cst) ||
                  static_cast<int32_t>(seen - target) >= 0;
      if (!done)
        syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value_),
                FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      waiters_.fetch_sub(1, std::memory_order_relaxed);
      if (done || reached(target))
        return !isAbandoned();
    }
  }

  /// Nobody waits any more; what the value says has no meaning.
  void abandon() {
    abandoned_.store(true, std::memory_order_seq_cst);
    value_.fetch_add(1, std::memory_order_seq_cst);
    wake();
  }

private:
  bool isAbandoned() const {
    return abandoned_.load(std::memory_order_acquire);
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  void wake() {
    if (waiters_.load(std::memory_order_seq_cst))
      syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value_),
              FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> waiters_{0};
  std::atomic<bool> abandoned_{false};
};

/// A barrier for a fixed set of threads, each of which counts how often it
/// came.
class Barrier {
public:
  explicit Barrier(uint32_t members, unsigned spins = 0)
      : members_(members), spins_(spins) {}
  /// `visit`: the caller's own count, incremented here.
  void arrive(uint32_t &visit) {
    ++visit;
    if (arrivals_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        visit * members_) {
      lastArrival_ = now();
      rounds_.increment();
    }
    rounds_.wait(visit, spins_);
  }

  /// When the last member came, of the round that the caller has been in; holds
  /// until the caller arrives again. The clock is now().
  int64_t lastArrival() const { return lastArrival_; }

private:
  alignas(64) std::atomic<uint32_t> arrivals_{0};
  Counter rounds_;
  int64_t lastArrival_ = 0;
  uint32_t members_;
  unsigned spins_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_WAIT_H
