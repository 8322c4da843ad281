//===- RunStore.h - Finished searches in a file -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_RUNSTORE_H
#define SOAP_BENCHMARKS_SEARCH_RUNSTORE_H

#include "soap/Search/SearchAlgorithm.h"
#include "llvm/Support/Error.h"
#include <map>

namespace soap {

/// What is kept of a search.
struct FinishedRun {
  int64_t stepNs = 0;
  double seconds = 0;
  uint64_t proposals = 0;
  std::string detail; ///< Why it stopped, or the name of a strategy.
  std::vector<SearchProgress> history;

  /// Seconds until the best step was at most `stepNs`; infinite if never.
  double secondsUntil(double stepNs) const;
  /// The best step, in nanoseconds, `seconds` after the beginning; infinite
  /// before there was one.
  double stepAt(double seconds) const;
};

/// Finished searches by what they were asked for, any JSON object. With a file,
/// each is there as soon as it is added.
class RunStore {
public:
  /// Reads `path` if it exists. Without a path, nothing is kept. Fails on a
  /// file that is none of these.
  static llvm::Expected<RunStore> open(llvm::StringRef path);

  /// Null if there was no such search.
  const FinishedRun *find(const llvm::json::Object &of) const;
  /// Writes the file anew, under another name first. Fails if it cannot.
  llvm::Error add(const llvm::json::Object &of, FinishedRun run);

private:
  llvm::Error write() const;

  std::string path_;
  std::map<std::string, FinishedRun> runs_; ///< By the text of the object.
};

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_RUNSTORE_H
