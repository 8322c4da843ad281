//===- soap-property-worker.cpp - Compile and run many small models -------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler and the runtime in one process, for test/property. Reads one
// request per line, answers with one line:
//
//   {"model": FILE.onnx, "inputs": {NAME: FILE}, "folder": FOLDER,
//    "unroll_rnn": n, "fuse": bool, "precision": "f32" or "bf16",
//    "round_bias": bool,
//    "train": {...}, as Case::import has them, or left out
//    "runs": [{"devices": n, "strategy": NAME or object, "seed": n}, ...]}
//   {"runs": [{"strategy", "coverage", "outputs", "movements", "error"}, ...]}
//
//   {"list": "operations"}
//   {"operations": [NAME, ...]}, all of the nn dialect that can be split
//
// Input files hold the bytes of a tensor. Run k writes the bytes of all outputs
// to FOLDER/run<k>.bin, in the order in which it names them.
//
//===----------------------------------------------------------------------===//

#include "Case.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Dialect/SOAP/IR/SOAPOps.h"
#include "soap/Dialect/SOAPRT/IR/SOAPRT.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include <iostream>
#include <string>

using namespace soap;
using namespace soap::property;
namespace json = llvm::json;

/// Attributes are never freed: a context serves some requests only.
static constexpr int requestsPerContext = 25;

static std::unique_ptr<mlir::MLIRContext> createContext() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, nn::NNDialect, soapir::SOAPDialect,
                  soaprt::SOAPRTDialect>();
  registerNativeDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                       soapir::SOAPDialect, soaprt::SOAPRTDialect>();
  context->printOpOnDiagnostic(false);
  return context;
}

static json::Object errorObject(llvm::Error error) {
  return json::Object{{"error", llvm::toString(std::move(error))}};
}

static json::Object listOperations(mlir::MLIRContext &context) {
  json::Array names;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == nn::NNDialect::getDialectNamespace() &&
        name.hasInterface<nn::PartitionOpInterface>())
      names.push_back(name.getStringRef());
  return json::Object{{"operations", std::move(names)}};
}

static json::Object answer(const json::Object &request,
                           mlir::MLIRContext &context, NativeCode &code) {
  if (request.getString("list") == "operations")
    return listOperations(context);
  std::string folder = request.getString("folder").value_or(".").str();
  Case current(context, code, folder);
  if (llvm::Error error =
          current.import(request.getString("model").value_or(""),
                         {request.getInteger("unroll_rnn").value_or(0),
                          request.getBoolean("fuse").value_or(false),
                          request.getString("precision").value_or("f32").str(),
                          request.getBoolean("round_bias").value_or(true),
                          request.getObject("train")}))
    return errorObject(std::move(error));
  llvm::StringMap<std::string> inputs;
  if (const json::Object *files = request.getObject("inputs"))
    for (const auto &[name, path] : *files) {
      auto buffer =
          llvm::MemoryBuffer::getFile(path.getAsString().value_or(""));
      if (!buffer)
        return errorObject(
            llvm::createStringError("expected to read input " + name.str()));
      inputs[name.str()] = (*buffer)->getBuffer().str();
    }
  json::Array runs;
  if (const json::Array *requests = request.getArray("runs"))
    for (auto [index, run] : llvm::enumerate(*requests)) {
      auto result =
          current.run(*run.getAsObject(), inputs,
                      folder + "/run" + std::to_string(index) + ".bin");
      runs.push_back(result ? std::move(*result)
                            : errorObject(result.takeError()));
    }
  return json::Object{{"runs", std::move(runs)}};
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // How much the kernels are optimised; users get 3.
  HostProcessor target = HostProcessor::host();
  if (argc > 1)
    target.optLevel = std::atoi(argv[1]);
  auto code = NativeCode::create(target);
  if (!code) {
    llvm::errs() << "error: " << llvm::toString(code.takeError()) << "\n";
    return 2;
  }
  std::unique_ptr<mlir::MLIRContext> context;
  int served = 0;
  for (std::string line; std::getline(std::cin, line);) {
    auto request = json::parse(line);
    json::Object result;
    if (!request)
      result = errorObject(request.takeError());
    else if (!request->getAsObject())
      result = errorObject(llvm::createStringError("expected an object"));
    else {
      if (served++ % requestsPerContext == 0)
        context = createContext();
      result = answer(*request->getAsObject(), *context, **code);
    }
    llvm::outs() << llvm::formatv("{0}", json::Value(std::move(result)))
                 << "\n";
    llvm::outs().flush();
  }
  return 0;
}
