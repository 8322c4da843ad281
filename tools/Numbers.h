//===- Numbers.h - Numbers on command lines ---------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of option values that say what was expected. CLI11's own print the
// limits of a double and what they call their functions.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_NUMBERS_H
#define SOAP_TOOLS_NUMBERS_H

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace soap {

/// An integer from `least` to `most`, that fits into `Integer`.
template <typename Integer>
CLI::Validator wholeNumber(Integer least = std::numeric_limits<Integer>::min(),
                           Integer most = std::numeric_limits<Integer>::max()) {
  auto check = [least, most](std::string &text) -> std::string {
    Integer value = 0;
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= least && value <= most)
      return "";
    std::string from = least > std::numeric_limits<Integer>::min() ||
                               std::is_unsigned_v<Integer>
                           ? " from " + std::to_string(least)
                           : "";
    std::string to = most < std::numeric_limits<Integer>::max()
                         ? " to " + std::to_string(most)
                         : "";
    return "expected a whole number" + from + to + ", got: '" + text + "'";
  };
  return CLI::Validator(check, "");
}

/// A finite number of at least, or more than, zero.
inline CLI::Validator positiveNumber(bool orZero) {
  auto check = [orZero](std::string &text) -> std::string {
    char *stop = nullptr;
    double value = std::strtod(text.c_str(), &stop);
    if (!text.empty() && *stop == '\0' && std::isfinite(value) &&
        (orZero ? value >= 0 : value > 0))
      return "";
    return std::string("expected a number ") +
           (orZero ? "of at least 0" : "above 0") + ", got: '" + text + "'";
  };
  return CLI::Validator(check, "");
}

} // namespace soap

#endif // SOAP_TOOLS_NUMBERS_H
