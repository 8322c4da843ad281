//===- soap-translate.cpp - Between ONNX and MLIR ---------------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ImportOptions.h"
#include "../OptionValues.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Support/WrittenFiles.h"
#include "soap/Target/CPU/Evaluate.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace soap;

static int report(const std::string &message, int code = 2) {
  llvm::errs() << "error: " << message << "\n";
  return code;
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
  if ((code = file.os().error())) {
    file.os().clear_error();
    return report("expected to write '" + path + "', got: " + code.message(),
                  /*code=*/1);
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
  std::string model, output = "-", recipes;
  ImportOptions import;
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
  bool training = false;
  import.declare(app, "Shapes", "Values");
  app.add_flag("--training", training,
               "Keep Dropout, for nn-build-training-step");
  takeOneValueEach(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      std::string failure = printHelp(app, error);
      return failure.empty() ? 0 : report(failure, /*code=*/1);
    }
    return report(std::string(error.what()) +
                  "; soap-translate --help lists the options");
  }
  if (list)
    return write(output, listONNXOperators);

  llvm::Expected<ONNXImportOptions> options = import.read();
  if (!options)
    return report(llvm::toString(options.takeError()));
  options->evaluate = evaluateNatively;
  options->training = training;
  WrittenFiles written;
  written.add("-o", output == "-" ? "" : output);
  written.add("--emit-recipes", recipes);
  if (llvm::Error error = written.checkApart())
    return report(llvm::toString(std::move(error)));
  mlir::MLIRContext context;
  auto module = importONNX(model, *options, context);
  if (!module)
    return report(llvm::toString(module.takeError()));
  for (const std::string &path : options->files.readFor(**module))
    if (llvm::Error error = written.checkRead(path, "which the model reads"))
      return report(llvm::toString(std::move(error)));
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
