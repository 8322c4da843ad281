//===- Execution.h - Run a compiled table in this process -------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TEST_PROPERTY_EXECUTION_H
#define SOAP_TEST_PROPERTY_EXECUTION_H

#include "soap/Runtime/Runtime.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace soap::property {

/// What a step did.
struct Executed {
  std::string outputs;     ///< The bytes of all outputs, one after another.
  llvm::json::Array names; ///< Of the outputs, in this order.
  /// In the form of soap-run --json: "kind", "phase", "devices", "bytes".
  llvm::json::Array movements;
};

/// Loads a model and runs two steps: one with other inputs, so that nothing of
/// it may be left over, then the one that counts.
llvm::Expected<Executed> execute(const std::string &table,
                                 const std::vector<soap_native_kernel> &natives,
                                 const std::string &folder,
                                 const llvm::StringMap<std::string> &inputs);

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_EXECUTION_H
