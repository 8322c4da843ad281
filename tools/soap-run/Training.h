//===- Training.h - Training on files of samples ----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With several processes, all of them make the same calls. Rank 0 alone has the
// files: it decides what all do next, and the runtime's feed rows bring every
// device its part of a batch.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_TRAINING_H
#define SOAP_TOOLS_SOAPRUN_TRAINING_H

#include "Evaluation.h"
#include "Options.h"
#include "soap/Training/Checkpoints.h"

namespace soap::run {

/// A signal has ended the training, after a checkpoint.
struct Interrupted : std::runtime_error {
  Interrupted(int signal, const std::string &what)
      : runtime_error(what), signal(signal) {}
  int signal;
};

class Training {
public:
  /// Collective.
  Training(Session &session, const Options &options);

  /// Opens the files and finds the checkpoint to go on from, on rank 0 alone.
  /// `inputs`: sources of inputs that take the same values in every step.
  void open(const std::map<std::string, std::string> &inputs);
  /// Takes over the state of the checkpoint, if there is one. Collective.
  void restore();
  /// Takes all steps. Throws Interrupted on all ranks. Collective.
  void run();
  /// Whether run() took a step, on rank 0.
  bool tookSteps() const { return tookSteps_; }
  /// What was done, on rank 0, which prints it unless `json`.
  Json report(bool json) const;

private:
  using Clock = std::chrono::steady_clock;

  /// What all ranks do next.
  enum Action : uint64_t { Step, Evaluate, Save, End, Stop };

  /// When something was done the last time.
  struct Last {
    std::optional<uint64_t> step;
    Clock::time_point time = Clock::now();
  };

  void openCheckpoints();
  void checkResumed(const training::CheckpointInfo &info) const;
  uint64_t epochs() const;
  bool isDue(const Interval &interval, const Last &last) const;

  Action next();
  void takeStep();
  void finishStep();
  void evaluate();
  void save();
  [[noreturn]] void stop(int signal);
  /// Says once that a signal to another rank than 0 changes nothing, if steps
  /// go on a second later.
  void tellOfSignal();

  Session &session_;
  const Options &options_;
  std::unique_ptr<Evaluation> evaluation_;
  std::string fingerprint_;
  std::optional<LossInfo> lossInfo_;

  // On other ranks.
  std::optional<Clock::time_point> signalled_;
  int signalledSteps_ = 0; ///< That began since.
  bool isToldOfSignal_ = false;

  // On rank 0 alone.
  std::unique_ptr<Batches> batches_;
  std::unique_ptr<training::SampleOrder> order_;
  std::unique_ptr<training::Checkpoints> checkpoints_;
  std::unique_ptr<JsonLines> log_;
  std::unique_ptr<Progress> progress_;
  std::optional<training::Checkpoint> resumed_;
  std::string resumedFile_;
  std::exception_ptr failure_; ///< Told to all ranks by the next decision.
  size_t loss_ = 0;            ///< The output.
  /// The output that counts skipped steps, of steps that scale the loss.
  std::optional<size_t> skipped_;
  uint64_t totalSteps_ = 0, steps_ = 0;
  training::Position position_; ///< Behind the steps that were taken.
  Last evaluated_, saved_;
  bool evaluationIsDue_ = false, saveIsDue_ = false, tookSteps_ = false;
  double lastLoss_ = 0, skippedSteps_ = 0;
  Json lastEvaluation_;
};

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_TRAINING_H
