//===- Fit.cpp - Simulated and measured steps side by side ----------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

using namespace soap;
using namespace soap::run;

namespace {
/// What one step took, summed over devices.
struct StepSums {
  std::map<std::string, double> nodes;
  double copies = 0, transfers = 0, busy = 0, step = 0;

  void add(const soap_event &event) {
    if (event.phase != SOAP_STEP)
      return;
    auto ns = static_cast<double>(event.end_ns - event.start_ns);
    step = std::max(step, static_cast<double>(event.end_ns));
    if (event.stream != 0) {
      transfers += ns;
      return;
    }
    busy += ns;
    if (std::strcmp(event.kind, "launch") == 0)
      nodes[event.name] += ns;
    else
      copies += ns;
  }
};
} // namespace

static double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of what each of the steps says; `of` is told a step.
template <typename Of>
static double medianOf(const std::vector<StepSums> &steps, Of of) {
  std::vector<double> values;
  for (const StepSums &step : steps)
    values.push_back(of(step));
  return median(std::move(values));
}

static StepSums simulatedSums(Session &session, size_t program) {
  const soap_event *events = nullptr;
  size_t count = 0;
  require(soap_program_simulation(session.get(), program, &events, &count));
  if (count == 0)
    throw UsageError("expected a model that knows its simulated step with "
                     "--fit, got: none; compile it from a model without tasks");
  StepSums sums;
  for (size_t i = 0; i != count; ++i)
    sums.add(events[i]);
  return sums;
}

std::vector<FitRow> run::measureFit(Session &session, size_t iterations) {
  StepSums simulated = simulatedSums(session, session.program());
  Json info = Json::parse(session.info());
  if (info["processes"].size() > 1)
    throw UsageError("expected one process with --fit, got: " +
                     std::to_string(info["processes"].size()) +
                     "; times of processes have no common start");
  std::vector<StepSums> steps(iterations);
  for (StepSums &sums : steps) {
    for (const soap_event &event : tracedStep(session))
      sums.add(event);
    sums.step = static_cast<double>(soap_model_step_ns(session.get()));
  }
  auto devices = static_cast<double>(soap_model_device_count(session.get()));
  std::vector<FitRow> rows;
  std::map<std::string, double> names = simulated.nodes;
  for (const StepSums &step : steps)
    names.insert(step.nodes.begin(), step.nodes.end());
  for (const auto &[key, ignored] : names) {
    const std::string &name = key;
    auto of = [&](const StepSums &step) {
      auto found = step.nodes.find(name);
      return found == step.nodes.end() ? 0 : found->second / devices;
    };
    rows.push_back({name, of(simulated), medianOf(steps, of)});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const FitRow &a, const FitRow &b) {
                     return std::abs(a.measuredNs - a.simulatedNs) >
                            std::abs(b.measuredNs - b.simulatedNs);
                   });
  auto add = [&](const char *name, auto of) {
    rows.push_back({name, of(simulated), medianOf(steps, of), false});
  };
  add("copies", [&](const StepSums &s) { return s.copies / devices; });
  add("waits", [&](const StepSums &s) { return s.step - s.busy / devices; });
  add("step", [&](const StepSums &s) { return s.step; });
  add("transfers", [&](const StepSums &s) { return s.transfers / devices; });
  return rows;
}

Json run::printFit(const std::vector<FitRow> &rows, bool json) {
  constexpr size_t shownNodes = 20;
  double step = 0;
  for (const FitRow &row : rows)
    if (!row.isNode && row.name == "step")
      step = row.measuredNs;
  Json result = Json::array();
  if (!json)
    std::printf("%12s %12s %8s %7s  %s\n", "simulated ms", "measured ms",
                "error", "share", "node");
  size_t node = 0, left = 0;
  double leftSimulated = 0, leftMeasured = 0;
  auto print = [&](double simulated, double measured, const char *name) {
    std::string error = "-";
    if (measured > 0) {
      char text[32];
      std::snprintf(text, sizeof(text), "%+.0f%%",
                    100 * (simulated / measured - 1));
      error = text;
    }
    std::printf("%12.3f %12.3f %8s %6.1f%%  %s\n", simulated / 1e6,
                measured / 1e6, error.c_str(),
                step > 0 ? 100 * measured / step : 0, name);
  };
  for (const FitRow &row : rows) {
    result.push_back({{"name", row.name},
                      {"node", row.isNode},
                      {"simulated_ns", row.simulatedNs},
                      {"measured_ns", row.measuredNs},
                      {"share", step > 0 ? row.measuredNs / step : 0}});
    if (json)
      continue;
    if (row.isNode && ++node > shownNodes) {
      ++left;
      leftSimulated += row.simulatedNs;
      leftMeasured += row.measuredNs;
      continue;
    }
    if (!row.isNode && left > 0) {
      print(leftSimulated, leftMeasured,
            (std::to_string(left) + " more").c_str());
      left = 0;
    }
    print(row.simulatedNs, row.measuredNs,
          row.isNode ? row.name.c_str() : ("(" + row.name + ")").c_str());
  }
  return result;
}
