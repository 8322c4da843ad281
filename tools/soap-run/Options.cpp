//===- Options.cpp - The command line of soap-run -------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "../Numbers.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

using namespace soap;
using namespace soap::run;

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
    "may differ by atol per element. Floats of 16 bits may differ as much as "
    "rounding\n"
    "to them changes (f16: 1e-3, bf16: 8e-3), unless --rtol is below 1e-4. NaN "
    "is equal to nothing, or with "
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
    "input,\n"
    "130 and 143: SIGINT or SIGTERM has ended a training, after a "
    "checkpoint.\n";

static void declareData(CLI::App &app, Options &o) {
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
}

static void declareState(CLI::App &app, Options &o) {
  app.option_defaults()->group("Training (soap-compile --train)");
  app.add_option("--program", o.load.program,
                 "What to run: train (a step, the default) or eval, the model "
                 "with the parameters of --load-state")
      ->type_name("NAME");
  app.add_option("--load-state", o.loadState,
                 "Begin with weights, optimizer and step as saved, under this "
                 "or another strategy")
      ->type_name("FILE.safetensors");
  app.add_option("--save-state", o.saveState,
                 "Save them after the last step, whole tensors by name")
      ->type_name("FILE.safetensors");
  app.add_option("--log", o.log,
                 "Write outputs of one element after every step, a line of "
                 "JSON each")
      ->type_name("FILE.jsonl");
}

static void declareChecks(CLI::App &app, Options &o) {
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
}

static void declareMeasuring(CLI::App &app, Options &o) {
  app.option_defaults()->group("Measuring");
  app.add_option("--iterations", o.iterations,
                 "Time this many steps: median, min, max, samples/s")
      ->check(soap::wholeNumber<size_t>())
      ->type_name("N");
  app.add_option("--warmup", o.warmup, "Steps before that")
      ->check(soap::wholeNumber<size_t>())
      ->type_name("N");
  app.add_option("--trace", o.trace,
                 "Write the timeline of one more step for Chrome or Perfetto, "
                 "and beside it the simulated one")
      ->type_name("FILE.json");
  app.add_flag("--fit", o.fit,
               "Print the time of every operation as simulated and as "
               "measured, the worst first, then copies, waits and transfers: "
               "means of all devices, medians of --iterations (at least 5) "
               "steps");
  app.add_option("--profile-ops", o.profile,
                 "Write the time per kernel, as soap-compile --cost reads it")
      ->type_name("FILE.json");
}

