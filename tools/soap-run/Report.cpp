//===- Report.cpp - What soap-run prints ----------------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <numeric>

using namespace soap;
using namespace soap::run;

/// "1.5 KiB"
static std::string sizeOf(const Json &bytes) {
  double kibibytes = bytes.get<double>() / 1024;
  char text[32];
  if (kibibytes < 1024)
    std::snprintf(text, sizeof(text), "%.1f KiB", kibibytes);
  else
    std::snprintf(text, sizeof(text), "%.1f MiB", kibibytes / 1024);
  return text;
}

static void printPorts(const Json &program) {
  for (const char *ports : {"inputs", "outputs"})
    for (const Json &port : program[ports]) {
      std::cout << (ports[0] == 'i' ? "input        " : "output       ")
                << port["name"].get<std::string>() << ": "
                << port["element"].get<std::string>() << " "
                << port["shape"].dump();
      if (port.contains("index_bound"))
        std::cout << " in [0, " << port["index_bound"] << ")";
      std::cout << "\n";
    }
}

double run::printable(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

void run::printInfo(const Json &info) {
  auto text = [&](const char *key) { return info[key].get<std::string>(); };
  std::cout << "model        " << text("name") << "\nfingerprint  "
            << text("fingerprint") << "\ncompiler     " << text("compiler")
            << "\nruntime      " << text("runtime") << " (ABI " << info["abi"]
            << ")";
  for (const Json &library : info["libraries"])
    std::cout << ", " << library.get<std::string>();
  std::cout << "\n";
  for (const Json &program : info["programs"]) {
    if (info["programs"].size() > 1)
      std::cout << "program      " << program["name"].get<std::string>()
                << "\n";
    printPorts(program);
  }
  if (const Json &training = info["training"]; training.is_object())
    std::cout << "training     " << training.value("optimizer", "") << ", "
              << training.value("loss", "") << "\n";
  bool several = info["processes"].size() > 1;
  for (const Json &process : info["processes"])
    if (several)
      std::cout << "rank " << process["rank"] << "       host "
                << process["host"].get<std::string>() << ", pid "
                << process["pid"] << ", devices " << process["devices"].dump()
                << "\n";
  for (const Json &device : info["devices"]) {
    auto size = [&](const char *key) { return sizeOf(device[key]); };
    std::cout << "device " << device["id"] << "     "
              << device["kind"].get<std::string>() << ", cores "
              << device["cores"].dump() << ", activations "
              << size("activation_bytes") << ", parameters "
              << size("parameter_bytes") << " (reordered "
              << size("reordered_parameter_bytes") << "), scratchpad "
              << size("scratchpad_bytes") << ", peak " << size("peak_bytes")
              << ", " << device["rows"] << " rows\n";
    for (const Json &program : device["programs"])
      if (device["programs"].size() > 1)
        std::cout << "             " << program["name"].get<std::string>()
                  << ": activations " << sizeOf(program["activation_bytes"])
                  << ", " << program["rows"] << " rows\n";
  }
  std::map<std::string, int> implementations;
  for (const Json &kernel : info["kernels"])
    ++implementations[kernel["op"].get<std::string>() + " " +
                      kernel["implementation"].get<std::string>()];
  for (const auto &[name, count] : implementations)
    std::cout << "kernels      " << count << " x " << name << "\n";
  for (const auto &[precision, count] : info["products"].items())
    std::cout << "products     " << count << " x " << precision << "\n";
  if (info["simulated_ns"].get<uint64_t>())
    std::printf("simulated    %.3f ms\n",
                static_cast<double>(info["simulated_ns"].get<uint64_t>()) /
                    1e6);
  const Json &strategy = info["strategy"];
  if (strategy.is_object() && strategy.contains("ops"))
    std::cout << "strategy     " << strategy["ops"].size() << " ops, order "
              << strategy.value("order", Json()).dump() << ", topology "
              << strategy.value("topology", Json()).dump()
              << " (--json prints it)\n";
  if (info["reference"].get<bool>())
    std::cout << "reference    a build for one device, for --verify\n";
}

std::pair<size_t, size_t> run::findPrinted(const std::string &text,
                                           const Session &session) {
  size_t at = text.rfind(':');
  for (size_t i = 0; i != session.outputs().size(); ++i)
    if (text == session.outputs()[i].name)
      at = std::string::npos;
  if (at == std::string::npos || at + 1 == text.size() ||
      text.find_first_not_of("0123456789", at + 1) != std::string::npos ||
      text.size() - at > 9)
    return {session.findOutput(text), 0};
  size_t output = session.findOutput(text.substr(0, at));
  size_t top = std::stoul(text.substr(at + 1));
  if (top == 0)
    throw UsageError("expected --print=NAME or --print=NAME:K with a K from 1, "
                     "got: '" +
                     text + "'");
  return {output, top};
}

Json run::printTensor(const std::string &request, const Session &session,
                      bool json) {
  auto [output, top] = findPrinted(request, session);
  std::string name = session.outputs()[output].name;
  const Tensor &tensor = session.output(output);
  std::vector<size_t> order(tensor.count());
  std::iota(order.begin(), order.end(), 0);
  size_t shown = std::min(order.size(), top ? top : size_t{1000});
  if (top)
    std::partial_sort(order.begin(),
                      order.begin() + static_cast<std::ptrdiff_t>(shown),
                      order.end(), [&](size_t a, size_t b) {
                        double x = tensor.at(a), y = tensor.at(b);
                        if (std::isnan(x) || std::isnan(y))
                          return std::isnan(y) && !std::isnan(x);
                        return x != y ? x > y : a < b;
                      });
  if (!json)
    std::cout << name << ": " << typeOf(tensor) << "\n";
  Json elements = Json::array();
  for (size_t i = 0; i != shown; ++i) {
    double value = tensor.at(order[i]);
    if (!json)
      std::printf("  [%zu] %.9g\n", order[i], printable(value));
    elements.push_back({{"index", order[i]}, {"value", value}});
  }
  if (!json && shown < order.size() && !top)
    std::cout << "  and " << order.size() - shown << " more\n";
  std::fflush(stdout);
  return {{"name", name},
          {"element", soap_element_name(tensor.element)},
          {"shape", tensor.shape},
          {"elements", std::move(elements)}};
}

Json run::printComparison(const char *what, const Comparison &c, bool json) {
  if (!json)
    std::printf("%s %s: %s, max abs error %.3g, max rel error %.3g, norm rel "
                "error %.3g%s%s\n",
                what, c.name.c_str(), c.equal ? "equal" : "DIFFERENT",
                c.maxAbsolute, c.maxRelative, c.normRelative,
                c.reason.empty() ? "" : "; ", c.reason.c_str());
  Json result = {{"name", c.name},
                 {"equal", c.equal},
                 {"max_abs", c.maxAbsolute},
                 {"max_rel", c.maxRelative},
                 {"norm_rel", c.normRelative}};
  if (!c.reason.empty())
    result["reason"] = c.reason;
  return result;
}

Json run::printTimes(const char *what, const StepTimes &times, int64_t batch,
                     bool json) {
  auto ms = [](uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  double rate = times.median ? static_cast<double>(batch) * 1e9 /
                                   static_cast<double>(times.median)
                             : 0;
  if (!json)
    std::printf("%s: median %.3f ms, min %.3f ms, max %.3f ms over %zu steps, "
                "%.1f samples/s\n",
                what, ms(times.median), ms(times.min), ms(times.max),
                times.iterations, rate);
  return {{"median_ns", times.median},
          {"min_ns", times.min},
          {"max_ns", times.max},
          {"iterations", times.iterations},
          {"batch", batch},
          {"samples_per_second", rate}};
}
