//===- Scheduler.cpp - Which emulated stream goes on ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "soap/Runtime/RandomRecipe.h"
#include <algorithm>
#include <chrono>

using namespace soap::emulated;

static thread_local Actor *currentActor = nullptr;

Scheduler &Scheduler::get() {
  // Never destroyed: streams may live until the process ends.
  static auto *scheduler = new Scheduler;
  return *scheduler;
}

Actor *Scheduler::current() { return currentActor; }
void Scheduler::setCurrent(Actor *actor) { currentActor = actor; }

void Scheduler::add(Actor &actor) {
  actors_.push_back(&actor);
  reprioritize(actor);
}

void Scheduler::remove(Actor &actor) {
  actors_.erase(std::find(actors_.begin(), actors_.end(), &actor));
  pick();
}

/// A number of the actor's sequence, below `bound`.
uint64_t Scheduler::draw(Actor &actor, uint64_t bound) {
  uint64_t key = recipe::mix(recipe::mix(actor.seed_) ^
                             (actor.number_ + 1) * recipe::golden);
  return recipe::mix(key + ++actor.draws_ * recipe::golden) % bound;
}

void Scheduler::reprioritize(Actor &actor) {
  actor.priority_ = 1 + static_cast<int64_t>(draw(actor, 1 << 30));
}

/// Chooses who goes on, unless somebody does.
void Scheduler::pick() {
  Actor *best = nullptr;
  for (Actor *actor : actors_) {
    if (actor->state_ == Actor::State::Running)
      return;
    bool able = actor->state_ == Actor::State::Ready ||
                (actor->state_ == Actor::State::Waiting && actor->condition_());
    if (able && (!best || actor->priority_ > best->priority_))
      best = actor;
  }
  if (!best)
    return;
  best->state_ = Actor::State::Running;
  ++progress_;
  best->wake_.notify_all();
}

void Scheduler::resume(Lock &lock, Actor &actor) {
  pick();
  actor.wake_.wait(lock, [&] { return actor.state_ == Actor::State::Running; });
}

void Scheduler::makeReady(const std::vector<Actor *> &all) {
  for (Actor *actor : all) {
    if (actor->state_ != Actor::State::Idle)
      continue;
    actor->state_ = Actor::State::Ready;
    reprioritize(*actor);
  }
  pick();
}

void Scheduler::begin(Lock &lock, Actor &actor) {
  actor.wake_.wait(lock, [&] { return actor.state_ == Actor::State::Running; });
}

void Scheduler::end(Actor &actor, bool hasMore) {
  actor.state_ = hasMore ? Actor::State::Ready : Actor::State::Idle;
  if (hasMore && draw(actor, 4) == 0)
    reprioritize(actor);
  ++progress_;
  pick();
}

void Scheduler::waitFor(const std::function<bool()> &condition) {
  Actor &actor = *current();
  Lock lock(mutex);
  if (actor.state_ == Actor::State::Running && condition())
    return;
  actor.condition_ = condition;
  actor.state_ = Actor::State::Waiting;
  resume(lock, actor);
}

void Scheduler::hold() {
  Actor &actor = *current();
  Lock lock(mutex);
  actor.priority_ = --lowest_;
  actor.state_ = Actor::State::Ready;
  resume(lock, actor);
  reprioritize(actor);
}

void Scheduler::outside(const std::function<void()> &body) {
  Actor &actor = *current();
  {
    Lock lock(mutex);
    actor.state_ = Actor::State::Outside;
    pick();
  }
  auto back = [&] {
    Lock lock(mutex);
    actor.state_ = Actor::State::Ready;
    resume(lock, actor);
  };
  try {
    body();
  } catch (...) {
    back();
    throw;
  }
  back();
}

void Scheduler::changed() { pick(); }

void Scheduler::waitOnHost(Lock &lock, std::condition_variable &wake,
                           const std::function<bool()> &done,
                           const std::function<void()> &release) {
  uint64_t seen = progress_;
  while (!wake.wait_for(lock, std::chrono::milliseconds(200), done)) {
    if (seen == progress_) {
      for (Actor *actor : actors_)
        if (actor->state_ == Actor::State::Running)
          actor->state_ = Actor::State::Outside;
      release();
      pick();
    }
    seen = progress_;
  }
}
