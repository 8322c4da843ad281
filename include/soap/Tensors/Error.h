//===- Error.h - Failures of what works on tensors --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TENSORS_ERROR_H
#define SOAP_TENSORS_ERROR_H

#include <stdexcept>

namespace soap::tensors {

/// The caller asked for what cannot be had: a mistake of the user. soap-run
/// ends with exit code 2.
struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// What was asked for failed. soap-run ends with exit code 1.
struct RunError : std::runtime_error {
  using runtime_error::runtime_error;
};

} // namespace soap::tensors

#endif // SOAP_TENSORS_ERROR_H
