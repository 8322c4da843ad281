//===- Scheduler.h - Which emulated stream goes on ---------------*- C++
//-*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All emulated streams of a process are actors of one scheduler: at any time,
// one of them goes on, and which one depends on a seed. Streams have random
// priorities that change at random commands, after Burckhardt, Kothari,
// Musuvathi, Nagarakatti, "A randomized scheduler with probabilistic guarantees
// of finding bugs" (2010), section 2. Delays are logical: an actor that is held
// goes on when no other one can, however long this takes on a busy machine.
//
// Where actors wait for what the scheduler does not see (a host call that
// blocks, a device whose commands nobody has synchronized), nothing happens for
// a second; then these go on, too.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_LIB_RUNTIME_EMULATED_SCHEDULER_H
#define SOAP_TEST_LIB_RUNTIME_EMULATED_SCHEDULER_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace soap::emulated {

/// One stream, as the scheduler sees it.
class Actor {
public:
  Actor(uint64_t seed, uint32_t number) : seed_(seed), number_(number) {}

private:
  friend class Scheduler;
  enum class State {
    Idle,    ///< It has nothing to do, or may not begin.
    Ready,   ///< It could go on.
    Waiting, ///< It goes on when `condition` is true.
    Running, ///< It is the one that goes on.
    Outside  ///< It waits for what the scheduler does not see.
  };
  State state_ = State::Idle;
  uint64_t seed_, draws_ = 0;
  uint32_t number_;
  int64_t priority_ = 0;
  std::function<bool()> condition_;
  std::condition_variable wake_;
};

class Scheduler {
public:
  static Scheduler &get();

  /// Guards everything that conditions read. Held by callers of all functions
  /// that take a lock.
  std::mutex mutex;
  using Lock = std::unique_lock<std::mutex>;

  void add(Actor &actor);
  void remove(Actor &actor);

  /// Says that actors have work, all at once.
  void makeReady(const std::vector<Actor *> &all);
  /// @{ Called by the thread of an actor: waits until it may go on; says that
  /// it has ended a command, and whether there are more.
  void begin(Lock &lock, Actor &actor);
  void end(Actor &actor, bool hasMore);
  /// @}

  /// The actor whose thread this is; null on other threads.
  static Actor *current();
  static void setCurrent(Actor *actor);
  /// @{ Of the current actor: waits until a condition is true; waits until no
  /// other actor can go on; runs a function that may wait for what the
  /// scheduler does not see.
  void waitFor(const std::function<bool()> &condition);
  void hold();
  void outside(const std::function<void()> &body);
  /// @}

  /// Something has changed that a condition may read.
  void changed();
  /// Waits on a host thread until `done`, which is signalled by `wake`. Where
  /// nothing happens for a fifth of a second, lets `release` begin more work.
  void waitOnHost(Lock &lock, std::condition_variable &wake,
                  const std::function<bool()> &done,
                  const std::function<void()> &release);

private:
  uint64_t draw(Actor &actor, uint64_t bound);
  void reprioritize(Actor &actor);
  void pick();
  void resume(Lock &lock, Actor &actor);

  std::vector<Actor *> actors_;
  uint64_t progress_ = 0;
  int64_t lowest_ = 0; ///< Below all priorities that were given.
};

} // namespace soap::emulated

#endif // SOAP_TEST_LIB_RUNTIME_EMULATED_SCHEDULER_H
