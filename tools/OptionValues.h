//===- OptionValues.h - One value per option --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_OPTIONVALUES_H
#define SOAP_TOOLS_OPTIONVALUES_H

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

namespace soap {

/// An option takes one value each time that it is written: `--input x=x.npy
/// m.so` has a model.
inline void takeOneValueEach(CLI::App &app) {
  for (CLI::Option *option : app.get_options({}))
    if (!option->get_positional())
      option->allow_extra_args(false);
}

/// Prints the help or the version, which `error` asks for. Returns what went
/// wrong, or "".
inline std::string printHelp(const CLI::App &app,
                             const CLI::ParseError &error) {
  errno = 0;
  (void)app.exit(error);
  if (std::cout.flush())
    return "";
  return std::string("expected to write to the standard output, got: ") +
         std::strerror(errno ? errno : EIO);
}

/// Throws if a word is an option with an equals sign and nothing behind it, as
/// `--trace=$FILE` without FILE: the parser would take the next word for its
/// value.
template <typename Words>
void checkValues(const Words &words) {
  for (const std::string word : words)
    if (word.size() > 3 && word.compare(0, 2, "--") == 0 &&
        word.find('=') == word.size() - 1)
      throw CLI::ValidationError(word.substr(0, word.size() - 1),
                                 "expected a value behind '" + word +
                                     "', got: nothing");
}

} // namespace soap

#endif // SOAP_TOOLS_OPTIONVALUES_H
