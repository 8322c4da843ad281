//===- ModelRun.cpp - What soap-run does with a model ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelRun.h"
#include "Fit.h"
#include "Report.h"
#include "soap/Tensors/Files.h"
#include "soap/Tensors/Safetensors.h"
#include "soap/Training/ModelExport.h"
#include <iostream>

using namespace soap;
using namespace soap::run;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

ModelRun::ModelRun(const Options &options) : options_(options) {
  // Files and names are checked before anything runs.
  checkInfo(options);
  checkTraining(options.training);
  sources_ = readNamed("--input", options.inputs);
  for (const std::string &text : options.outputs)
    split("--output", text);
  Loading loading = options.load;
  if (options.verify)
    verifyFirst(loading);
  session_ = std::make_unique<Session>(options.model, loading);
  session_->onRoot([&] {
    if (mistake_)
      std::rethrow_exception(mistake_);
  });
  checkRanks();
  if (options.info)
    return;
  lossInfo_ = readLossInfo(Json::parse(session_->info()));
  std::map<std::string, Tensor> state;
  session_->onRoot([&] {
    prepare();
    if (!options.saveState.empty())
      session_->needState("--save-state");
    if (!options.training.exportONNX.empty())
      session_->needState("--export-onnx");
    if (options.loadState.empty())
      return;
    session_->needState("--load-state");
    state = readSafetensors(options.loadState);
  });
  if (options.training.hasData()) {
    training_ = std::make_unique<Training>(*session_, options);
    session_->onRoot([&] { training_->open(sources_); });
    training_->restore();
  } else if (options.training.hasEvaluation()) {
    evaluation_ = std::make_unique<Evaluation>(*session_);
    session_->onRoot([&] {
      evaluation_->open(readNamed("--eval-data", options.training.evalData),
                        sources_);
    });
  }
  if (!options.loadState.empty())
    session_->writeState(state, options.loadState);
}

void ModelRun::verifyFirst(Loading &loading) {
  verification_ =
      std::make_unique<Verification>(options_.tolerance, loading.program);
  loading.observe = Verification::show;
  loading.user = verification_.get();
  // The other ranks wait for rank 0 meanwhile; heartbeats tell them that it is
  // alive.
  join(loading);
  try {
    if (loading.isRoot())
      verification_->runReference(options_.model, sources_);
  } catch (...) {
    mistake_ = std::current_exception();
  }
}

void ModelRun::checkRanks() {
  Json mine = {options_.verify,
               options_.info,
               options_.load.program,
               options_.loadState,
               options_.saveState,
               options_.training.exportONNX,
               options_.training.hasData(),
               options_.training.hasEvaluation(),
               options_.warmup,
               std::max<size_t>(options_.iterations, 1),
               !options_.trace.empty(),
               options_.fit,
               !options_.profile.empty()};
  std::string text = mine.dump();
  const void *const *all = nullptr;
  const size_t *sizes = nullptr;
  size_t count = 0;
  require(soap_model_gather(session_->get(), text.data(), text.size(), &all,
                            &sizes, &count));
  session_->onRoot([&] {
    for (size_t rank = 0; rank != count; ++rank)
      if (text !=
          std::string(static_cast<const char *>(all[rank]), sizes[rank]))
        throw UsageError("expected the same options on all ranks, got: others "
                         "on rank " +
                         std::to_string(rank) +
                         " than on rank 0; start all ranks with one command");
  });
}

/// Files and their outputs.
static std::vector<std::pair<std::string, Tensor>>
readExpected(const Options &options, const Session &session) {
  std::vector<std::pair<std::string, Tensor>> expected;
  for (const std::string &text : options.expected) {
    auto [name, file] = split("--expected", text);
    const soap_port &port = session.outputs()[session.findOutput(name)];
    Tensor tensor = readTensor(file);
    if (typeOf(tensor) != typeOf(port))
      throw UsageError("expected " + typeOf(port) + " for output '" + name +
                       "' in '" + file + "', got: " + typeOf(tensor) +
                       "; convert the file, or compile the model for it");
    expected.emplace_back(name, std::move(tensor));
  }
  return expected;
}

void ModelRun::prepare() {
  checkWrittenFiles(options_);
  expected_ = readExpected(options_, *session_);
  for (const std::string &text : options_.outputs)
    session_->findOutput(split("--output", text).first);
  for (const std::string &text : options_.prints)
    findPrinted(text, *session_);
  if (!options_.training.hasData() && !options_.training.hasEvaluation()) {
    session_->setInputs(sources_);
    if (lossInfo_)
      checkLabels(*session_, *lossInfo_, sources_);
  }
  if (!options_.other.empty())
    loadOther();
}

void ModelRun::loadOther() {
  // The other model runs in this process alone.
  Loading here = options_.load;
  here.transport = SOAP_TRANSPORT_LOCAL;
  here.map.clear();
  // A model for inference has one program, by another name.
  here.takesOnly = true;
  other_ = std::make_unique<Session>(options_.other, here);
  other_->setInputs(*session_);
  for (const soap_port &port : other_->outputs())
    session_->findOutput(port.name);
}

