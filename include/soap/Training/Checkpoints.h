//===- Checkpoints.h - Training that can go on ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a safetensors file with all that lasts from step to step, as
// whole tensors by name, whatever the strategy is, and with the place in the
// data as the file's metadata. It is there whole or not at all: written beside
// its place, brought to the disk, renamed, and the folder brought to the disk.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TRAINING_CHECKPOINTS_H
#define SOAP_TRAINING_CHECKPOINTS_H

#include "soap/Tensors/Safetensors.h"
#include "soap/Training/SampleOrder.h"
#include <thread>

namespace soap::training {
using namespace tensors;

/// What a checkpoint says beside the tensors.
struct CheckpointInfo {
  std::string fingerprint;      ///< Of the model's step.
  uint64_t steps = 0;           ///< Taken so far.
  Position position;            ///< In the data.
  uint64_t samples = 0;         ///< That the data has.
  uint64_t batch = 0;           ///< Samples of a step.
  std::optional<uint64_t> seed; ///< Of the order; none: that of the file.
  bool dropLast = false;
};

struct Checkpoint {
  CheckpointInfo info;
  std::map<std::string, Tensor> state;
};

/// Throws UsageError, with the file's name: a file that is not there, not
/// whole, or no checkpoint.
Checkpoint readCheckpoint(const std::string &path);

/// A folder of checkpoints: step-000000001200.safetensors, ...
class Checkpoints {
public:
  /// Makes the folder if there is none, and holds it (flock) as long as this
  /// object lives. `keep`: how many checkpoints stay, at least 1. Throws
  /// UsageError if it cannot be made, is not writable, or another run holds it.
  Checkpoints(std::string folder, uint64_t keep);
  Checkpoints(const Checkpoints &) = delete;
  Checkpoints &operator=(const Checkpoints &) = delete;
  /// Waits for what is being written, and gives the folder free.
  ~Checkpoints();

  /// The steps and files there are, first ones first.
  std::vector<std::pair<uint64_t, std::string>> list() const;

  /// Removes what killed runs have left half-written.
  void removeUnfinished() const;

  /// Writes a checkpoint in a thread of its own, once the one before is
  /// written, then removes the oldest ones. Throws RunError if that one has
  /// failed.
  void start(Checkpoint checkpoint);
  /// Waits until it is written. Throws RunError, with the file's name, if it
  /// could not be written; older checkpoints stay then.
  void finish();

private:
  void hold();
  void write(const Checkpoint &checkpoint) const;

  std::string folder_;
  int held_ = -1; ///< The folder, opened and locked.
  uint64_t keep_;
  std::thread writer_;
  std::exception_ptr failure_;
};

} // namespace soap::training

#endif // SOAP_TRAINING_CHECKPOINTS_H
