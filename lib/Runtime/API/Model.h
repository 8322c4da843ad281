//===- Model.h - What the C interface hands out -----------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_LIB_RUNTIME_API_MODEL_H
#define SOAP_LIB_RUNTIME_API_MODEL_H

#include "API/Reports.h"
#include "Engine/Engine.h"
#include <memory>
#include <new>
#include <string>
#include <vector>

/// A model as the C interface hands it out, with what its queries keep alive.
struct soap_model {
  std::unique_ptr<soap::runtime::Engine> engine;
  /// Of the inputs and outputs of one program.
  struct Shapes {
    std::vector<std::vector<int64_t>> inputs, outputs;
  };
  std::vector<Shapes> shapes; ///< By program.
  std::vector<soap::runtime::StateTensor> state;
  std::string info;
  std::vector<soap::runtime::MovedRow> moved;
  std::vector<soap_movement> movements;
  std::vector<soap::runtime::ProcessReport> reports;
  std::vector<soap_process> processes;
  std::vector<soap_event> events, simulation;
  std::vector<std::string> gathered;
  std::vector<const void *> gatheredData;
  std::vector<size_t> gatheredSizes;
};

namespace soap::runtime {

/// What soap_last_error() returns on this thread.
std::string &lastError();

/// Runs `body`; turns what it throws into a status.
template <typename Fn>
soap_status guarded(Fn body) {
  try {
    body();
    return SOAP_OK;
  } catch (const Error &error) {
    lastError() = error.what();
    return error.status;
  } catch (const std::bad_alloc &) {
    lastError() = "expected enough memory, got: an allocation that failed; "
                  "compile with a smaller --batch, or free memory";
    return SOAP_INVALID;
  } catch (...) {
    lastError() = messageOf(std::current_exception());
    return SOAP_FAILED;
  }
}

} // namespace soap::runtime

#endif // SOAP_LIB_RUNTIME_API_MODEL_H
