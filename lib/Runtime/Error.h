//===- Error.h - Failures of the runtime ------------------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_ERROR_H
#define SOAP_LIB_RUNTIME_ERROR_H

#include "soap/Runtime/Runtime.h"
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

namespace soap::runtime {

/// What the C interface turns into a status and soap_last_error().
class Error : public std::runtime_error {
public:
  Error(soap_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}
  soap_status status;
};

/// Streams all arguments into one string.
template <typename... Ts>
std::string text(const Ts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Bad input (exit code 2 in tools).
template <typename... Ts>
[[noreturn]] void invalid(const Ts &...parts) {
  throw Error(SOAP_INVALID, text(parts...));
}

/// A run that failed (exit code 1 in tools).
template <typename... Ts>
[[noreturn]] void failed(const Ts &...parts) {
  throw Error(SOAP_FAILED, text(parts...));
}

/// What an exception says.
inline std::string messageOf(const std::exception_ptr &exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_ERROR_H
