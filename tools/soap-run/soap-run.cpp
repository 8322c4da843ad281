//===- soap-run.cpp - Runs, checks and times compiled models --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Numbers.h"
#include "Report.h"
#include "Verification.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <unistd.h>

using namespace soap::run;

namespace {
struct Options {
  std::string model, other, trace, profile;
  std::vector<std::string> inputs, expected, outputs, prints;
  Tolerance tolerance;
  size_t iterations = 0, warmup = 0;
  Loading load;
  std::string link;
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
    "may differ by atol per element. NaN is equal to nothing, or with "
    "--nan-equal "
    "to\n"
    "NaN.\n"
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

  app.option_defaults()->group("Data");
  app.add_option("--input", o.inputs,
                 "Values of an input: a file (of its type, or of a narrower "
                 "one that loses nothing), random:SEED[:LOW:HIGH] or zeros "
                 "(default random:0; integers stay in the table they index)")
      ->type_name("NAME=SOURCE");
  app.add_option("--output", o.outputs, "Write an output")
      ->type_name("NAME=FILE.npy");
  app.add_option("--print", o.prints,
                 "Print an output, or its largest elements")
      ->type_name("NAME[:TOPK]");

  app.option_defaults()->group("Checks");
  app.add_option("--expected", o.expected, "Compare an output with a file")
      ->type_name("NAME=FILE");
  app.add_option("--compare", o.other,
                 "Run another model on the same inputs and compare outputs")
      ->type_name("OTHER.so");
  app.add_flag("--verify", o.verify,
               "Compare every tensor of the model, tile by tile, with the "
               "build for one device inside it, on the same inputs");
  app.add_flag("--check", o.load.checkWeights,
               "Hash all of the weights file; by default its size, header and "
               "some blocks must be those of the model");
  app.add_option("--rtol", o.tolerance.relative, "Relative tolerance")
      ->capture_default_str()
      ->check(soap::positiveNumber(/*orZero=*/true));
  app.add_option("--atol", o.tolerance.absolute, "Absolute tolerance")
      ->capture_default_str()
      ->check(soap::positiveNumber(/*orZero=*/true));

  app.add_flag("--nan-equal", o.tolerance.nanEqual,
               "NaN equals NaN, for --expected and --compare");

  app.option_defaults()->group("Measuring");
  app.add_option("--iterations", o.iterations,
                 "Time this many steps: median, min, max, samples/s")
      ->check(soap::wholeNumber<size_t>())
      ->type_name("N");
  app.add_option("--warmup", o.warmup, "Steps before that")
      ->check(soap::wholeNumber<size_t>())
      ->type_name("N");
  app.add_option("--trace", o.trace,
                 "Write the timeline of one more step for Chrome or Perfetto")
      ->type_name("FILE.json");
  app.add_option("--profile-ops", o.profile,
                 "Write the time per kernel, as soap-compile --cost reads it")
      ->type_name("FILE.json");

  auto readTransport = [&o](const std::string &name) {
    static const std::map<std::string, soap_transport> transports = {
        {"auto", SOAP_TRANSPORT_AUTO},
        {"local", SOAP_TRANSPORT_LOCAL},
        {"mpi", SOAP_TRANSPORT_MPI}};
    auto found = transports.find(name);
    if (found == transports.end())
      throw CLI::ValidationError(
          "--transport", "expected auto, local or mpi, got: '" + name + "'");
    o.load.transport = found->second;
  };
  app.option_defaults()->group("Devices");
  app.add_option_function<std::string>(
         "--transport", readTransport,
         "How devices communicate: auto, local, mpi (default auto: mpi "
         "where a launcher started several processes)")
      ->type_name("NAME");
  app.add_option("--map", o.load.map,
                 "The process of each device, as in 0,0,1,1 (default: spread "
                 "evenly)")
      ->delimiter(',')
      ->check(soap::wholeNumber<uint32_t>())
      ->type_name("RANK,...");
  app.add_option(
         "--timeout", o.load.timeoutSeconds,
         "After so many silent seconds a process is lost and the others "
         "end (default 10)")
      ->check(soap::positiveNumber(/*orZero=*/false))
      ->type_name("SECONDS");
  app.add_option("--cores-per-device", o.load.coresPerDevice,
                 "Cores of each device (default: as compiled, else even)")
      ->check(soap::wholeNumber<uint32_t>(1))
      ->type_name("K");
  app.add_option("--link", o.link,
                 "Makes communication slow: a link of this bandwidth and "
                 "latency between every two devices, for example 1GB/s:10us")
      ->type_name("BANDWIDTH:LATENCY");
  app.add_flag("--list-devices", o.listDevices,
               "Print what this machine has, as JSON");

