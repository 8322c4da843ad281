//===- CommandLine.h - Options of soap-compile ------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H
#define SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H

#include "soap/Compiler/Options.h"

namespace soap {

/// What was asked for, checked.
struct CommandLine {
  ModelSource source;
  CompilerOptions options;
  /// Where the level goes that is printed; empty: standard output. Not for
  /// Emit::SharedObject, whose output is in the options.
  std::string levelOutput;
  std::string exportStrategy, exportMovements, searchLog; ///< Files, or empty.
  bool timing = false;
  bool json = false; ///< Print reports and proofs as one JSON object.
};

/// Reads the command line. Fails with one line that says what was expected;
/// `exitCode` is set (and the result empty) where the program is to end at
/// once: --help, --version.
llvm::Expected<std::optional<CommandLine>>
parseCommandLine(int argc, char **argv, int &exitCode);

} // namespace soap

#endif // SOAP_TOOLS_SOAPCOMPILE_COMMANDLINE_H
