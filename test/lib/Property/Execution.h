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
  std::string outputs; ///< The bytes of all outputs, one after another.
  /// Of the outputs, in this order: names, shapes, and types as soap_element
  /// has them.
  llvm::json::Array names, shapes, types;
  /// In the form of soap-run --json: "kind", "phase", "devices", "bytes".
  llvm::json::Array movements;
};

/// Loads a model and runs two steps: one with other inputs, so that nothing of
/// it may be left over, then the one that counts. Or, with `trainingSteps`, so
/// many that count, between what lasts from step to step before and after them:
/// "before NAME", the outputs of every step, "after NAME", and "eval NAME", the
/// outputs of the evaluation program. Movements are those of the last program.
llvm::Expected<Executed> execute(const std::string &table,
                                 const std::vector<soap_native_kernel> &natives,
                                 const std::string &folder,
                                 const llvm::StringMap<std::string> &inputs,
                                 int64_t trainingSteps);

} // namespace soap::property

#endif // SOAP_TEST_PROPERTY_EXECUTION_H
