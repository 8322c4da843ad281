//===- Training.cpp - Training on files of samples ------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "Report.h"
#include "Signals.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace soap;
using namespace soap::run;
using namespace soap::training;

Training::Training(Session &session, const Options &options)
    : session_(session), options_(options) {
  Json info = Json::parse(session.info());
  fingerprint_ = info.value("fingerprint", "");
  lossInfo_ = readLossInfo(info);
  if (options.training.hasEvaluation())
    evaluation_ = std::make_unique<Evaluation>(session);
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

/// The loss of a step: the output of that name, or the first one of a single
/// element.
static size_t findLoss(const Session &session) {
  size_t found = session.outputs().size();
  for (size_t i = session.outputs().size(); i-- != 0;) {
    const soap_port &port = session.outputs()[i];
    if (port.bytes != soap_element_size(port.element))
      continue;
    if (std::strcmp(port.name, "loss") == 0)
      return i;
    found = i;
  }
  if (found == session.outputs().size())
    throw UsageError("expected a step with a loss, got: no output of one "
                     "element; compile the model with soap-compile --train");
  return found;
}

void Training::open(const std::map<std::string, std::string> &inputs) {
  const TrainingOptions &o = options_.training;
  session_.needState("--data");
  loss_ = findLoss(session_);
  for (size_t i = 0; i != session_.outputs().size(); ++i)
    if (std::strcmp(session_.outputs()[i].name, "skipped_steps") == 0)
      skipped_ = i;
  auto files = readNamed("--data", o.data);
  for (const auto &[name, file] : files)
    if (inputs.count(name))
      throw UsageError("expected --data or --input for '" + name +
                       "', got: both; leave one of them out");
  batches_ = std::make_unique<Batches>(session_, files, inputs, "--data");
  if (lossInfo_)
    checkLabels(session_, *lossInfo_, batches_->data());
  const Dataset &data = batches_->data();
  if (o.dropLast && data.samples() < data.batch())
    throw UsageError("expected at least one batch of " +
                     std::to_string(data.batch()) +
                     " samples, got: " + std::to_string(data.samples()) +
                     " in " + data.placeOf(files.begin()->first) +
                     "; leave --drop-last out, or compile with a smaller "
                     "--batch");
  order_ = std::make_unique<SampleOrder>(data.samples(), data.batch(),
                                         o.shuffle, o.dropLast);
  openCheckpoints();
  if (evaluation_)
    evaluation_->open(readNamed("--eval-data", o.evalData), inputs);
  totalSteps_ = o.steps;
  if (o.epochs != 0 || o.steps == 0) {
    uint64_t all = steps_ + order_->batchesUntil(position_, epochs());
    totalSteps_ = o.steps ? std::min(o.steps, all) : all;
  }
  log_ = std::make_unique<JsonLines>(options_.log, steps_);
  batches_->begin(*order_, position_);
  if (steps_ < totalSteps_)
    batches_->readAhead();
  else
    evaluationIsDue_ = evaluation_ != nullptr;
}

/// Epochs that are begun, at most.
uint64_t Training::epochs() const {
  const TrainingOptions &o = options_.training;
  if (o.epochs != 0 || o.steps == 0)
    return std::max<uint64_t>(o.epochs, 1);
  uint64_t each = order_->batchesPerEpoch();
  return (o.steps + each - 1) / each;
}

void Training::openCheckpoints() {
  const TrainingOptions &o = options_.training;
  std::vector<std::pair<uint64_t, std::string>> there;
  if (!o.checkpoint.empty()) {
    checkpoints_ = std::make_unique<Checkpoints>(o.checkpoint, o.keep);
    checkpoints_->removeUnfinished();
    there = checkpoints_->list();
    if (o.resume.empty() && !there.empty())
      throw UsageError("expected no checkpoints in '" + o.checkpoint +
                       "', got: '" + there.back().second +
                       "'; go on from it with --resume, or choose another "
                       "folder");
  }
  if (o.resumesNewest()) {
    if (there.empty())
      return; // Nothing was lost yet.
    resumedFile_ = there.back().second;
  } else {
    resumedFile_ = o.resume;
  }
  if (resumedFile_.empty())
    return;
  try {
    resumed_ = readCheckpoint(resumedFile_);
  } catch (const UsageError &error) {
    std::string cure;
    if (o.resumesNewest() && there.size() > 1)
      cure =
          "; remove it to go on from '" + there[there.size() - 2].second + "'";
    throw UsageError(error.what() + cure);
  }
  checkResumed(resumed_->info);
  if (!there.empty() && there.back().first > resumed_->info.steps)
    throw UsageError("expected no later checkpoint in '" + o.checkpoint +
                     "' than '" + resumedFile_ + "', got: '" +
                     there.back().second +
                     "'; remove those, or choose another folder");
  steps_ = resumed_->info.steps;
  position_ = resumed_->info.position;
  saved_.step = steps_;
}

/// The same samples in the same order, or the position means something else.
void Training::checkResumed(const CheckpointInfo &info) const {
  const TrainingOptions &o = options_.training;
  auto seed = [](std::optional<uint64_t> value) {
    return value ? "--shuffle=" + std::to_string(*value)
                 : std::string("no --shuffle");
  };
  auto wrong = [&](const std::string &expected, const std::string &got) {
    throw UsageError("expected " + expected + ", as '" + resumedFile_ +
                     "' was made with, got: " + got +
                     "; --load-state takes the weights alone");
  };
  uint64_t samples = batches_->data().samples();
  if (info.samples != samples)
    wrong(std::to_string(info.samples) + " samples", std::to_string(samples));
  if (info.seed != o.shuffle)
    wrong(seed(info.seed), seed(o.shuffle));
  if (info.dropLast != o.dropLast)
    wrong(info.dropLast ? "--drop-last" : "no --drop-last",
          info.dropLast ? "none" : "--drop-last");
}

void Training::restore() {
  bool any = session_.decide([&] { return resumed_.has_value(); });
  if (!any)
    return;
  std::map<std::string, Tensor> state;
  if (resumed_)
    state = std::move(resumed_->state);
  session_.writeState(state, resumedFile_);
  if (resumed_)
    std::fprintf(stderr, "note: going on after step %llu, from '%s'%s\n",
                 static_cast<unsigned long long>(steps_), resumedFile_.c_str(),
                 resumed_->info.fingerprint == fingerprint_
                     ? ""
                     : ", which was made with another graph");
  resumed_.reset();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool Training::isDue(const Interval &interval, const Last &last) const {
  switch (interval.unit) {
  case Interval::Steps:
    return steps_ % interval.count == 0;
  case Interval::Epochs:
    return position_.offset == 0 && position_.epoch % interval.count == 0;
  case Interval::Seconds:
    return Clock::now() - last.time >= std::chrono::seconds(interval.count);
  }
  return false;
}

Training::Action Training::next() {
  if (failure_)
    std::rethrow_exception(failure_);
  if (evaluationIsDue_)
    return Evaluate;
  bool stops = checkpoints_ && receivedSignal() != 0;
  if (saveIsDue_ || (stops && saved_.step != steps_))
    return Save;
  if (stops)
    return Stop;
  return steps_ < totalSteps_ ? Step : End;
}

void Training::takeStep() {
  bool isRoot = session_.isRoot();
  if (isRoot)
    batches_->advance();
  static const std::vector<Tensor> none; // No copy: a step reads its inputs.
  session_.start(isRoot ? batches_->current().inputs : none);
  // Others wait for rank 0's devices: what fails here is told after the step.
  try {
    if (isRoot && steps_ + 1 < totalSteps_)
      batches_->readAhead();
  } catch (...) {
    failure_ = std::current_exception();
  }
  session_.wait();
  try {
    if (isRoot)
      finishStep();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Training::finishStep() {
  const TrainingOptions &o = options_.training;
  const Batches::Prepared &batch = batches_->current();
  ++steps_;
  position_ = batch.behind;
  tookSteps_ = true;
  bool last = steps_ == totalSteps_;
  evaluationIsDue_ = evaluation_ && (last || isDue(o.evalEvery, evaluated_));
  saveIsDue_ = checkpoints_ && (last || isDue(o.checkpointEvery, saved_));
  lastLoss_ = session_.output(loss_).at(0);
  if (skipped_)
    skippedSteps_ = session_.output(*skipped_).at(0);
  progress_->step(steps_, batch.epoch, lastLoss_, batch.fresh);
  Json line = {{"step", steps_}, {"epoch", batch.epoch}};
  for (size_t i = 0; i != session_.outputs().size(); ++i)
    if (const Tensor &value = session_.output(i); value.count() == 1)
      line[session_.outputs()[i].name] = value.at(0);
  line["samples_per_second"] = progress_->rate();
  log_->write(line);
}

void Training::evaluate() {
  Json metrics = evaluation_->run();
  if (!session_.isRoot())
    return;
  evaluationIsDue_ = false;
  evaluated_ = {steps_, Clock::now()};
  lastEvaluation_ = metrics;
  progress_->clear();
  if (!options_.json)
    std::printf("after step %llu: %s\n",
                static_cast<unsigned long long>(steps_),
                describeMetrics(metrics).c_str());
  std::fflush(stdout);
  if (tookSteps_)
    log_->write({{"step", steps_}, {"evaluation", std::move(metrics)}});
}

void Training::save() {
  Checkpoint checkpoint;
  checkpoint.state = session_.readState();
  if (!session_.isRoot())
    return;
  checkpoint.info = {fingerprint_,
                     steps_,
                     position_,
                     batches_->data().samples(),
                     batches_->data().batch(),
                     options_.training.shuffle,
                     options_.training.dropLast};
  saveIsDue_ = false;
  saved_ = {steps_, Clock::now()};
  // A disk that is full is told to all ranks by the next decision.
  try {
    checkpoints_->start(std::move(checkpoint));
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Training::stop(int signal) {
  std::string file;
  session_.onRoot([&] {
    progress_->clear();
    checkpoints_->finish();
    log_->close();
    file = checkpoints_->list().back().second;
  });
  throw Interrupted(signal, std::string("ended by ") +
                                (signal == SIGINT ? "SIGINT" : "SIGTERM") +
                                " after a checkpoint, '" + file +
                                "'; go on with --resume");
}

void Training::tellOfSignal() {
  if (isToldOfSignal_ || receivedSignal() == 0)
    return;
  // A launcher sends one to all ranks, and rank 0 may get it last, or save a
  // checkpoint first.
  if (!signalled_)
    signalled_ = Clock::now();
  constexpr int enoughSteps = 3;
  if (++signalledSteps_ < enoughSteps ||
      Clock::now() - *signalled_ < std::chrono::seconds(1))
    return;
  std::fprintf(stderr, "note: steps go on, since rank 0 alone takes signals; "
                       "another one ends this process at once\n");
  isToldOfSignal_ = true;
}

void Training::run() {
  if (session_.isRoot())
    progress_ = std::make_unique<Progress>(totalSteps_, steps_, epochs());
  saved_.time = evaluated_.time = Clock::now();
  std::optional<SignalCatcher> catcher;
  if (!options_.training.checkpoint.empty())
    catcher.emplace();
  for (uint64_t choice = Step; choice != End;) {
    choice = session_.decide([&]() -> uint64_t {
      Action action = next();
      return action == Stop ? Stop + static_cast<uint64_t>(receivedSignal())
                            : action;
    });
    if (choice == Step && !session_.isRoot())
      tellOfSignal();
    if (choice == Step)
      takeStep();
    else if (choice == Evaluate)
      evaluate();
    else if (choice == Save)
      save();
    else if (choice >= Stop)
      stop(static_cast<int>(choice - Stop));
  }
  session_.onRoot([&] {
    progress_->clear();
    if (checkpoints_)
      checkpoints_->finish();
    log_->close();
  });
}

Json Training::report(bool json) const {
  if (!json && tookSteps_)
    std::printf("trained to step %llu, loss %.6g, %.1f samples/s in %.1f s\n",
                static_cast<unsigned long long>(steps_), printable(lastLoss_),
                progress_->rate(), progress_->seconds());
  if (!json && tookSteps_ && skipped_)
    std::printf("%.0f steps skipped: gradients were not finite\n",
                skippedSteps_);
  Json result = {{"steps", steps_},
                 {"epochs", position_.epoch},
                 {"seconds", progress_->seconds()},
                 {"samples_per_second", progress_->rate()}};
  if (tookSteps_)
    result["loss"] = lastLoss_;
  if (tookSteps_ && skipped_)
    result["skipped_steps"] = skippedSteps_;
  if (evaluation_)
    result["evaluation"] = lastEvaluation_;
  return result;
}
