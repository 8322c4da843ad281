//===- Measure.cpp - Times, traces, profiles, counters --------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measure.h"
#include "soap/Tensors/Files.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <unistd.h>

using namespace soap;
using namespace soap::run;

template <typename T>
static T median(std::vector<T> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

StepLog::StepLog(Session &session, const std::string &path)
    : session_(session), path_(session.isRoot() ? path : "") {
  if (path_.empty())
    return;
  file_.open(path_);
  check();
}

void StepLog::check() {
  if (!file_)
    throw RunError("expected to write '" + path_ +
                   "', got: " + std::strerror(errno ? errno : EIO));
}

void StepLog::write() {
  if (path_.empty())
    return;
  Json line = {{"step", ++step_}};
  for (const soap_port &port : session_.outputs())
    if (const Tensor &value = session_.output(port.name); value.count() == 1)
      line[port.name] = value.at(0);
  errno = 0;
  // A reader sees every step at once.
  file_ << line.dump(-1, ' ', /*ensure_ascii=*/false,
                     Json::error_handler_t::replace)
        << std::endl;
  check();
}

void StepLog::close() {
  if (path_.empty())
    return;
  errno = 0;
  file_.close();
  check();
}

StepTimes run::measure(Session &session, size_t warmup, size_t iterations,
                       const std::function<void()> &ended) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds firstLine(5), nextLines(10);
  bool terminal = session.isRoot() && isatty(STDERR_FILENO);
  auto next = Clock::now() + firstLine;
  uint64_t spent = 0;
  std::vector<uint64_t> times;
  for (size_t i = 0; i != warmup + iterations; ++i) {
    uint64_t time = session.step();
    if (ended)
      ended();
    spent += time;
    if (i >= warmup)
      times.push_back(time);
    if (terminal && spent > 1000000000u)
      std::fprintf(stderr, "\rstep %zu of %zu", i + 1, warmup + iterations);
    if (!terminal && session.isRoot() && Clock::now() >= next) {
      std::fprintf(stderr, "step %zu of %zu\n", i + 1, warmup + iterations);
      next = Clock::now() + nextLines;
    }
  }
  if (terminal && spent > 1000000000u)
    std::fprintf(stderr, "\r\033[K");
  StepTimes result;
  result.iterations = iterations;
  result.median = median(times);
  result.min = *std::min_element(times.begin(), times.end());
  result.max = *std::max_element(times.begin(), times.end());
  return result;
}

static const char *phaseName(soap_phase phase) {
  return phase == SOAP_FEED ? "feed" : phase == SOAP_DRAIN ? "drain" : "step";
}

Json run::movementsOf(Session &session) {
  const soap_movement *list = nullptr;
  size_t count = 0;
  require(soap_model_movements(session.get(), &list, &count));
  Json result = Json::array();
  for (size_t i = 0; i != count; ++i) {
    const soap_movement &m = list[i];
    result.push_back(
        {{"kind", soap_movement_kind_name(m.kind)},
         {"phase", phaseName(m.phase)},
         {"devices",
          std::vector<int32_t>(m.devices, m.devices + m.device_count)},
         {"bytes", std::vector<int64_t>(m.bytes, m.bytes + m.byte_count)},
         {"name", m.name}});
  }
  return result;
}

Json run::processesOf(Session &session) {
  const soap_process *list = nullptr;
  size_t count = 0;
  require(soap_model_processes(session.get(), &list, &count));
  Json result = Json::array();
  for (size_t i = 0; i != count; ++i) {
    const soap_process &p = list[i];
    result.push_back({{"rank", i},
                      {"host", p.host},
                      {"pid", p.pid},
                      {"devices", std::vector<uint32_t>(
                                      p.devices, p.devices + p.device_count)},
                      {"arena_bytes", p.arena_bytes},
                      {"resident_bytes", p.resident_bytes},
                      {"rows_run", p.rows_run}});
  }
  return result;
}

static void writeJson(const std::string &path, const Json &json) {
  writeFile(path, [&](std::ostream &file) {
    file << json.dump(1, ' ', /*ensure_ascii=*/false,
                      Json::error_handler_t::replace)
         << '\n';
  });
}

std::vector<soap_event> run::tracedStep(Session &session) {
  require(soap_model_set_tracing(session.get(), 1));
  session.step();
  const soap_event *events = nullptr;
  size_t count = 0;
  require(soap_model_events(session.get(), &events, &count));
  std::vector<soap_event> result(events, events + count);
  require(soap_model_set_tracing(session.get(), 0));
  return result;
}

static const char *nameOfStream(uint32_t stream) {
  static constexpr const char *names[] = {"compute", "communication",
                                          "priority communication"};
  return stream < std::size(names) ? names[stream] : "unknown";
}

/// Adds rows to a list of trace events: the processes of devices have numbers
/// from `first` on. Simulated rows are a category of their own.
static void addEvents(Json &events, const soap_event *rows, size_t count,
                      uint32_t first, bool isSimulated) {
  std::string what = isSimulated ? "simulated device" : "device";
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  for (size_t i = 0; i != count; ++i) {
    const soap_event &e = rows[i];
    tracks.insert({e.device, e.stream});
    Json arguments = {{"kind", e.kind}, {"phase", phaseName(e.phase)}};
    if (e.kernel)
      arguments["kernel"] = e.kernel;
    if (e.task >= 0)
      arguments["task"] = e.task;
    if (e.bytes)
      arguments["bytes"] = e.bytes;
    events.push_back(
        {{"name", e.name},
         {"cat", isSimulated ? "simulated" : e.kind},
         {"ph", "X"},
         {"pid", first + e.device},
         {"tid", e.stream},
         {"ts", static_cast<double>(e.start_ns) / 1000},
         {"dur", static_cast<double>(e.end_ns - e.start_ns) / 1000},
         {"args", std::move(arguments)}});
  }
  for (auto [device, stream] : tracks) {
    Json process = {{"name", what + " " + std::to_string(device)}};
    Json thread = {{"name", nameOfStream(stream)}};
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", first + device},
                      {"args", process}});
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", first + device},
                      {"tid", stream},
                      {"args", thread}});
  }
}

void run::writeTrace(Session &session, const std::string &path) {
  Json events = Json::array();
  std::vector<soap_event> rows = tracedStep(session);
  addEvents(events, rows.data(), rows.size(), 0, /*isSimulated=*/false);
  const soap_event *simulated = nullptr;
  size_t count = 0;
  require(soap_program_simulation(session.get(), session.program(), &simulated,
                                  &count));
  addEvents(events, simulated, count,
            static_cast<uint32_t>(soap_model_device_count(session.get())),
            /*isSimulated=*/true);
  session.onRoot([&] {
    writeJson(path, {{"displayTimeUnit", "ms"}, {"traceEvents", events}});
  });
}

void run::writeProfile(Session &session, size_t iterations,
                       const std::string &path) {
  std::map<std::string, std::vector<int64_t>> times;
  for (size_t i = 0; i != iterations; ++i)
    for (const soap_event &e : tracedStep(session))
      if (e.kernel)
        times[e.kernel].push_back(e.end_ns - e.start_ns);
  Json entries = Json::array();
  for (auto &[key, samples] : times)
    entries.push_back({{"key", key}, {"ns", median(samples)}});
  Json info = Json::parse(session.info());
  session.onRoot([&] {
    writeJson(path, {{"format", "soap-costs"},
                     {"device_kind", info["target"]},
                     {"entries", std::move(entries)}});
  });
}
