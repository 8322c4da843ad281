//===- compile.cpp - Compiles a model in memory, and runs it --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an ONNX model into memory, searches a strategy for some devices of this
// machine and compiles it, both by the C++ interface of the compiler. Then runs
// one step on zeros by the C interface of the runtime:
//
//   compile MODEL.onnx DEVICES
//
// With CMake: find_package(SOAP), then link SOAP::SOAPCompiler,
// SOAP::SOAPTargetRegistration and SOAP::SOAPRuntime.
//
//===----------------------------------------------------------------------===//

#include "soap/Compiler/Compiler.h"
#include "soap/Runtime/Runtime.h"
#include "soap/Target/Registration/AllTargets.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

/// Compiles a model in memory to `library`. A search ends after a second, or
/// after 2,000 proposals.
static bool compile(const std::string &bytes, int devices,
                    const std::string &library) {
  soap::ModelSource source;
  source.path = "model.onnx"; // What messages call it.
  source.contents = bytes;
  soap::CompilerOptions options;
  options.devices = devices;
  options.proposals = 2000;
  options.output = library;
  soap::CompilerCallbacks callbacks;
  callbacks.message = [](soap::Severity, llvm::StringRef text) {
    std::printf("%s\n", text.str().c_str());
  };
  callbacks.progress = [](const soap::CompilerProgress &progress) {
    return progress.search && progress.search->seconds > 1
               ? soap::Proceed::EndSearch
               : soap::Proceed::Continue;
  };
  soap::CompilationResult result;
  llvm::Error error = soap::compileModel(source, options, callbacks, result);
  if (error) {
    std::printf("error: %s\n", llvm::toString(std::move(error)).c_str());
    return false;
  }
  std::printf("simulated step: %.3f ms\n",
              static_cast<double>(result.simulatedNs) / 1e6);
  return true;
}

/// Runs one step on zeros.
static bool run(const std::string &library) {
  soap_model *model = nullptr;
  if (soap_model_load(library.c_str(), nullptr, &model) != SOAP_OK)
    return false;
  std::vector<std::vector<char>> tensors;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  soap_port port;
  for (size_t i = 0; i != soap_model_input_count(model); ++i) {
    soap_model_input(model, i, &port);
    inputs.push_back(tensors.emplace_back(port.bytes).data());
  }
  for (size_t i = 0; i != soap_model_output_count(model); ++i) {
    soap_model_output(model, i, &port);
    outputs.push_back(tensors.emplace_back(port.bytes).data());
  }
  bool fine = soap_model_run(model, inputs.data(), outputs.data()) == SOAP_OK;
  for (size_t i = 0; fine && i != outputs.size(); ++i) {
    soap_model_output(model, i, &port);
    if (port.element != SOAP_F32 || port.bytes == 0)
      continue;
    const auto *values = static_cast<const float *>(outputs[i]);
    size_t best = 0;
    for (size_t k = 1; k != port.bytes / sizeof(float); ++k)
      if (values[k] > values[best])
        best = k;
    std::printf("output %s: largest element %zu (%g)\n", port.name, best,
                static_cast<double>(values[best]));
  }
  if (fine)
    std::printf("step: %.3f ms on %zu device(s)\n",
                static_cast<double>(soap_model_step_ns(model)) / 1e6,
                soap_model_device_count(model));
  soap_model_release(model);
  return fine;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::printf("error: expected MODEL.onnx DEVICES, got: %d arguments\n",
                argc - 1);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  soap::registerAllTargets();

  std::string folder =
      (std::filesystem::temp_directory_path() / "soap-example-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return 1;
  std::string library = folder + "/model.so";
  bool fine = compile(bytes, std::atoi(argv[2]), library);
  if (fine && !run(library)) {
    std::printf("error: %s\n", soap_last_error());
    fine = false;
  }
  std::filesystem::remove_all(folder);
  return fine ? 0 : 1;
}
