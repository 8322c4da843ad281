//===- OptionValues.h - One value per option --------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_OPTIONVALUES_H
#define SOAP_TOOLS_OPTIONVALUES_H

#include <CLI/CLI.hpp>

namespace soap {

/// An option takes one value each time that it is written: `--input x=x.npy
/// m.so` has a model.
inline void takeOneValueEach(CLI::App &app) {
  for (CLI::Option *option : app.get_options({}))
    if (!option->get_positional())
      option->allow_extra_args(false);
}

} // namespace soap

#endif // SOAP_TOOLS_OPTIONVALUES_H