void ModelRun::printInfo() {
  Json info = Json::parse(session_->info());
  if (!session_->isRoot())
    return;
  if (options_.json)
    std::cout << info.dump(2) << "\n";
  else
    run::printInfo(info);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void ModelRun::repeatSteps() {
  std::unique_ptr<StepLog> log;
  session_->onRoot(
      [&] { log = std::make_unique<StepLog>(*session_, options_.log); });
  // A full disk is told to all ranks after the last step.
  std::exception_ptr logError;
  size_t iterations = std::max<size_t>(options_.iterations, 1);
  times_ = measure(*session_, options_.warmup, iterations, [&] {
    try {
      if (log && !logError)
        log->write();
    } catch (...) {
      logError = std::current_exception();
    }
  });
  session_->onRoot([&] {
    if (logError)
      std::rethrow_exception(logError);
    log->close();
  });
}

void ModelRun::evaluate() {
  Json metrics = evaluation_->run();
  if (session_->isRoot() && !options_.json)
    std::printf("%s\n", describeMetrics(metrics).c_str());
  evaluated_ = std::move(metrics);
}

bool ModelRun::run() {
  if (verification_) {
    session_->step();
    verification_->finish(*session_);
  }
  if (training_)
    training_->run();
  else if (evaluation_)
    evaluate();
  else
    repeatSteps();
  const TrainingOptions &training = options_.training;
  if (!options_.saveState.empty() || !training.exportONNX.empty()) {
    std::map<std::string, Tensor> state = session_->readState();
    session_->onRoot([&] {
      if (!options_.saveState.empty())
        writeSafetensors(options_.saveState, state);
      if (!training.exportONNX.empty())
        soap::training::exportModel(training.model, state, training.exportONNX);
    });
  }
  report_ = {{"model", options_.model},
             {"devices", soap_model_device_count(session_->get())}};
  report_["processes"] = processesOf(*session_);
  if (session_->isRoot() && training_)
    report_["training"] = training_->report(options_.json);
  else if (session_->isRoot() && !evaluation_)
    report_["step"] = printTimes("step", times_, session_->batch(),
                                 options_.json || options_.iterations == 0);
  if (session_->isRoot() && evaluation_)
    report_["evaluation"] = evaluated_;
  report_["movements"] = movementsOf(*session_);
  if (!options_.trace.empty())
    writeTrace(*session_, options_.trace);
  if (!options_.profile.empty())
    writeProfile(*session_, std::max<size_t>(options_.iterations, 5),
                 options_.profile);
  if (options_.fit)
    report_["fit"] = printFit(
        measureFit(*session_, std::max<size_t>(options_.iterations, 5)),
        options_.json);
  bool equal = true;
  session_->onRoot([&] { equal = reportOutputs(); });
  // All processes end with the same exit code.
  soap_status all =
      soap_model_agree(session_->get(), equal ? SOAP_OK : SOAP_FAILED);
  if (equal)
    require(all);
  return equal;
}

bool ModelRun::compareWithOther() {
  StepTimes otherTimes = measure(*other_, options_.warmup,
                                 std::max<size_t>(options_.iterations, 1));
  Json compared = {{"model", options_.other},
                   {"devices", soap_model_device_count(other_->get())}};
  compared["step"] = printTimes("other", otherTimes, other_->batch(),
                                options_.json || options_.iterations == 0);
  bool equal = true;
  for (const soap_port &port : other_->outputs()) {
    Comparison c = compare(port.name, session_->output(port.name),
                           other_->output(port.name), options_.tolerance);
    equal &= c.equal;
    compared["outputs"].push_back(printComparison("compare", c, options_.json));
  }
  report_["compare"] = std::move(compared);
  return equal;
}

bool ModelRun::reportOutputs() {
  bool equal = true;
  if (verification_) {
    equal = verification_->equal();
    report_["verify"] = verification_->report(options_.json);
  }
  if (training_ && !training_->tookSteps()) {
    if (!options_.prints.empty() || !options_.outputs.empty())
      std::fprintf(stderr, "note: all steps were done before, so that outputs "
                           "of the model have no values\n");
    return reportEnd(equal);
  }
  for (const std::string &text : options_.prints)
    report_["outputs"].push_back(printTensor(text, *session_, options_.json));
  for (const std::string &text : options_.outputs) {
    auto [name, file] = split("--output", text);
    writeNpy(file, session_->output(name));
  }
  for (const auto &[name, tensor] : expected_) {
    Comparison c =
        compare(name, session_->output(name), tensor, options_.tolerance);
    equal &= c.equal;
    report_["expected"].push_back(
        printComparison("expected", c, options_.json));
  }
  if (other_)
    equal &= compareWithOther();
  return reportEnd(equal);
}

bool ModelRun::reportEnd(bool equal) {
  report_["equal"] = equal;
  if (options_.json)
    std::cout << report_.dump(2, ' ', /*ensure_ascii=*/false,
                              Json::error_handler_t::replace)
              << "\n";
  else if (!training_ && !evaluation_ && options_.iterations == 0 &&
           options_.prints.empty() && expected_.empty() && !other_ &&
           !verification_ && !options_.fit)
    std::printf("ran one step in %.3f ms on %zu device(s)\n",
                static_cast<double>(times_.median) / 1e6,
                soap_model_device_count(session_->get()));
  return equal;
}
