//===- MutateModels.cpp - Mutated models and the whole compiler ----------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// soap-mutate-models [--models=N] [--first=K] [--jobs=J] FOLDER...
//
// Mutates the ONNX models in FOLDER and below and compiles every one in a
// process of its own: it must become a model or an error that says what was
// expected, in 10 s of processor time and 1 GiB of memory. Model K depends on K
// and the folders alone, so a run that was ended goes on with --first. A model
// that fails is left in the working directory as mutated-K.onnx. Exits with 1
// if there is one.
//
//===----------------------------------------------------------------------===//

#include "../Target/ONNX/Mutations.h"
#include "soap/Compiler/Compiler.h"
#include "soap/Target/Registration/AllTargets.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace soap;
using soap::test::below;
using soap::test::Random;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double mostSeconds = 10;
constexpr int64_t mostMemory = int64_t{1} << 30;
/// A process that does not end at all.
constexpr unsigned patienceSeconds = 300;

/// How a process ends that compiled a model, or reported an error well.
enum Outcome { Compiled = 0, Refused = 2, BadMessage = 3 };

struct Settings {
  uint64_t models = 1000, first = 0, jobs = 1;
};

/// The small models of a folder. Large ones take long and are no different.
void findModels(llvm::StringRef folder, std::vector<std::string> &models) {
  constexpr uint64_t largest = 200000;
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end;
       it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      if ((*buffer)->getBufferSize() <= largest)
        models.push_back((*buffer)->getBuffer().str());
}

std::string mutated(const std::vector<std::string> &models, Random &random) {
  return test::mutateModel(models[below(random, models.size())], random);
}

/// Compiles model `number`; to machine code now and then, which takes longest.
int compile(const std::vector<std::string> &models, uint64_t number) {
  Random random(number);
  std::string bytes = mutated(models, random);
  ModelSource source;
  source.path = "mutated.onnx";
  source.contents = bytes;
  CompilerOptions options;
  options.emit = below(random, 8) ? Emit::SOAPRT : Emit::SharedObject;
  options.devices = 1 + static_cast<int32_t>(below(random, 3));
  options.strategy = below(random, 2) ? "data-parallel" : "random";
  options.seed = number;
  options.calibration = "none";
  if (below(random, 2))
    options.import.batch = 1 + static_cast<int64_t>(below(random, 4));
  if (below(random, 2))
    options.import.initWeightsSeed = number;
  CompilationResult result;
  llvm::Error error = compileModel(source, options, {}, result);
  if (!error)
    return Compiled;
  std::string message = llvm::toString(std::move(error));
  if (message.find("expected") != std::string::npos)
    return Refused;
  std::fprintf(stderr, "model %llu: %s\n",
               static_cast<unsigned long long>(number), message.c_str());
  return BadMessage;
}

class Run {
public:
  Run(const Settings &settings, std::vector<std::string> models)
      : settings(settings), models(std::move(models)) {}

  int run() {
    uint64_t next = settings.first, end = settings.first + settings.models;
    auto shown = Clock::now();
    while (next != end || !running.empty()) {
      while (next != end && running.size() < settings.jobs)
        start(next++);
      finishOne();
      if (Clock::now() - shown > std::chrono::seconds(30)) {
        shown = Clock::now();
        print(stderr, next);
      }
    }
    print(stdout, next);
    return bad.empty() ? 0 : 1;
  }

private:
  void start(uint64_t number) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      rlimit core{0, 0}, memory{4ull << 30, 4ull << 30};
      setrlimit(RLIMIT_CORE, &core);
      setrlimit(RLIMIT_AS, &memory);
      alarm(patienceSeconds);
      std::_Exit(compile(models, number));
    }
    if (child < 0) {
      std::perror("fork");
      std::exit(1);
    }
    running[child] = number;
  }

  void finishOne() {
    int status = 0;
    rusage used{};
    pid_t child = wait4(-1, &status, 0, &used);
    auto found = running.find(child);
    if (found == running.end())
      return;
    uint64_t number = found->second;
    running.erase(found);
    auto seconds = [](const timeval &time) {
      return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6;
    };
    double time = seconds(used.ru_utime) + seconds(used.ru_stime);
    int64_t memory = int64_t{1024} * used.ru_maxrss;
    slowest = std::max(slowest, time);
    largest = std::max(largest, memory);
    if (WIFSIGNALED(status))
      return fail(number,
                  "ended by signal " + std::to_string(WTERMSIG(status)));
    if (time > mostSeconds)
      return fail(number, "took " + std::to_string(time) + " s");
    if (memory > mostMemory)
      return fail(number, "took " + std::to_string(memory >> 20) + " MiB");
    switch (WEXITSTATUS(status)) {
    case Compiled:
      ++compiled;
      return;
    case Refused:
      ++refused;
      return;
    default:
      fail(number, "ended with " + std::to_string(WEXITSTATUS(status)));
    }
  }

  void fail(uint64_t number, const std::string &how) {
    bad.push_back(number);
    std::fprintf(stderr, "model %llu: %s\n",
                 static_cast<unsigned long long>(number), how.c_str());
    std::error_code code;
    llvm::raw_fd_ostream file("mutated-" + std::to_string(number) + ".onnx",
                              code);
    Random random(number);
    file << mutated(models, random);
  }

  void print(std::FILE *to, uint64_t next) {
    std::fprintf(
        to,
        "models %llu to %llu: %llu compiled, %llu refused, %zu bad; at "
        "most %.1f s and %lld MiB\n",
        static_cast<unsigned long long>(settings.first),
        static_cast<unsigned long long>(next - running.size() - 1),
        static_cast<unsigned long long>(compiled),
        static_cast<unsigned long long>(refused), bad.size(), slowest,
        static_cast<long long>(largest >> 20));
  }

  Settings settings;
  std::vector<std::string> models;
  std::map<pid_t, uint64_t> running;
  uint64_t compiled = 0, refused = 0;
  std::vector<uint64_t> bad;
  double slowest = 0;
  int64_t largest = 0;
};

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  std::vector<std::string> models;
  bool wrong = argc < 2;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef text = argv[i];
    if (text.consume_front("--models="))
      wrong |= text.getAsInteger(10, settings.models);
    else if (text.consume_front("--first="))
      wrong |= text.getAsInteger(10, settings.first);
    else if (text.consume_front("--jobs="))
      wrong |= text.getAsInteger(10, settings.jobs) || settings.jobs == 0;
    else if (text.starts_with("-"))
      wrong = true;
    else
      findModels(text, models);
  }
  if (wrong || models.empty()) {
    std::fprintf(stderr,
                 "usage: soap-mutate-models [--models=N] [--first=K] "
                 "[--jobs=J] FOLDER...\n"
                 "expected folders with models (*.onnx), got: %zu "
                 "models\n",
                 models.size());
    return 2;
  }
  registerAllTargets();
  return Run(settings, std::move(models)).run();
}
