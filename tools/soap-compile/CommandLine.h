//===- CommandLine.h - Options of soap-compile ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H
#define SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H

#include "soap/Runtime/LinkSpeed.h"
#include "soap/Target/ONNX/Import.h"
#include "soap/Target/Target.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace soap {

/// How far a model is compiled.
enum class Emit {
  Topology, ///< No model, only the machine.
  NN,
  Strategy,
  SOAP,
  SOAPRT,
  LLVM,
  Report,
  SharedObject
};

/// Equal devices that share one machine: each pair of them is a link.
constexpr int32_t maxDevices = 256;

/// What was asked for, checked.
struct CommandLine {
  std::string model;  ///< .onnx or .mlir; empty for Emit::Topology.
  std::string output; ///< Empty: standard output (not for Emit::SharedObject).
  ONNXImportOptions import;
  int64_t unrollRNN = 0; ///< Steps per part of a recurrent layer; 0: whole.
  Emit emit = Emit::SharedObject;

  std::optional<int32_t> devices;
  std::string topology; ///< A file or a name (soap::loadTopology), or empty.
  int32_t coresPerDevice = 0;
  /// Links of this speed between the devices of this machine (soap-run --link).
  std::optional<LinkSpeed> link;
  /// Rates of this machine: a file, "auto" (measured once and kept, where there
  /// is more than one device), or "none" (round figures).
  std::string calibration = "auto";
  std::shared_ptr<const Target> target;

  /// Name of an expert strategy, "search", a .json file, or empty: what the
  /// model carries, else the default.
  std::string strategy;
  /// Name of a launch policy, or empty: the order that the strategy has.
  std::string schedule;
  std::string search = "mcmc";
  double budgetSeconds = 60;
  uint64_t proposals = 0, stagnation = 0, seed = 0;
  /// Search from so many random strategies and no named ones.
  std::optional<int32_t> searchStarts;
  std::string searchState, searchLog; ///< Files, or empty.
  std::string costFile;               ///< Empty: analytic.
  std::string exportStrategy, exportMovements;
  bool printStrategy = false, timing = false;
  bool prove = false; ///< Print what was proved.
  bool json = false;  ///< Print reports and proofs as one JSON object.
  /// Put what soap-run --verify needs into the model.
  bool reference = true;
};

/// Reads the command line. Fails with one line that says what was expected;
/// `exitCode` is set (and the result empty) where the program is to end at
/// once:
/// --help, --version.
llvm::Expected<std::optional<CommandLine>>
parseCommandLine(int argc, char **argv, int &exitCode);

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H
