//===- soap-run.cpp - Runs, checks and times compiled models --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "Measure.h"
#include "Verification.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <unistd.h>

using namespace soap::run;

namespace {
struct Options {
  std::string model, other, transport = "auto", trace, profile;
  std::vector<std::string> inputs, expected, outputs, prints;
  Tolerance tolerance;
  size_t iterations = 0, warmup = 0;
  uint32_t coresPerDevice = 0;
  bool info = false, listDevices = false, json = false, verify = false;
};
} // namespace

static const char *example =
    "Example:\n"
    "  soap-run resnet50.so --input=data=image.npy --print=prob:5 \\\n"
    "      --compare=one-device.so --iterations=20 --warmup=3 "
    "--trace=trace.json\n"
    "\n"
    "Floats compare equal if the 2-norm of the difference is at most rtol "
    "times\n"
    "that of the expected tensor; a tensor whose root mean square is below "
    "atol\n"
    "may differ by atol per element. NaN is equal to nothing.\n"
    "\n"
    "--verify holds every tile of every tensor to this, with the root mean "
    "square\n"
    "of the tensor, and every element to 100 rtol of that or of itself; there "
    "NaN\n"
    "equals NaN. It reports the first tensor, in graph order, that differs.\n"
    "\n"
    "Exit codes: 0 fine, 1 the run or a comparison failed, 2 usage or bad "
    "input.\n";