static void declareDevices(CLI::App &app, Options &o) {
  auto readTransport = [&o](const std::string &name) {
    static const std::map<std::string, soap_transport> transports = {
        {"auto", SOAP_TRANSPORT_AUTO},
        {"local", SOAP_TRANSPORT_LOCAL},
        {"mpi", SOAP_TRANSPORT_MPI},
        {"tcp", SOAP_TRANSPORT_TCP}};
    auto found = transports.find(name);
    if (found == transports.end())
      throw CLI::ValidationError("--transport",
                                 "expected auto, local, mpi or tcp, got: '" +
                                     name + "'");
    o.load.transport = found->second;
  };
  app.option_defaults()->group("Devices");
  app.add_option_function<std::string>(
         "--transport", readTransport,
         "How processes communicate: auto, local (there is one), mpi, tcp "
         "(default auto: mpi where mpirun started several, tcp where RANK, "
         "WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set)")
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
  app.add_option("--devices-per-gpu", o.load.devicesPerGpu,
                 "Devices of this host that share a GPU, of a model for GPUs "
                 "(default: 1)")
      ->check(soap::wholeNumber<uint32_t>(1))
      ->type_name("K");
  app.add_option("--gpu-transport", o.load.gpuTransport,
                 "What moves data between GPUs: auto, host, peer (copies, in "
                 "one process), nccl (default auto: nccl where each device has "
                 "a GPU of its own)")
      ->transform(CLI::Transformer(std::map<std::string, soap_gpu_transport>{
          {"auto", SOAP_GPU_TRANSPORT_AUTO},
          {"host", SOAP_GPU_TRANSPORT_HOST},
          {"peer", SOAP_GPU_TRANSPORT_PEER},
          {"nccl", SOAP_GPU_TRANSPORT_NCCL}}))
      ->type_name("NAME");
  app.add_flag("--keep-denormals", o.load.keepDenormals,
               "Compute with numbers below 1.2e-38 on CPUs: by default they "
               "are zeros, since they take up to a hundred times as long");
  app.add_option("--link", o.link,
                 "Makes communication slow: a link of this bandwidth and "
                 "latency between every two devices, for example 1GB/s:10us")
      ->type_name("BANDWIDTH:LATENCY");
  app.add_flag(
      "--commands", o.commands,
      "Run the commands that the standard input has, a line each, "
      "their words apart by tabs, without the program's name; after "
      "each, a line says its exit status. Stands alone. Where a process "
      "takes long to start, as on a GPU, many models are run sooner");
  app.add_flag("--list-devices", o.listDevices,
               "Print what this machine has, as JSON");
  app.add_option("--describe-topology", o.topology.file,
                 "Measure the devices of this machine and the links between "
                 "them, and write them as soap-compile --topology reads them; "
                 "--cores-per-device says how many cores make a device")
      ->type_name("FILE.json");
  app.add_option("--target", o.topology.target,
                 "Which devices: a kind of --list-devices (default: GPUs, "
                 "where there are some)")
      ->type_name("NAME");
  app.add_option("--devices", o.topology.devices,
                 "How many (default: all GPUs, or one per core)")
      ->check(soap::wholeNumber<uint32_t>(1))
      ->type_name("N");
}

void run::declare(CLI::App &app, Options &o) {
  app.set_version_flag("--version", std::string("soap-run ") + soap_version());
  app.set_help_flag("-h,--help", "Print this help");
  app.footer(example);
  app.add_option("model", o.model, "Compiled model")->type_name("OUT.so");
  declareData(app, o);
  declareState(app, o);
  declareTraining(app, o.training);
  declareChecks(app, o);
  declareMeasuring(app, o);
  declareDevices(app, o);
  app.option_defaults()->group("Reports");
  app.add_flag("--info", o.info,
               "Print inputs, outputs, devices, memory, kernels, strategy");
  app.add_flag("--json", o.json, "Print one JSON object instead of text");
}

