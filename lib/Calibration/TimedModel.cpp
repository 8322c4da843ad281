//===- TimedModel.cpp - Run a compiled model and time it ------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "soap/Calibration/TimedModel.h"
#include "soap/CostModel/KernelTable.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Tensors/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <numeric>

using namespace soap;
using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

double TimeSummary::spread() const {
  return ns > 0 ? static_cast<double>(high - low) / 2 / static_cast<double>(ns)
                : 0;
}

TimeSummary soap::summarize(std::vector<int64_t> times) {
  assert(!times.empty() && "the middle of something");
  llvm::sort(times);
  size_t count = times.size(), cut = count / 4;
  llvm::ArrayRef<int64_t> middle =
      llvm::ArrayRef(times).slice(cut, count - 2 * cut);
  auto sum = std::accumulate(middle.begin(), middle.end(), 0.0);
  double mean = sum / static_cast<double>(middle.size());
  auto rounded = static_cast<int64_t>(std::llround(mean));
  constexpr size_t fewTimes = 8;
  if (count < fewTimes)
    return {rounded, times.front(), times.back(), count};
  // The variance of all times, with those that are cut at the ends of the
  // middle.
  double all = sum + static_cast<double>(cut) *
                         static_cast<double>(middle.front() + middle.back());
  double center = all / static_cast<double>(count), squares = 0;
  auto add = [&](int64_t time, size_t weight) {
    squares += static_cast<double>(weight) *
               std::pow(static_cast<double>(time) - center, 2);
  };
  for (int64_t time : middle)
    add(time, 1);
  add(middle.front(), cut);
  add(middle.back(), cut);
  double error = std::sqrt(squares / static_cast<double>(count - 1) *
                           static_cast<double>(count)) /
                 static_cast<double>(middle.size());
  // Student's quantile of 97.5% by the first terms of its expansion.
  auto freedom = static_cast<double>(middle.size() - 1);
  double half = (1.96 + 2.4 / freedom + 3.2 / (freedom * freedom)) * error;
  return {rounded, static_cast<int64_t>(std::llround(mean - half)),
          static_cast<int64_t>(std::llround(mean + half)), count};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

struct TimedModel::Inputs {
  std::vector<tensors::Tensor> tensors;
  std::vector<const void *> pointers;
};

TimedModel::TimedModel(soap_model *model, std::unique_ptr<Inputs> inputs)
    : model_(model), inputs_(std::move(inputs)) {}

TimedModel::~TimedModel() { soap_model_release(model_); }

static llvm::Error lastError() {
  return llvm::createStringError(llvm::Twine(soap_last_error()));
}

llvm::Expected<std::unique_ptr<TimedModel>>
TimedModel::load(llvm::StringRef path, const TimedRun &how) {
  soap_load_options options{};
  options.size = sizeof(options);
  options.transport = SOAP_TRANSPORT_LOCAL;
  options.cores_per_device = static_cast<uint32_t>(how.coresPerDevice);
  // What is measured is no concern of the user's.
  options.warning = [](const char *, void *) {};
  if (how.link) {
    options.link_bandwidth = how.link->bandwidth;
    options.link_latency_ns = how.link->latencyNs;
  }
  soap_model *model = nullptr;
  if (soap_model_load(path.str().c_str(), &options, &model) != SOAP_OK)
    return lastError();
  auto inputs = std::make_unique<Inputs>();
  for (size_t i = 0; i != soap_model_input_count(model); ++i) {
    soap_port port;
    if (soap_model_input(model, i, &port) != SOAP_OK) {
      llvm::Error error = lastError();
      soap_model_release(model);
      return std::move(error);
    }
    inputs->tensors.push_back(tensors::makeInput(port, "random:0"));
  }
  for (const tensors::Tensor &tensor : inputs->tensors)
    inputs->pointers.push_back(tensor.bytes.data());
  return std::unique_ptr<TimedModel>(new TimedModel(model, std::move(inputs)));
}

llvm::Expected<int64_t> TimedModel::step() {
  std::vector<void *> outputs(soap_model_output_count(model_), nullptr);
  if (soap_model_run(model_, inputs_->pointers.data(), outputs.data()) !=
      SOAP_OK)
    return lastError();
  return static_cast<int64_t>(soap_model_step_ns(model_));
}

llvm::Error TimedModel::setTracing(bool enabled) {
  return soap_model_set_tracing(model_, enabled) == SOAP_OK
             ? llvm::Error::success()
             : lastError();
}

llvm::Expected<int> TimedModel::takeTurn(Times &times, double seconds,
                                         bool isDisturbed) {
  // Long steps leave caches as they find them.
  constexpr int64_t longStepNs = 50'000'000;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  int counted = 0;
  while (counted == 0 || Clock::now() < end) {
    llvm::Expected<int64_t> ns = step();
    if (!ns)
      return ns.takeError();
    const soap_event *events = nullptr;
    size_t count = 0;
    if (soap_model_events(model_, &events, &count) != SOAP_OK)
      return lastError();
    bool counts = !isDisturbed || *ns >= longStepNs;
    isDisturbed = false;
    if (!counts)
      continue;
    ++counted;
    for (const soap_event &event : llvm::ArrayRef(events, count))
      if (event.kernel)
        times[{event.device, firstOfJoined(event.kernel).str()}].push_back(
            event.end_ns - event.start_ns);
  }
  return counted;
}

static KernelTimes
summarizeAll(std::map<KernelTimes::key_type, std::vector<int64_t>> &&times) {
  KernelTimes result;
  for (auto &[kernel, list] : times)
    result[kernel] = summarize(std::move(list));
  return result;
}

llvm::Expected<TimedModel::Measurement>
TimedModel::timeKernels(const llvm::StringSet<> &wanted, double spread,
                        double seconds, TimedModel *reference) {
  // Long steps vary less. The machine's speed changes within seconds.
  constexpr int leastSteps = 5, fewestSteps = 3;
  constexpr double turnSeconds = 0.2;
  auto trace = [&](bool enabled) {
    llvm::Error errors = llvm::Error::success();
    for (TimedModel *model : {this, reference})
      if (model)
        errors =
            llvm::joinErrors(std::move(errors), model->setTracing(enabled));
    return errors;
  };
  // Also behind an error: a reference runs beside other models, too.
  auto stop = llvm::make_scope_exit([&] { llvm::consumeError(trace(false)); });
  if (llvm::Error error = trace(true))
    return std::move(error);
  Times times, others;
  auto isKnown = [&] {
    return llvm::all_of(times, [&](const auto &entry) {
      return (!wanted.empty() && !wanted.contains(entry.first.second)) ||
             summarize(entry.second).spread() <= spread;
    });
  };
  // The first step touches the memory.
  if (llvm::Expected<int64_t> ns = step(); !ns)
    return ns.takeError();
  double own = 0; // Seconds.
  for (int counted = 0; counted < (own >= seconds ? fewestSteps : leastSteps) ||
                        (own < seconds && !isKnown());) {
    if (reference)
      if (llvm::Expected<int> steps =
              reference->takeTurn(others, turnSeconds, true);
          !steps)
        return steps.takeError();
    auto begun = Clock::now();
    llvm::Expected<int> steps =
        takeTurn(times, reference ? turnSeconds : 0, reference || counted == 0);
    if (!steps)
      return steps.takeError();
    counted += *steps;
    own += std::chrono::duration<double>(Clock::now() - begun).count();
  }
  return Measurement{summarizeAll(std::move(times)),
                     summarizeAll(std::move(others))};
}
