//===- ModelRun.cpp - What soap-run does with a model ---------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelRun.h"
#include "Report.h"
#include "soap/Tensors/Files.h"
#include <iostream>

using namespace soap;
using namespace soap::run;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

ModelRun::ModelRun(const Options &options) : options(options) {
  // Files and names are checked before anything runs.
  checkInfo(options);
  sources = readSources(options);
  for (const std::string &text : options.outputs)
    split("--output", text);
  Loading loading = options.load;
  if (options.verify)
    verifyFirst(loading);
  session = std::make_unique<Session>(options.model, loading);
  session->onRoot([&] {
    if (mistake)
      std::rethrow_exception(mistake);
  });
  checkRanks();
  if (!options.info)
    session->onRoot([&] { prepare(); });
}

void ModelRun::verifyFirst(Loading &loading) {
  verification = std::make_unique<Verification>(options.tolerance);
  loading.observe = Verification::show;
  loading.user = verification.get();
  // The others wait for rank 0 meanwhile, and know that it lives.
  join(loading);
  try {
    if (loading.isRoot())
      verification->runReference(options.model, sources);
  } catch (...) {
    mistake = std::current_exception();
  }
}

void ModelRun::checkRanks() {
  Json mine = {options.verify,         options.info,
               options.warmup,         std::max<size_t>(options.iterations, 1),
               !options.trace.empty(), !options.profile.empty()};
  std::string text = mine.dump();
  const void *const *all = nullptr;
  const size_t *sizes = nullptr;
  size_t count = 0;
  require(soap_model_gather(session->get(), text.data(), text.size(), &all,
                            &sizes, &count));
  session->onRoot([&] {
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
  checkFolders(options);
  expected = readExpected(options, *session);
  for (const std::string &text : options.outputs)
    session->findOutput(split("--output", text).first);
  for (const std::string &text : options.prints)
    findPrinted(text, *session);
  session->setInputs(sources);
  if (!options.other.empty())
    loadOther();
}

void ModelRun::loadOther() {
  // The other model runs in this process alone.
  Loading here = options.load;
  here.transport = SOAP_TRANSPORT_LOCAL;
  here.map.clear();
  other = std::make_unique<Session>(options.other, here);
  other->setInputs(*session);
  for (const soap_port &port : other->outputs())
    session->findOutput(port.name);
}

void ModelRun::printInfo() {
  Json info = Json::parse(session->info());
  if (!session->isRoot())
    return;
  if (options.json)
    std::cout << info.dump(2) << "\n";
  else
    run::printInfo(info);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool ModelRun::run() {
  if (verification) {
    session->step();
    verification->finish(*session);
  }
  size_t iterations = std::max<size_t>(options.iterations, 1);
  times = measure(*session, options.warmup, iterations);
  report = {{"model", options.model},
            {"devices", soap_model_device_count(session->get())}};
  report["processes"] = processesOf(*session);
  if (session->isRoot())
    report["step"] = printTimes("step", times, session->batch(),
                                options.json || options.iterations == 0);
  report["movements"] = movementsOf(*session);
  if (!options.trace.empty())
    writeTrace(*session, options.trace);
  if (!options.profile.empty())
    writeProfile(*session, std::max<size_t>(iterations, 5), options.profile);
  bool equal = true;
  session->onRoot([&] { equal = reportOutputs(); });
  // All processes end alike.
  soap_status all =
      soap_model_agree(session->get(), equal ? SOAP_OK : SOAP_FAILED);
  if (equal)
    require(all);
  return equal;
}

bool ModelRun::compareWithOther() {
  StepTimes otherTimes =
      measure(*other, options.warmup, std::max<size_t>(options.iterations, 1));
  Json compared = {{"model", options.other},
                   {"devices", soap_model_device_count(other->get())}};
  compared["step"] = printTimes("other", otherTimes, other->batch(),
                                options.json || options.iterations == 0);
  bool equal = true;
  for (const soap_port &port : other->outputs()) {
    Comparison c = compare(port.name, session->output(port.name),
                           other->output(port.name), options.tolerance);
    equal &= c.equal;
    compared["outputs"].push_back(printComparison("compare", c, options.json));
  }
  report["compare"] = std::move(compared);
  return equal;
}

bool ModelRun::reportOutputs() {
  bool equal = true;
  if (verification) {
    equal = verification->equal();
    report["verify"] = verification->report(options.json);
  }
  for (const std::string &text : options.prints)
    report["outputs"].push_back(printTensor(text, *session, options.json));
  for (const std::string &text : options.outputs) {
    auto [name, file] = split("--output", text);
    writeNpy(file, session->output(name));
  }
  for (const auto &[name, tensor] : expected) {
    Comparison c =
        compare(name, session->output(name), tensor, options.tolerance);
    equal &= c.equal;
    report["expected"].push_back(printComparison("expected", c, options.json));
  }
  if (other)
    equal &= compareWithOther();
  report["equal"] = equal;
  if (options.json)
    std::cout << report.dump(2, ' ', false, Json::error_handler_t::replace)
              << "\n";
  else if (options.iterations == 0 && options.prints.empty() &&
           expected.empty() && !other && !verification)
    std::printf("ran one step in %.3f ms on %zu device(s)\n",
                static_cast<double>(times.median) / 1e6,
                soap_model_device_count(session->get()));
  return equal;
}