std::pair<std::string, std::string> run::split(const char *option,
                                               const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw UsageError(std::string("expected ") + option + "=NAME=VALUE, got: '" +
                     text + "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::map<std::string, std::string>
run::readNamed(const char *option, const std::vector<std::string> &texts) {
  std::map<std::string, std::string> sources;
  for (const std::string &text : texts) {
    auto source = split(option, text);
    if (!sources.insert(source).second)
      throw UsageError(std::string("expected one ") + option +
                       " for each input, got: two for '" + source.first +
                       "'; leave one out");
  }
  return sources;
}

void run::readLink(Options &o) {
  if (o.link.empty())
    return;
  std::string error = parseLinkSpeed(o.link, o.load.link);
  if (!error.empty())
    throw UsageError(error);
}

void run::checkInfo(const Options &o) {
  for (auto [option, given] :
       {std::pair("--verify", o.verify),
        {"--compare", !o.other.empty()},
        {"--expected", !o.expected.empty()},
        {"--output", !o.outputs.empty()},
        {"--print", !o.prints.empty()},
        {"--iterations", o.iterations != 0},
        {"--load-state", !o.loadState.empty()},
        {"--save-state", !o.saveState.empty()},
        {"--log", !o.log.empty()},
        {"--export-onnx", !o.training.exportONNX.empty()},
        {"--data", o.training.hasData()},
        {"--eval-data", o.training.hasEvaluation()},
        {"--trace", !o.trace.empty()},
        {"--fit", o.fit},
        {"--profile-ops", !o.profile.empty()}})
    if (o.info && given)
      throw UsageError(std::string("expected --info alone, which runs "
                                   "nothing, got: ") +
                       option + " too; leave one of them out");
  for (auto [option, given] : {std::pair("--verify", o.verify),
                               {"--compare", !o.other.empty()},
                               {"--expected", !o.expected.empty()},
                               {"--iterations", o.iterations != 0},
                               {"--warmup", o.warmup != 0},
                               {"--trace", !o.trace.empty()},
                               {"--fit", o.fit},
                               {"--profile-ops", !o.profile.empty()},
                               {"--program", !o.load.program.empty()}})
    if ((o.training.hasData() || o.training.hasEvaluation()) && given)
      throw UsageError(std::string("expected ") +
                       (o.training.hasData() ? "--data" : "--eval-data") +
                       " or " + option + ", got: both; leave one of them out");
  if (!o.training.resume.empty() && !o.loadState.empty())
    throw UsageError("expected --resume or --load-state, got: both; a "
                     "checkpoint has the state");
  if (o.verify && !o.loadState.empty())
    throw UsageError("expected --verify or --load-state, got: both; what "
                     "--verify compares starts as it was compiled");
}

/// What is read: the model, its weights, and files of options.
static std::vector<std::pair<std::string, std::filesystem::path>>
inputsOf(const Options &o) {
  std::filesystem::path weights = o.model;
  weights.replace_extension("safetensors");
  std::vector<std::pair<std::string, std::filesystem::path>> files = {
      {"which the model is in", o.model}, {"which the model is in", weights}};
  auto add = [&](const std::string &option, const std::string &file) {
    if (!file.empty())
      files.emplace_back("which " + option + " reads", file);
  };
  for (const std::string &text : o.inputs)
    add("--input", split("--input", text).second);
  for (const std::string &text : o.expected)
    add("--expected", split("--expected", text).second);
  for (const auto &[option, file] : readFiles(o.training))
    add(option, file);
  add("--compare", o.other);
  add("--load-state", o.loadState);
  return files;
}

/// A file to write lies in a folder that can be written, and is none that is
/// read.
static void checkWritten(const Options &o, const char *option,
                         const std::string &file) {
  for (const auto &[what, kept] : inputsOf(o)) {
    std::error_code missing;
    if (std::filesystem::equivalent(file, kept, missing))
      throw UsageError(std::string("expected ") + option +
                       " in a file of its own, got: '" + file + "', " + what +
                       "; choose another one");
  }
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!file.empty() &&
      access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    throw UsageError(std::string("expected ") + option +
                     " in a folder that can be written, got: '" + file + "' (" +
                     std::strerror(errno) + "); choose another one");
}

void run::checkWrittenFiles(const Options &o) {
  std::vector<std::pair<const char *, std::string>> files;
  for (const std::string &text : o.outputs)
    files.emplace_back("--output", split("--output", text).second);
  files.insert(files.end(), {{"--save-state", o.saveState},
                             {"--log", o.log},
                             {"--export-onnx", o.training.exportONNX},
                             {"--trace", o.trace},
                             {"--profile-ops", o.profile}});
  // Of files that need not be there yet.
  std::map<std::filesystem::path, const char *> writers;
  for (const auto &[option, file] : files) {
    if (file.empty())
      continue;
    checkWritten(o, option, file);
    std::error_code missing;
    std::filesystem::path path =
        std::filesystem::weakly_canonical(file, missing);
    bool isFile = !std::filesystem::exists(path, missing) ||
                  std::filesystem::is_regular_file(path, missing);
    auto [other, isNew] = writers.emplace(path, option);
    if (isFile && !isNew)
      throw UsageError(std::string("expected ") + option +
                       " in a file of its own, got: '" + file + "', which " +
                       other->second + " writes, too; choose another one");
  }
}