static void declare(CLI::App &app, Options &o) {
  app.set_version_flag("--version", std::string("soap-run ") + soap_version());
  app.set_help_flag("-h,--help", "Print this help");
  app.footer(example);
  app.add_option("model", o.model, "Compiled model")->type_name("OUT.so");

  app.add_option("--input", o.inputs,
                 "Values of an input: a file, random:SEED[:LOW:HIGH] or zeros "
                 "(default random:0; integers stay in the table they index)")
      ->type_name("NAME=SOURCE")
      ->group("Data");
  app.add_option("--output", o.outputs, "Write an output")
      ->type_name("NAME=FILE.npy")
      ->group("Data");
  app.add_option("--print", o.prints,
                 "Print an output, or its largest elements")
      ->type_name("NAME[:TOPK]")
      ->group("Data");

  app.add_option("--expected", o.expected, "Compare an output with a file")
      ->type_name("NAME=FILE")
      ->group("Checks");
  app.add_option("--compare", o.other,
                 "Run another model on the same inputs and compare outputs")
      ->type_name("OTHER.so")
      ->group("Checks");
  app.add_flag("--verify", o.verify,
               "Compare every tensor of the model, tile by tile, with the "
               "build for one device inside it, on the same inputs")
      ->group("Checks");
  app.add_option("--rtol", o.tolerance.relative, "Relative tolerance")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group("Checks");
  app.add_option("--atol", o.tolerance.absolute, "Absolute tolerance")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group("Checks");

  app.add_option("--iterations", o.iterations,
                 "Time this many steps: median, min, max, samples/s")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group("Measuring");
  app.add_option("--warmup", o.warmup, "Steps before that")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group("Measuring");
  app.add_option("--trace", o.trace,
                 "Write the timeline of one more step for Chrome or Perfetto")
      ->type_name("FILE.json")
      ->group("Measuring");
  app.add_option("--profile-ops", o.profile,
                 "Write the time per kernel, as soap-compile --cost reads it")
      ->type_name("FILE.json")
      ->group("Measuring");

  app.add_option("--transport", o.transport, "How devices communicate")
      ->check(CLI::IsMember({"auto", "local", "mpi"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group("Devices");
  app.add_option("--cores-per-device", o.coresPerDevice,
                 "Cores of each device (default: as compiled, else even)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("K")
      ->group("Devices");
  app.add_flag("--list-devices", o.listDevices,
               "Print what this machine has, as JSON")
      ->group("Devices");

  app.add_flag("--info", o.info,
               "Print inputs, outputs, devices, memory, kernels, strategy")
      ->group("Reports");
  app.add_flag("--json", o.json, "Print one JSON object instead of text")
      ->group("Reports");
}

/// Splits `NAME=VALUE` at the last equals sign (ONNX names may have some).
static std::pair<std::string, std::string> split(const char *option,
                                                 const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw UsageError(std::string("expected ") + option + "=NAME=VALUE, got: '" +
                     text + "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

/// A file to write lies in a folder that can be written.
static void checkFolder(const char *option, const std::string &file) {
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!file.empty() &&
      access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    throw UsageError(std::string("expected ") + option +
                     " in a folder that can be written, got: '" + file + "' (" +
                     std::strerror(errno) + "); choose another one");
}

/// A launcher such as mpirun started this process as one of several.
static bool startedByLauncher() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *size = std::getenv(name))
      return std::atoi(size) > 1;
  return false;
}

static void checkTransport(const Options &o) {
  if (o.transport == "mpi" || (o.transport == "auto" && startedByLauncher()))
    throw UsageError("expected --transport=local, got: " +
                     std::string(o.transport == "mpi" ? "mpi" : "a launcher") +
                     "; mpi is not built yet, use local in one process");
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static void printInfo(const Json &info) {
  auto text = [&](const char *key) { return info[key].get<std::string>(); };
  std::cout << "model        " << text("name") << "\nfingerprint  "
            << text("fingerprint") << "\ncompiler     " << text("compiler")
            << "\nruntime      " << text("runtime") << " (ABI " << info["abi"]
            << ", " << info["libraries"][0].get<std::string>() << ")\n";
  for (const char *ports : {"inputs", "outputs"})
    for (const Json &port : info[ports]) {
      std::cout << (ports[0] == 'i' ? "input        " : "output       ")
                << port["name"].get<std::string>() << ": "
                << port["element"].get<std::string>() << " "
                << port["shape"].dump();
      if (port.contains("index_bound"))
        std::cout << " in [0, " << port["index_bound"] << ")";
      std::cout << "\n";
    }
  for (const Json &device : info["devices"]) {
    auto mebibytes = [&](const char *key) {
      return std::to_string((device[key].get<uint64_t>() + (1 << 20) - 1) >>
                            20) +
             " MiB";
    };
    std::cout << "device " << device["id"] << "     "
              << device["kind"].get<std::string>() << ", cores "
              << device["cores"].dump() << ", activations "
              << mebibytes("activation_bytes") << ", parameters "
              << mebibytes("parameter_bytes") << " (reordered "
              << mebibytes("reordered_parameter_bytes") << "), scratchpad "
              << mebibytes("scratchpad_bytes") << ", peak "
              << mebibytes("peak_bytes") << ", " << device["rows"] << " rows\n";
  }
  std::map<std::string, int> implementations;
  for (const Json &kernel : info["kernels"])
    ++implementations[kernel["op"].get<std::string>() + " " +
                      kernel["implementation"].get<std::string>()];
  for (const auto &[name, count] : implementations)
    std::cout << "kernels      " << count << " x " << name << "\n";
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

/// `NAME[:TOPK]`; a name may have colons.
static std::pair<std::string, size_t> splitPrint(const std::string &text) {
  size_t at = text.rfind(':');
  if (at == std::string::npos || at + 1 == text.size() ||
      text.find_first_not_of("0123456789", at + 1) != std::string::npos ||
      text.size() - at > 9)
    return {text, 0};
  return {text.substr(0, at), std::stoul(text.substr(at + 1))};
}

static Json printTensor(const std::string &request, const Session &session,
                        bool json) {
  auto [name, top] = splitPrint(request);
  const Tensor &tensor = session.output(name);
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
      std::printf("  [%zu] %.9g\n", order[i], value);
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

static Json printComparison(const char *what, const Comparison &c, bool json) {
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

static Json printTimes(const char *what, const StepTimes &times, int64_t batch,
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

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static int runModel(const Options &o) {
  // Files and names are checked before anything runs.
  std::map<std::string, std::string> sources;
  for (const std::string &text : o.inputs) {
    auto source = split("--input", text);
    if (!sources.insert(source).second)
      throw UsageError("expected one --input for each input, got: two for '" +
                       source.first + "'; leave one out");
  }
  for (const std::string &text : o.outputs)
    checkFolder("--output", split("--output", text).second);
  checkFolder("--trace", o.trace);
  checkFolder("--profile-ops", o.profile);
  // The reference first: its memory is free again when the model is loaded.
  std::unique_ptr<Verification> verification;
  Loading loading;
  loading.coresPerDevice = o.coresPerDevice;
  if (o.verify && !o.info) {
    verification =
        std::make_unique<Verification>(o.model, sources, o.tolerance);
    loading.observe = Verification::show;
    loading.user = verification.get();
  }
  Session session(o.model, loading);
  if (o.info) {
    Json info = Json::parse(soap_model_info(session.get()));
    if (o.json)
      std::cout << info.dump(2) << "\n";
    else
      printInfo(info);
    return 0;
  }
  std::vector<std::pair<std::string, Tensor>> expected;
  for (const std::string &text : o.expected) {
    auto [name, file] = split("--expected", text);
    const soap_port &port = session.outputs()[session.findOutput(name)];
    Tensor tensor = readTensor(file);
    if (typeOf(tensor) != typeOf(port))
      throw UsageError("expected " + typeOf(port) + " for output '" + name +
                       "' in '" + file + "', got: " + typeOf(tensor) +
                       "; convert the file, or compile the model for it");
    expected.emplace_back(name, std::move(tensor));
  }
  for (const std::string &text : o.outputs)
    session.findOutput(split("--output", text).first);
  for (const std::string &text : o.prints)
    session.findOutput(splitPrint(text).first);
  session.setInputs(sources);
  std::unique_ptr<Session> other;
  if (!o.other.empty()) {
    Loading alike;
    alike.coresPerDevice = o.coresPerDevice;
    other = std::make_unique<Session>(o.other, alike);
    other->setInputs(session);
    for (const soap_port &port : other->outputs())
      session.findOutput(port.name);
  }

  if (verification) {
    session.step();
    verification->finish(session);
  }
  size_t iterations = std::max<size_t>(o.iterations, 1);
  StepTimes times = measure(session, o.warmup, iterations);
  Json report = {{"model", o.model},
                 {"devices", soap_model_device_count(session.get())}};
  bool timed = o.iterations > 0;
  Json step = printTimes("step", times, session.batch(), o.json || !timed);
  report["step"] = std::move(step);
  report["movements"] = movementsOf(session);

  for (const std::string &text : o.prints)
    report["outputs"].push_back(printTensor(text, session, o.json));
  for (const std::string &text : o.outputs) {
    auto [name, file] = split("--output", text);
    writeNpy(file, session.output(name));
  }
  bool equal = true;
  if (verification) {
    equal = verification->equal();
    report["verify"] = verification->report(o.json);
  }
  for (const auto &[name, tensor] : expected) {
    Comparison c = compare(name, session.output(name), tensor, o.tolerance);
    equal &= c.equal;
    report["expected"].push_back(printComparison("expected", c, o.json));
  }
  if (other) {
    StepTimes otherTimes = measure(*other, o.warmup, iterations);
    Json compared = {{"model", o.other},
                     {"devices", soap_model_device_count(other->get())}};
    compared["step"] =
        printTimes("other", otherTimes, other->batch(), o.json || !timed);
    for (const soap_port &port : other->outputs()) {
      Comparison c = compare(port.name, session.output(port.name),
                             other->output(port.name), o.tolerance);
      equal &= c.equal;
      compared["outputs"].push_back(printComparison("compare", c, o.json));
    }
    report["compare"] = std::move(compared);
  }
  if (!o.trace.empty())
    writeTrace(session, o.trace);
  if (!o.profile.empty())
    writeProfile(session, std::max<size_t>(iterations, 5), o.profile);
  report["equal"] = equal;
  if (o.json)
    std::cout << report.dump(2, ' ', false, Json::error_handler_t::replace)
              << "\n";
  else if (!timed && o.prints.empty() && expected.empty() && !other &&
           !verification)
    std::printf("ran one step in %.3f ms on %zu device(s)\n",
                static_cast<double>(times.median) / 1e6,
                soap_model_device_count(session.get()));
  return equal ? 0 : 1;
}

static int report(int code, const std::string &message) {
  std::cerr << "error: " << message << "\n";
  return code;
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs a model that soap-compile made: checks, times, traces.",
               "soap-run");
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return report(2, std::string(error.what()) +
                         "; soap-run --help lists the options");
  }
  try {
    if (options.listDevices) {
      std::cout << soap_list_devices() << "\n";
      return 0;
    }
    if (options.model.empty())
      throw UsageError("expected a compiled model, got: none; soap-run --help "
                       "shows an example");
    checkTransport(options);
    return runModel(options);
  } catch (const UsageError &error) {
    return report(2, error.what());
  } catch (const std::exception &error) {
    return report(1, error.what());
  }
}