  app.option_defaults()->group("Reports");
  app.add_flag("--info", o.info,
               "Print inputs, outputs, devices, memory, kernels, strategy");
  app.add_flag("--json", o.json, "Print one JSON object instead of text");
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

static void readLink(Options &o) {
  if (o.link.empty())
    return;
  std::string error = parseLinkSpeed(o.link, o.load.link);
  if (!error.empty())
    throw UsageError(error);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Files and their outputs.
static std::vector<std::pair<std::string, Tensor>>
readExpected(const Options &o, const Session &session) {
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
  return expected;
}

/// --info describes a model and runs nothing: nobody shall believe that a check
/// has passed.
static void checkInfo(const Options &o) {
  for (auto [option, given] : {std::pair("--verify", o.verify),
                               {"--compare", !o.other.empty()},
                               {"--expected", !o.expected.empty()},
                               {"--output", !o.outputs.empty()},
                               {"--print", !o.prints.empty()},
                               {"--iterations", o.iterations != 0},
                               {"--trace", !o.trace.empty()},
                               {"--profile-ops", !o.profile.empty()}})
    if (o.info && given)
      throw UsageError(std::string("expected --info alone, which runs "
                                   "nothing, got: ") +
                       option + " too; leave one of them out");
}

/// All ranks make the same collective calls only if they were asked for the
/// same. Files and names of outputs are rank 0's alone.
static void checkRanks(const Options &o, Session &session) {
  Json mine = {o.verify,         o.info,
               o.warmup,         std::max<size_t>(o.iterations, 1),
               !o.trace.empty(), !o.profile.empty()};
  std::string text = mine.dump();
  const void *const *all = nullptr;
  const size_t *sizes = nullptr;
  size_t count = 0;
  require(soap_model_gather(session.get(), text.data(), text.size(), &all,
                            &sizes, &count));
  session.onRoot([&] {
    for (size_t rank = 0; rank != count; ++rank)
      if (text !=
          std::string(static_cast<const char *>(all[rank]), sizes[rank]))
        throw UsageError("expected the same options on all ranks, got: others "
                         "on rank " +
                         std::to_string(rank) +
                         " than on rank 0; start all ranks with one command");
  });
}

static int runModel(const Options &o) {
  // Files and names are checked before anything runs.
  checkInfo(o);
  std::map<std::string, std::string> sources;
  for (const std::string &text : o.inputs) {
    auto source = split("--input", text);
    if (!sources.insert(source).second)
      throw UsageError("expected one --input for each input, got: two for '" +
                       source.first + "'; leave one out");
  }
  for (const std::string &text : o.outputs)
    split("--output", text);
  // The reference first: its memory is free again when the model is loaded.
  std::unique_ptr<Verification> verification;
  Loading loading = o.load;
  std::exception_ptr mistake;
  if (o.verify) {
    verification = std::make_unique<Verification>(o.tolerance);
    loading.observe = Verification::show;
    loading.user = verification.get();
    // The others wait for rank 0 meanwhile, and know that it lives.
    join(loading);
    try {
      if (loading.isRoot())
        verification->runReference(o.model, sources);
    } catch (...) {
      mistake = std::current_exception();
    }
  }
  Session session(o.model, loading);
  session.onRoot([&] {
    if (mistake)
      std::rethrow_exception(mistake);
  });
  checkRanks(o, session);
  if (o.info) {
    Json info = Json::parse(session.info());
    if (session.isRoot())
      o.json ? void(std::cout << info.dump(2) << "\n") : printInfo(info);
    return 0;
  }
  std::vector<std::pair<std::string, Tensor>> expected;
  std::unique_ptr<Session> other;
  session.onRoot([&] {
    for (const std::string &text : o.outputs)
      checkFolder("--output", split("--output", text).second);
    checkFolder("--trace", o.trace);
    checkFolder("--profile-ops", o.profile);
    expected = readExpected(o, session);
    for (const std::string &text : o.outputs)
      session.findOutput(split("--output", text).first);
    for (const std::string &text : o.prints)
      findPrinted(text, session);
    session.setInputs(sources);
    if (o.other.empty())
      return;
    // The other model runs in this process alone.
    Loading here = o.load;
    here.transport = SOAP_TRANSPORT_LOCAL;
    here.map.clear();
    other = std::make_unique<Session>(o.other, here);
    other->setInputs(session);
    for (const soap_port &port : other->outputs())
      session.findOutput(port.name);
  });

  if (verification) {
    session.step();
    verification->finish(session);
  }
  size_t iterations = std::max<size_t>(o.iterations, 1);
  StepTimes times = measure(session, o.warmup, iterations);
  Json report = {{"model", o.model},
                 {"devices", soap_model_device_count(session.get())}};
  bool timed = o.iterations > 0, quiet = o.json || !timed;
  report["processes"] = processesOf(session);
  if (session.isRoot())
    report["step"] = printTimes("step", times, session.batch(), quiet);
  report["movements"] = movementsOf(session);
  if (!o.trace.empty())
    writeTrace(session, o.trace);
  if (!o.profile.empty())
    writeProfile(session, std::max<size_t>(iterations, 5), o.profile);

  bool equal = true;
  session.onRoot([&] {
    if (verification) {
      equal = verification->equal();
      report["verify"] = verification->report(o.json);
    }
    for (const std::string &text : o.prints)
      report["outputs"].push_back(printTensor(text, session, o.json));
    for (const std::string &text : o.outputs) {
      auto [name, file] = split("--output", text);
      writeNpy(file, session.output(name));
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
      compared["step"] = printTimes("other", otherTimes, other->batch(), quiet);
      for (const soap_port &port : other->outputs()) {
        Comparison c = compare(port.name, session.output(port.name),
                               other->output(port.name), o.tolerance);
        equal &= c.equal;
        compared["outputs"].push_back(printComparison("compare", c, o.json));
      }
      report["compare"] = std::move(compared);
    }
    report["equal"] = equal;
    if (o.json)
      std::cout << report.dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
    else if (!timed && o.prints.empty() && expected.empty() && !other &&
             !verification)
      std::printf("ran one step in %.3f ms on %zu device(s)\n",
                  static_cast<double>(times.median) / 1e6,
                  soap_model_device_count(session.get()));
  });
  // All processes end alike.
  soap_status all =
      soap_model_agree(session.get(), equal ? SOAP_OK : SOAP_FAILED);
  if (equal)
    require(all);
  return equal ? 0 : 1;
}

/// Rank 0 alone reports; mistakes in the command are the same on all.
static int report(const Options &options, int code,
                  const std::string &message) {
  if (options.load.isRoot())
    // In one piece: other processes write to the same place.
    std::cerr << "error: " + message + "\n";
  return code;
}

/// Results that nobody got are a failure.
static void flushOutput() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout)
    throw RunError(
        std::string("expected to write to the standard output, got: ") +
        std::strerror(errno ? errno : EIO));
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
    return report(options, 2,
                  std::string(error.what()) +
                      "; soap-run --help lists the options");
  }
  try {
    if (options.listDevices) {
      if (options.load.isRoot())
        std::cout << soap_list_devices() << "\n";
      flushOutput();
      return 0;
    }
    if (options.model.empty())
      throw UsageError("expected a compiled model, got: none; soap-run --help "
                       "shows an example");
    readLink(options);
    int code = runModel(options);
    flushOutput();
    return code;
  } catch (const UsageError &error) {
    return report(options, 2, error.what());
  } catch (const std::bad_alloc &) {
    return report(options, 2, tooLittleMemory);
  } catch (const std::exception &error) {
    return report(options, 1, error.what());
  }
}
