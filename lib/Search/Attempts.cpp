//===- Attempts.cpp - A search that begins anew ---------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where chains end depends on what they came by: some seeds end 10% above
// others, and do not come nearer to those however long they go on. So where
// chains find nothing any more, they begin anew.
//
//===----------------------------------------------------------------------===//

#include "MarkovSearch.h"
#include <algorithm>

using namespace soap;
using namespace soap::detail;

/// So many proposals without a better strategy end the search, at the end of an
/// attempt.
uint64_t MarkovSearch::patience() const {
  if (options_.stagnation)
    return options_.stagnation;
  if (options_.proposals)
    return limit_ / 4;
  // What took long to find may be followed by what takes as long.
  return std::max(leastPatience_, 2 * (foundAt_ - wholeAt_));
}

/// So many without a better one than the attempt has end it, or let its chains
/// take over parts of what others ended with. The first one may be the only one
/// for which there is time; the others need not come to the end of their way.
uint64_t MarkovSearch::attemptPatience() const {
  uint64_t took = improvedAt_ - stageProposals_;
  uint64_t ofFirst = std::max(leastPatience_ / 16, took / 2);
  return std::min(attempt_ == 0 ? ofFirst : ofFirst / 2, patience());
}

/// What chains find together depends on what each has found alone: parts of
/// what earlier attempts ended with may be better than those of this one.
bool MarkovSearch::beginRecombination() {
  if (options_.onlyKind || ends_.empty() || recombinedAt_ > 0)
    return false;
  recombinedAt_ = proposalsWithoutWindows();
  return true;
}

/// Begins on the first part of the machine on which a start fits into memory.
void MarkovSearch::beginAttempt() {
  for (stage_ = 0;; ++stage_) {
    beginStage();
    if (bestNs_ != INT64_MAX || isWhole())
      return;
  }
}

/// False if enough attempts have found nothing better.
bool MarkovSearch::beginNextAttempt() {
  if (sinceFound() >= patience())
    return false;
  if (attempt_ == 0)
    firstLength_ = proposalsWithoutWindows();
  constexpr size_t mostEnds = 8;
  if (!llvm::is_contained(ends_, best_)) {
    if (ends_.size() == mostEnds)
      ends_.erase(ends_.begin());
    ends_.push_back(best_);
  }
  recombinedAt_ = 0;
  ++attempt_;
  attemptAt_ = proposals();
  whole_ = std::move(machine_);
  bestNs_ = notedNs_ = INT64_MAX;
  for (const auto &chain : chains_)
    chain->reset();
  if (!options_.onlyKind)
    mix_ = ProposalMix(problem_.graph);
  beginAttempt();
  // Random strategies may all need too much memory.
  if (bestNs_ == INT64_MAX) {
    for (const auto &chain : chains_)
      chain->start(found_);
    note();
  }
  return true;
}
