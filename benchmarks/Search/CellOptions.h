//===- CellOptions.h - Models and machines of a benchmark -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_BENCHMARKS_SEARCH_CELLOPTIONS_H
#define SOAP_BENCHMARKS_SEARCH_CELLOPTIONS_H

#include "Choices.h"
#include "ModelGraph.h"
#include "soap/Topology/Topology.h"
#include "llvm/Support/CommandLine.h"

namespace soap {

/// Options that benchmarks share whose tables have a row for every model on
/// every machine.
class CellOptions {
public:
  /// --models, --topologies and --json in a category.
  explicit CellOptions(llvm::cl::OptionCategory &category);

  /// Fails on a text that names no model.
  llvm::Expected<std::vector<ModelSpec>> models() const;
  /// With their names. Fails on one that is not known.
  llvm::Expected<std::vector<std::pair<std::string, Topology>>>
  topologies() const;
  bool isJSON() const { return json_; }

private:
  llvm::cl::list<std::string> models_;
  llvm::cl::opt<std::string> topologies_;
  llvm::cl::opt<bool> json_;
};

/// Prints an error; returns the exit status.
int fail(llvm::Error error);

} // namespace soap

#endif // SOAP_BENCHMARKS_SEARCH_CELLOPTIONS_H
