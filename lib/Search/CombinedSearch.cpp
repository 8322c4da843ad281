//===- CombinedSearch.cpp - Several algorithms in one budget --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Search/SearchAlgorithm.h"
#include <chrono>

using namespace soap;
using Clock = std::chrono::steady_clock;

namespace {
/// Runs algorithms one after the other and adds up what they say.
class Sequence {
public:
  Sequence(const SearchProblem &problem, const SearchOptions &options)
      : problem_(problem), options_(options), begin_(Clock::now()) {
    total_.stepNs = INT64_MAX;
  }

  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  /// Gives an algorithm a share of what is left of time and proposals. Returns
  /// what it found; an error if it failed.
  llvm::Expected<Strategy> run(SearchAlgorithm &algorithm, double share,
                               SearchOptions own);
  bool isCancelled() const { return isCancelled_; }
  /// Time or proposals are over.
  bool isOver() const {
    return isCancelled_ || seconds() >= options_.budgetSeconds ||
           (options_.proposals && total_.proposals >= options_.proposals);
  }
  SearchResult finish() {
    total_.seconds = seconds();
    if (isCancelled_)
      total_.stop = StopReason::Cancelled;
    return std::move(total_);
  }

private:
  const SearchProblem &problem_;
  const SearchOptions &options_;
  Clock::time_point begin_;
  bool isCancelled_ = false;
  SearchResult total_;
};

class CombinedSearch final : public SearchAlgorithm {
public:
  CombinedSearch(std::string name,
                 std::vector<std::unique_ptr<SearchAlgorithm>> parts,
                 std::unique_ptr<SearchAlgorithm> last)
      : name_(std::move(name)), parts_(std::move(parts)),
        last_(std::move(last)) {}
  llvm::StringRef name() const override { return name_; }
  bool keepsState() const override {
    return last_ ? last_->keepsState()
                 : llvm::any_of(parts_, [](const auto &part) {
                     return part->keepsState();
                   });
  }
  llvm::Expected<SearchResult> run(const SearchProblem &problem,
                                   const SearchOptions &options) override;

private:
  std::string name_;
  std::vector<std::unique_ptr<SearchAlgorithm>> parts_;
  /// Starts from what the others found; null: the best of all counts.
  std::unique_ptr<SearchAlgorithm> last_;
};
} // namespace

llvm::Expected<Strategy> Sequence::run(SearchAlgorithm &algorithm, double share,
                                       SearchOptions own) {
  double before = seconds();
  own.budgetSeconds = std::max(1e-3, (options_.budgetSeconds - before) * share);
  if (options_.proposals)
    own.proposals = std::max<uint64_t>(
        1,
        static_cast<uint64_t>(static_cast<double>(options_.proposals -
                                                  std::min(options_.proposals,
                                                           total_.proposals)) *
                              share));
  if (options_.progress)
    own.progress = [&](const SearchProgress &progress) {
      SearchProgress all = progress;
      all.proposals += total_.proposals;
      all.seconds += before;
      all.bestNs = std::min(all.bestNs, total_.stepNs);
      return options_.progress(all);
    };
  llvm::Expected<SearchResult> found = algorithm.run(problem_, own);
  if (!found)
    return found.takeError();
  isCancelled_ |= found->stop == StopReason::Cancelled;
  for (const SearchProgress &step : found->history)
    if (step.bestNs < total_.stepNs &&
        (total_.history.empty() || step.bestNs < total_.history.back().bestNs))
      total_.history.push_back({step.proposals + total_.proposals,
                                step.seconds + before, step.bestNs});
  for (auto &[name, stepNs] : found->starts)
    total_.starts.push_back({(algorithm.name() + ": " + name).str(), stepNs});
  total_.starts.push_back(
      {("found by " + algorithm.name()).str(), found->stepNs});
  total_.proposals += found->proposals;
  total_.accepted += found->accepted;
  total_.statistics.add(found->statistics);
  total_.attempts = std::max(total_.attempts, found->attempts);
  if (!found->stateError.empty())
    total_.stateError = found->stateError;
  // Of equal ones the last counts: it may have proved that none is shorter.
  if (found->stepNs <= total_.stepNs) {
    total_.stepNs = found->stepNs;
    total_.strategy = found->strategy;
    total_.stop = found->stop;
    total_.sumNs = found->sumNs;
    total_.lowerBoundNs = found->lowerBoundNs;
    total_.spaceSize = found->spaceSize;
  }
  return std::move(found->strategy);
}

llvm::Expected<SearchResult> CombinedSearch::run(const SearchProblem &problem,
                                                 const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return std::move(error);
  Sequence sequence(problem, options);
  llvm::Error errors = llvm::Error::success();
  size_t numFound = 0;
  SearchOptions last = options;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (i > 0 && sequence.isOver())
      break;
    SearchOptions own = options;
    // What goes on from a file is the search at the end.
    if (last_)
      own.stateFile.clear();
    // Starts of another search take half of the budget at most.
    double share = 1.0 / static_cast<double>(last_ ? 2 * parts_.size() - i
                                                   : parts_.size() - i);
    llvm::Expected<Strategy> found = sequence.run(*parts_[i], share, own);
    if (!found) {
      // Another one may find something.
      errors = llvm::joinErrors(std::move(errors), found.takeError());
      continue;
    }
    ++numFound;
    last.starts.push_back(std::move(*found));
  }
  if (last_ && !(numFound > 0 && sequence.isOver())) {
    llvm::Expected<Strategy> found = sequence.run(*last_, 1, last);
    if (found)
      ++numFound;
    else
      errors = llvm::joinErrors(std::move(errors), found.takeError());
  }
  if (numFound == 0)
    return std::move(errors);
  llvm::consumeError(std::move(errors));
  return sequence.finish();
}

std::unique_ptr<SearchAlgorithm>
soap::createCombinedSearch(std::string name,
                           std::vector<std::unique_ptr<SearchAlgorithm>> parts,
                           std::unique_ptr<SearchAlgorithm> last) {
  return std::make_unique<CombinedSearch>(std::move(name), std::move(parts),
                                          std::move(last));
}
