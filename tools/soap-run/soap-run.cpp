//===- soap-run.cpp - Runs, checks and times compiled models --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OptionValues.h"
#include "ModelRun.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

using namespace soap::run;

static int runModel(const Options &options) {
  ModelRun run(options);
  if (options.info) {
    run.printInfo();
    return 0;
  }
  return run.run() ? 0 : 1;
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

/// What the words of a command say, but for the program's name.
static int runCommand(std::vector<std::string> words) {
  Options options;
  CLI::App app("Runs a model that soap-compile made: checks, times, traces.",
               "soap-run");
  declare(app, options);
  takeOneValueEach(app);
  try {
    checkValues(words);
    std::reverse(words.begin(), words.end()); // As the parser takes them.
    app.parse(std::move(words));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      std::string failure = printHelp(app, error);
      return failure.empty() ? 0 : report(options, 1, failure);
    }
    return report(options, 2,
                  std::string(error.what()) +
                      "; soap-run --help lists the options");
  }
  try {
    if (options.commands)
      throw UsageError("expected --commands alone, got: --commands in a "
                       "command");
    if (options.listDevices) {
      if (options.load.isRoot())
        std::cout << soap_list_devices() << "\n";
      flushOutput();
      return 0;
    }
    if (!options.topology.file.empty()) {
      options.topology.coresPerDevice = options.load.coresPerDevice;
      describeTopology(options.topology);
      flushOutput();
      return 0;
    }
    if (!options.topology.target.empty() || options.topology.devices)
      throw UsageError("expected --target and --devices with "
                       "--describe-topology, got: no --describe-topology; a "
                       "compiled model says what it runs on");
    if (options.model.empty())
      throw UsageError("expected a compiled model, got: none; soap-run --help "
                       "shows an example");
    readLink(options);
    int code = runModel(options);
    flushOutput();
    return code;
  } catch (const Interrupted &interrupted) {
    if (options.load.isRoot())
      std::cerr << std::string("note: ") + interrupted.what() + "\n";
    return 128 + interrupted.signal;
  } catch (const UsageError &error) {
    return report(options, 2, error.what());
  } catch (const std::bad_alloc &) {
    return report(options, 2, tooLittleMemory);
  } catch (const std::exception &error) {
    return report(options, 1, error.what());
  }
}

/// Commands of the standard input, which all have a line; their words are apart
/// by tabs. After the output of each comes a line with its exit status.
static int runCommands() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<std::string> words;
    std::istringstream text(line);
    for (std::string word; std::getline(text, word, '\t');)
      words.push_back(word);
    int code = runCommand(std::move(words));
    std::cerr.flush();
    std::cout << "soap-run: exit status " << code << '\n';
    std::cout.flush();
    if (code > 128) // A signal has ended it: it ends all.
      return code;
  }
  return 0;
}

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--commands"})
    return runCommands();
  return runCommand(std::move(words));
}
