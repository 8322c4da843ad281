//===- WindowRounds.cpp - Rounds in which windows are looked at -----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkovSearch.h"
#include "soap/Search/LaunchPolicy.h"

using namespace soap;
using namespace soap::detail;

std::unique_ptr<WindowDescent> MarkovSearch::makeDescent(size_t chain) const {
  return std::make_unique<WindowDescent>(problem_, *machine_, tables_,
                                         options_.seed + chain);
}

/// Changes of windows that may be tried: those of a small graph always; else
/// about as much time as for proposals, which take several times as long, and
/// half of a limit.
uint64_t MarkovSearch::windowLimit() const {
  constexpr uint64_t least = 150'000;
  uint64_t most = std::max(least, 2 * proposalsWithoutWindows());
  return options_.proposals ? std::min(most, limit_ / 2) : most;
}

/// Windows may find what proposals do not: from the best strategy on, in its
/// own launch order, the graph's and those of the policies. They are looked at
/// before the search ends. False if they have been, or it is too early to.
bool MarkovSearch::beginDescents() {
  if (options_.onlyKind || foundNs_ >= descendedNs_ ||
      triedInWindows_ >= windowLimit() || sinceFound() < patience())
    return false;
  std::vector<Strategy> known;
  for (auto [number, chain] : llvm::enumerate(chains_)) {
    Strategy start = found_;
    if (number % 4 == 1)
      start.order.clear();
    else if (number % 4 == 2)
      start.order = fifoOrder(problem_, found_);
    else if (number % 4 == 3)
      start.order = criticalPathOrder(problem_, found_);
    std::unique_ptr<WindowDescent> descent = makeDescent(number);
    descent->start(start, {});
    // Another order may need more memory. Where an order is known already, the
    // chain has a strategy of its own.
    if (llvm::is_contained(known, start) || !descent->fitsMemory())
      descent->start(chain->current(), {});
    known.push_back(std::move(start));
    descents_.push_back(std::move(descent));
  }
  // What follows goes on from there.
  improvedAt_ = proposalsWithoutWindows();
  return true;
}

/// One round: every chain looks at a few windows, or at one that is large.
void MarkovSearch::playDescents() {
  constexpr uint64_t roundLength = 1024;
  uint64_t left =
      std::min(stageLimit() - proposals(), windowLimit() - triedInWindows_);
  uint64_t most = std::max<uint64_t>(1, left / chains_.size());
  std::vector<uint64_t> tried(chains_.size(), 0);
  forEachChain([&](size_t number) {
    WindowDescent &descent = *descents_[number];
    tried[number] =
        descent.run(roundLength, most, [&] { return deadline_.isOver(); });
    chains_[number]->countTried(tried[number]);
    if (descent.stepNs() < chains_[number]->currentNs())
      chains_[number]->start(descent.current());
    report();
  });
  for (uint64_t count : tried)
    triedInWindows_ += count;
  note();
  if (triedInWindows_ >= windowLimit() ||
      llvm::all_of(descents_,
                   [](const auto &descent) { return descent->isDone(); })) {
    descents_.clear();
    descendedNs_ = foundNs_;
  }
}
