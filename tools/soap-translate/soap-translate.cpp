//===- soap-translate.cpp - Between ONNX and MLIR ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Numbers.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace soap;

static int report(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return 2;
}

/// Splits `NAME=VALUE` at the last equals sign (ONNX names may have some).
static bool split(const std::string &text, std::string &name,
                  std::string &value) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

static bool splitNumber(const std::string &text, std::string &name,
                        int64_t &number) {
  std::string value;
  return split(text, name, value) &&
         !llvm::StringRef(value).getAsInteger(10, number);
}

/// Writes to `path`, or to standard output for "-".
static int write(const std::string &path,
                 llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_Text);
  if (code)
    return report("expected a file to write to, got: '" + path +
                  "': " + code.message());
  print(file.os());
  file.os().flush();
  if (file.os().has_error()) {
    file.os().clear_error();
    return report("expected to write all of '" + path + "', got: a full disk");
  }
  file.keep();
  return 0;
}

int main(int argc, char **argv) {
  CLI::App app("Reads ONNX models into MLIR (the nn dialect).\n\n"
               "Example:\n"
               "  soap-translate --import-onnx resnet50.onnx --batch=4 "
               "--init-weights=random:1 -o resnet50.mlir\n",
               "soap-translate");
  app.set_version_flag("--version", "soap-translate " SOAP_VERSION);
  std::string model, output = "-", weights, recipes;
  int64_t batch = 0;
  std::vector<std::string> dims, batchDims, bindings;
  bool list = false;
  auto *modes = app.add_option_group("What to do");
  modes->add_option("--import-onnx", model, "ONNX model to read")
      ->type_name("MODEL.onnx");
  modes->add_flag("--list-onnx-ops", list,
                  "Print the table of supported operators");
  modes->require_option(1);
  app.option_defaults()->group("Output");
  app.add_option("-o,--output", output, "File to write; - is standard output")
      ->type_name("FILE");
  app.add_option("--emit-recipes", recipes,
                 "Write the recipes of seeded weights as JSON")
      ->type_name("FILE.json");
  app.option_defaults()->group("Shapes");
  auto *batchOption = app.add_option("--batch", batch, "Size of the batch")
                          ->check(wholeNumber<int64_t>())
                          ->type_name("N");
  app.add_option("--dim", dims, "Size of a symbolic dimension")
      ->type_name("NAME=N");
  app.add_option("--batch-dim", batchDims,
                 "Which dimension of an input is the batch, if not the first")
      ->type_name("INPUT=K");
  app.option_defaults()->group("Values");
  app.add_option("--bind", bindings,
                 "Make an input a constant, from a .npy or .pb file")
      ->type_name("INPUT=FILE");
  app.add_option("--init-weights", weights,
                 "Seeded values for parameters that the model leaves constant")
      ->type_name("random:SEED");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return report(std::string(error.what()) +
                  "; soap-translate --help lists the options");
  }
  if (list)
    return write(output, listONNXOperators);

  ONNXImportOptions options;
  if (batchOption->count() != 0)
    options.batch = batch;
  std::string name;
  int64_t number;
  for (const std::string &text : dims) {
    if (!splitNumber(text, name, number))
      return report("expected --dim=NAME=N, got: '" + text + "'");
    options.dims[name] = number;
  }
  for (const std::string &text : batchDims) {
    if (!splitNumber(text, name, number))
      return report("expected --batch-dim=INPUT=K, got: '" + text + "'");
    options.batchDims[name] = number;
  }
  for (const std::string &text : bindings) {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      return report("expected --bind=INPUT=FILE, got: '" + text + "'");
    options.bindings[text.substr(0, at)] = text.substr(at + 1);
  }
  if (!weights.empty()) {
    llvm::StringRef seed(weights);
    uint64_t parsed;
    if (!seed.consume_front("random:") || seed.getAsInteger(10, parsed))
      return report("expected --init-weights=random:SEED, got: '" + weights +
                    "'");
    options.initWeightsSeed = parsed;
  }

  mlir::MLIRContext context;
  auto module = importONNX(model, options, context);
  if (!module)
    return report(llvm::toString(module.takeError()));
  if (!recipes.empty())
    if (int code = write(recipes, [&](llvm::raw_ostream &os) {
          writeRecipes(**module, os);
        }))
      return code;
  return write(output, [&](llvm::raw_ostream &os) {
    (*module)->print(os);
    os << "\n";
  });
}
