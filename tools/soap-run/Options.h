//===- Options.h - The command line of soap-run -------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPRUN_OPTIONS_H
#define SOAP_TOOLS_SOAPRUN_OPTIONS_H

#include "Session.h"
#include "Topology.h"
#include "TrainingOptions.h"
#include "soap/Tensors/Compare.h"
#include <CLI/CLI.hpp>

namespace soap::run {

/// The options as they were written.
struct Options {
  std::string model, other, trace, profile, loadState, saveState, log;
  std::vector<std::string> inputs, expected, outputs, prints;
  Tolerance tolerance;
  size_t iterations = 0, warmup = 0;
  Loading load;
  std::string link;
  TrainingOptions training;
  bool info = false, listDevices = false, commands = false, json = false,
       verify = false;
  bool fit = false;
  TopologyRequest topology;
};

/// Declares all options; `options` outlives `app`.
void declare(CLI::App &app, Options &options);

/// Splits `NAME=VALUE` at the last equals sign (ONNX names may have some).
/// Throws UsageError, which names `option`.
std::pair<std::string, std::string> split(const char *option,
                                          const std::string &text);

/// What an option says for each name that it is given for. Throws UsageError.
std::map<std::string, std::string>
readNamed(const char *option, const std::vector<std::string> &texts);

/// Reads --link into Options::load. Throws UsageError.
void readLink(Options &options);

/// Throws UsageError for what --info does not go with: it describes a model and
/// runs nothing, and nobody shall believe that a check has passed.
void checkInfo(const Options &options);

/// Throws UsageError if a file to write lies in a folder that cannot be
/// written, or is the model or its weights.
void checkWrittenFiles(const Options &options);

} // namespace soap::run

#endif // SOAP_TOOLS_SOAPRUN_OPTIONS_H
