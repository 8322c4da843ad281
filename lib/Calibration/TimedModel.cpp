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
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>

using namespace soap;

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

double TimeSummary::spread() const {
  return ns > 0 ? static_cast<double>(high - low) / 2 / static_cast<double>(ns)
                : 0;
}

TimeSummary soap::summarize(std::vector<int64_t> times) {
  assert(!times.empty() && "a median of something");
  llvm::sort(times);
  auto count = static_cast<double>(times.size());
  // The ranks of the interval by the normal approximation of the binomial
  // distribution; few times have their ends.
  double half = 0.98 * std::sqrt(count);
  auto at = [&](double rank) {
    return times[static_cast<size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  return {times[(times.size() - 1) / 2], at(std::floor(count / 2 - half)),
          at(std::ceil(count / 2 + half) - 1), times.size()};
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

llvm::Expected<std::map<std::string, TimeSummary>>
TimedModel::timeKernels(const llvm::StringSet<> &wanted, double spread,
                        double seconds) {
  using Clock = std::chrono::steady_clock;
  // Long steps leave caches as they find them, and vary less.
  constexpr int warmup = 2, leastSteps = 5, fewestSteps = 3;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  if (soap_model_set_tracing(model_, 1) != SOAP_OK)
    return lastError();
  std::map<std::string, std::vector<int64_t>> times;
  auto isKnown = [&] {
    return llvm::all_of(times, [&](const auto &entry) {
      return (!wanted.empty() && !wanted.contains(entry.first)) ||
             summarize(entry.second).spread() <= spread;
    });
  };
  bool isOver = false;
  for (int step = 0, counted = 0;
       counted < (isOver ? fewestSteps : leastSteps) || (!isOver && !isKnown());
       ++step) {
    if (llvm::Expected<int64_t> ns = this->step(); !ns)
      return ns.takeError();
    isOver = Clock::now() >= end;
    const soap_event *events = nullptr;
    size_t count = 0;
    if (soap_model_events(model_, &events, &count) != SOAP_OK)
      return lastError();
    if (step == 0 || (step < warmup && !isOver))
      continue;
    ++counted;
    for (const soap_event &event : llvm::ArrayRef(events, count))
      if (event.kernel)
        times[firstOfJoined(event.kernel).str()].push_back(event.end_ns -
                                                           event.start_ns);
  }
  if (soap_model_set_tracing(model_, 0) != SOAP_OK)
    return lastError();
  std::map<std::string, TimeSummary> result;
  for (auto &[key, list] : times)
    result[key] = summarize(std::move(list));
  return result;
}
