//===- Dataset.h - Samples in files -----------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRAINING_DATASET_H
#define SOAP_TRAINING_DATASET_H

#include "soap/Tensors/MappedArray.h"
#include <map>

namespace soap::training {
using namespace tensors;

/// Arrays with the samples of some inputs, as many in each, along dimension 0.
class Dataset {
public:
  using Note = std::function<void(const std::string &)>;

  /// Opens `sources`, by the names of inputs; `ports` has those and maybe more.
  /// An input takes a batch along its dimension 0, of one size in all of them.
  /// Its file has the input's other dimensions, and its type or a narrower one
  /// that loses nothing, of which `note` is told. `option` names the sources in
  /// errors. Throws UsageError.
  Dataset(const std::vector<soap_port> &ports,
          const std::map<std::string, std::string> &sources,
          const std::string &option, const Note &note = {});

  uint64_t samples() const { return samples_; }
  /// Samples that a step takes.
  uint64_t batch() const { return batch_; }
  /// True if the input has samples here.
  bool has(const std::string &input) const;
  /// The file that an input's samples are in.
  const std::string &placeOf(const std::string &input) const;

  /// Says that an input has classes, from 0 to `classes` - 1, and perhaps a
  /// label that does not count.
  void setClasses(const std::string &input, int64_t classes,
                  std::optional<int64_t> ignored);

  /// Copies samples to a tensor of the input's type and batch. Throws
  /// UsageError if an index is outside of the table that it is for.
  void read(const std::string &input, const std::vector<uint64_t> &samples,
            Tensor &to) const;

private:
  struct Column {
    MappedArray array;
    std::string input;
    soap_element element; ///< The input's.
    int64_t indexBound;
    std::optional<int64_t> ignored = std::nullopt; ///< May be out of bounds.
    size_t elements = 1;                           ///< Per sample.
  };
  const Column &column(const std::string &input) const;
  void checkShape(const soap_port &port, const Column &column,
                  const std::string &option) const;
  void checkIndices(const Column &column, const std::vector<uint64_t> &samples,
                    const Tensor &tensor) const;

  std::map<std::string, Column> columns_;
  uint64_t samples_ = 0, batch_ = 0;
};

} // namespace soap::training

#endif // SOAP_TRAINING_DATASET_H
