//===- ImportOptions.cpp - How an ONNX model is read ----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportOptions.h"
#include "Numbers.h"

using namespace soap;

/// `option` is written as in the help: `--dim=NAME=N`.
static llvm::Error mistake(const llvm::Twine &option, const std::string &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "expected " + option + ", got: '" + text +
                                     "'");
}

/// Splits `NAME=VALUE` at the equals sign at `at`; false if a side is empty.
static bool split(const std::string &text, size_t at, std::string &name,
                  std::string &value) {
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

static llvm::Error readNumbers(const std::vector<std::string> &texts,
                               llvm::StringRef option,
                               std::map<std::string, int64_t> &numbers) {
  for (const std::string &text : texts) {
    std::string name, value;
    int64_t number;
    // At the last one: names may have some.
    if (!split(text, text.rfind('='), name, value) ||
        llvm::StringRef(value).getAsInteger(10, number))
      return mistake(option, text);
    if (!numbers.emplace(name, number).second)
      return mistake(option + " once for each NAME", text);
  }
  return llvm::Error::success();
}

void ImportOptions::declare(CLI::App &app, const std::string &shapes,
                            const std::string &values) {
  app.option_defaults()->group(shapes);
  app.add_option("--batch", batch_, "Size of the batch")
      ->check(wholeNumber<int64_t>())
      ->type_name("N");
  app.add_option("--dim", dims_, "Size of a symbolic dimension")
      ->type_name("NAME=N");
  app.add_option("--batch-dim", batchDims_,
                 "Which dimension of an input is the batch, if not the first")
      ->type_name("INPUT=K");
  app.option_defaults()->group(values);
  app.add_option("--bind", bindings_,
                 "Make an input a constant, from a .npy or .pb file")
      ->type_name("INPUT=FILE");
  app.add_flag("--pad-selections", padSelections_,
               "Pad results of NonMaxSuppression to their largest number of "
               "rows with -1; an output NAME_count says how many count");
  app.add_option("--init-weights", initWeights_,
                 "Seeded values for parameters that the model leaves constant")
      ->type_name("random:SEED");
}

llvm::Expected<ONNXImportOptions> ImportOptions::read() const {
  ONNXImportOptions options;
  options.batch = batch_;
  options.padSelections = padSelections_;
  if (llvm::Error error = readNumbers(dims_, "--dim=NAME=N", options.dims))
    return std::move(error);
  if (llvm::Error error =
          readNumbers(batchDims_, "--batch-dim=INPUT=K", options.batchDims))
    return std::move(error);
  for (const std::string &text : bindings_) {
    std::string name, file;
    // At the first one: files may have some, too.
    if (!split(text, text.find('='), name, file))
      return mistake("--bind=INPUT=FILE", text);
    if (!options.bindings.emplace(name, file).second)
      return mistake("--bind=INPUT=FILE once for each INPUT", text);
  }
  if (!initWeights_.empty()) {
    llvm::StringRef seed(initWeights_);
    uint64_t number;
    if (!seed.consume_front("random:") || seed.getAsInteger(10, number))
      return mistake("--init-weights=random:SEED", initWeights_);
    options.initWeightsSeed = number;
  }
  return options;
}

bool ImportOptions::needONNX() const {
  return batch_ || !dims_.empty() || !batchDims_.empty() ||
         !bindings_.empty() || padSelections_;
}
