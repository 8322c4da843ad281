//===- Batches.h - Inputs of steps, read ahead ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_BATCHES_H
#define SOAP_TOOLS_SOAPRUN_BATCHES_H

#include "Session.h"
#include "soap/Training/Dataset.h"
#include "soap/Training/SampleOrder.h"

namespace soap::run {

/// Reads a batch while a step works on the one before. On rank 0 alone.
class Batches {
public:
  /// The inputs of a step, and what they are.
  struct Prepared {
    std::vector<Tensor> inputs; ///< Of the program.
    Tensor label;               ///< If there is one beside them.
    training::Position behind;  ///< Where the next batch begins.
    uint64_t epoch = 0;         ///< From 1.
    uint64_t fresh = 0;         ///< Samples that count, the first ones.
  };

  /// `files` has the samples of some inputs, `constants` the sources of all
  /// others; `option` names the former in errors. `label`: an input of another
  /// program that files are for, too, or null. Throws UsageError.
  Batches(const Session &session,
          const std::map<std::string, std::string> &files,
          const std::map<std::string, std::string> &constants,
          const std::string &option, const soap_port *label = nullptr);

  /// Begins at a place in the data.
  void begin(const training::SampleOrder &order, training::Position position);
  /// Reads the next batch beside the current one.
  void readAhead();
  /// The batch that was read ahead is the current one.
  void advance() { std::swap(current_, ahead_); }
  const Prepared &current() const { return current_; }
  const training::Dataset &data() const { return data_; }
  training::Dataset &data() { return data_; }

private:
  const Session &session_;
  training::Dataset data_;
  std::string label_;
  std::optional<training::SampleOrder> order_;
  training::Position position_; ///< Of the next batch to read.
  Prepared current_, ahead_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_BATCHES_H
