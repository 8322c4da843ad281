//===- Wait.h - Waiting between threads -------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counter that only grows and on which threads wait: they look at it for a
// while, then sleep in the kernel's futex. How long they look depends on who
// shares the core: see CoreSplit.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_WAIT_H
#define SOAP_LIB_RUNTIME_WAIT_H

#include "Clock.h"
#include "Patience.h"
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace soap::runtime {

/// How often one wait may still offer its core to others. Where another program
/// takes the core for long, a thread that sleeps comes back earlier than one
/// that yields: then it does not yield for a while, longer if that happens soon
/// again.
class Yields {
public:
  explicit Yields(unsigned count) : left_(count) {
    if (count != 0 && now() < backOff().until)
      left_ = 0;
  }
  bool any() const { return left_ != 0; }
  void yield() {
    // Longer than the other thread of a device takes for most messages, and
    // shorter than Linux lets a program run.
    constexpr int64_t longNs = 1000000, mostNs = 1000000000;
    int64_t before = now();
    sched_yield();
    int64_t after = now();
    --left_;
    if (after - before < longNs)
      return;
    left_ = 0;
    BackOff &last = backOff();
    bool isAgain = after - last.until < 4 * last.ns;
    last.ns = isAgain ? std::min(2 * last.ns, mostNs) : firstNs;
    last.until = after + last.ns;
  }

private:
  static constexpr int64_t firstNs = 20000000;
  struct BackOff {
    int64_t ns = firstNs, until = 0;
  };
  static BackOff &backOff() {
    thread_local BackOff last;
    return last;
  }

  unsigned left_;
};

class Counter;

/// The threads of a device on one core: one computes, one or two communicate.
/// While the first one computes, the others sleep where they have to wait;
/// while it waits, all look for what they wait for, in turn, so that the core
/// stays awake and a message from another device is seen at once.
class CoreMates {
public:
  /// @{ Of the compute thread, around a wait. Wakes the others, so that they
  /// look, too.
  inline void beginIdle();
  void endIdle() { idle_.store(false, std::memory_order_relaxed); }
  /// @}

  bool isIdle() const { return idle_.load(std::memory_order_seq_cst); }
  /// Of a communication thread: what it sleeps on, or null.
  void setSleep(Counter *counter) {
    sleeps_[ownNumber()].store(counter, std::memory_order_seq_cst);
  }

  /// @{ Those of the communication thread that calls; null on other threads.
  /// And which of the two it is: 0 (the default) or 1.
  static CoreMates *&own();
  static unsigned &ownNumber();
  /// @}

private:
  std::atomic<bool> idle_{false};
  std::atomic<Counter *> sleeps_[2] = {};
};

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

  /// Waits until the value has reached `target`, without sleep as long as
  /// `patience` says. False if the counter has been abandoned.
  bool wait(uint32_t target, Patience patience = {}) {
    if (reached(target))
      return !isAbandoned();
    if (patience.mates)
      patience.mates->beginIdle();
    for (unsigned look = 0; look != patience.spins && !reached(target); ++look)
      pause();
    for (Yields left(patience.yields); left.any() && !reached(target);)
      left.yield();
    while (!reached(target) && !sleep(target))
      continue;
    if (patience.mates)
      patience.mates->endIdle();
    return !isAbandoned();
  }

  /// The same on a communication thread, which yields while the compute thread
  /// of its core is idle, and else sleeps.
  bool waitBeside(uint32_t target, Patience patience, CoreMates &mates) {
    for (unsigned look = 0; look != patience.spins; ++look) {
      if (reached(target))
        return !isAbandoned();
      pause();
    }
    for (Yields left(patience.yields); !reached(target) && !isAbandoned();) {
      if (left.any() && mates.isIdle()) {
        left.yield();
        continue;
      }
      mates.setSleep(this);
      // The other thread, if it became idle in between, sees that this one
      // sleeps, or is seen here.
      if (!left.any() || !mates.isIdle())
        sleep(target);
      mates.setSleep(nullptr);
    }
    return !isAbandoned();
  }

  /// Lets a thread that sleeps look once more.
  void nudge() { wake(); }

  /// Nobody waits any more; what the value says has no meaning.
  void abandon() {
    abandoned_.store(true, std::memory_order_seq_cst);
    value_.fetch_add(1, std::memory_order_seq_cst);
    wake();
  }

private:
  /// Sleeps until the value changes or nudge() is called; true if it has then
  /// reached `target`, or the counter has been abandoned.
  bool sleep(uint32_t target) {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    uint32_t seen = value_.load(std::memory_order_seq_cst);
    // After the value: abandon() changes both, the value last.
    bool done = abandoned_.load(std::memory_order_seq_cst) ||
                static_cast<int32_t>(seen - target) >= 0;
    if (!done)
      syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value_),
              FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return done || isAbandoned() || reached(target);
  }

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

inline void CoreMates::beginIdle() {
  idle_.store(true, std::memory_order_seq_cst);
  for (const std::atomic<Counter *> &sleep : sleeps_)
    if (Counter *counter = sleep.load(std::memory_order_seq_cst))
      counter->nudge();
}

/// A barrier for a fixed set of threads, each of which counts how often it
/// came.
class Barrier {
public:
  explicit Barrier(uint32_t members) : members_(members) {}
  /// `visit`: the caller's own count, incremented here.
  void arrive(uint32_t &visit, Patience patience = {}) {
    ++visit;
    if (arrivals_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        visit * members_) {
      lastArrival_ = now();
      rounds_.increment();
    }
    rounds_.wait(visit, patience);
  }

  /// When the last member came, of the round that the caller has been in; holds
  /// until the caller arrives again. The clock is now().
  int64_t lastArrival() const { return lastArrival_; }

private:
  alignas(64) std::atomic<uint32_t> arrivals_{0};
  Counter rounds_;
  int64_t lastArrival_ = 0;
  uint32_t members_;
};

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_WAIT_H
