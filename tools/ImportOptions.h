//===- ImportOptions.h - How an ONNX model is read --------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_TOOLS_IMPORTOPTIONS_H
#define SOAP_TOOLS_IMPORTOPTIONS_H

#include "soap/Target/ONNX/Import.h"
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace soap {

/// --batch, --dim, --batch-dim, --bind, --pad-selections and --init-weights, as
/// they were written.
class ImportOptions {
public:
  /// Declares them: sizes in the group `shapes` of the help, constants in the
  /// group `values`. `app` may not outlive this object.
  void declare(CLI::App &app, const std::string &shapes,
               const std::string &values);

  /// What the importer takes; it checks names and sizes. Fails with one line
  /// that says what was expected.
  llvm::Expected<ONNXImportOptions> read() const;

  /// True if one was given that only an ONNX model can take: all of them but
  /// --init-weights.
  bool needONNX() const;

private:
  std::optional<int64_t> batch_;
  std::vector<std::string> dims_, batchDims_, bindings_;
  std::string initWeights_;
  bool padSelections_ = false;
};

} // namespace soap

#endif // SOAP_TOOLS_IMPORTOPTIONS_H
