//===- CompilerTest.cpp - The compiler as a library -----------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"
#include "soap/Runtime/Runtime.h"
#include <cmath>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::test;
using Kind = CompileError::Kind;

/// Compiles and expects it to succeed.
static CompilationResult compile(const ModelSource &source,
                                 const CompilerOptions &options,
                                 const CompilerCallbacks &callbacks = {}) {
  CompilationResult result;
  llvm::Error error = compileModel(source, options, callbacks, result);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  return result;
}

static void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Runs y = model(x) once.
static std::vector<float> run(const std::string &path,
                              const std::vector<float> &x) {
  soap_model *model = nullptr;
  EXPECT_EQ(soap_model_load(path.c_str(), nullptr, &model), SOAP_OK)
      << soap_last_error();
  std::vector<float> y(x.size());
  if (!model)
    return y;
  const void *in = x.data();
  void *out = y.data();
  EXPECT_EQ(soap_model_run(model, &in, &out), SOAP_OK) << soap_last_error();
  soap_model_release(model);
  return y;
}

static std::vector<float> someInput(size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i != count; ++i)
    x[i] = static_cast<float>(i % 7) - 3;
  return x;
}

static void expectNear(const std::vector<float> &got,
                       const std::vector<float> &expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i != got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-4 * (1 + std::fabs(expected[i]))) << i;
}

TEST(Compiler, FromMemoryToMemory) {
  std::string model = makeModel(3, 4, 16);
  CompilerOptions options = quickOptions();
  options.devices = 2;
  options.strategy = "tensor-parallel";
  CompilationResult result = compile(inMemory(model), options);
  ASSERT_FALSE(result.model.library.empty());
  ASSERT_FALSE(result.model.weights.empty());
  EXPECT_EQ(result.model.weightsName, "model.safetensors");
  EXPECT_GT(result.simulatedNs, 0);
  EXPECT_NE(result.strategy.find("soap-strategy"), std::string::npos);
  EXPECT_TRUE(result.text.empty());
  // The runtime loads files.
  Folder folder;
  write(folder.file("any.so"), result.model.library);
  write(folder.file(result.model.weightsName), result.model.weights);
  std::vector<float> x = someInput(4 * 16);
  expectNear(run(folder.file("any.so"), x), evaluate(3, 4, 16, x));
}

TEST(Compiler, ExternalDataInMemory) {
  std::string external;
  std::string model = makeModel(2, 2, 8, Weights::External, &external);
  for (const char *path : {"model.onnx", "some/folder/model.onnx"}) {
    ModelSource source = inMemory(model, path);
    source.files["weights.bin"] = external;
    Folder folder;
    CompilerOptions options = quickOptions();
    options.output = folder.file("m.so");
    compile(source, options);
    EXPECT_EQ(folder.list(),
              (std::vector<std::string>{"m.safetensors", "m.so"}));
    std::vector<float> x = someInput(2 * 8);
    expectNear(run(folder.file("m.so"), x), evaluate(2, 2, 8, x));
  }
  // Without it, the file is looked for on disk.
  CompilationResult result;
  Failure failure =
      failureOf(compileModel(inMemory(model), quickOptions(), {}, result));
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_NE(failure.text.find("weights.bin"), std::string::npos)
      << failure.text;
  // One that is too short is refused.
  ModelSource source = inMemory(model);
  source.files["weights.bin"] = llvm::StringRef(external).drop_back(4);
  failure = failureOf(compileModel(source, quickOptions(), {}, result));
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_NE(failure.text.find("truncated"), std::string::npos) << failure.text;
}

TEST(Compiler, AModelInMemoryIsTheOneInTheFile) {
  std::string external;
  std::string model = makeModel(2, 4, 8, Weights::External, &external);
  Folder folder;
  write(folder.file("model.onnx"), model);
  write(folder.file("weights.bin"), external);
  ModelSource file, memory = inMemory(model, folder.file("model.onnx"));
  file.path = memory.path;
  memory.files["weights.bin"] = external;
  for (Emit emit : {Emit::NN, Emit::Strategy, Emit::SOAP, Emit::SOAPRT,
                    Emit::LLVM, Emit::Report, Emit::SharedObject}) {
    CompilerOptions options = quickOptions();
    options.emit = emit;
    options.devices = 2;
    options.strategy = "data-parallel";
    CompilationResult a = compile(file, options), b = compile(memory, options);
    EXPECT_EQ(a.text.empty(), emit == Emit::SharedObject);
    EXPECT_EQ(a.text, b.text) << stringify(emit).str();
    EXPECT_EQ(a.model.library, b.model.library);
    EXPECT_EQ(a.model.weights, b.model.weights);
    EXPECT_EQ(a.strategy, b.strategy);
  }
}

TEST(Compiler, LevelsGoOnFromMemory) {
  std::string model = makeModel(3, 4, 16);
  CompilerOptions options = quickOptions();
  options.devices = 2;
  options.strategy = "tensor-parallel";
  std::string direct = compile(inMemory(model), options).model.library;
  for (Emit emit : {Emit::NN, Emit::Strategy}) {
    options.emit = emit;
    options.strategy = "tensor-parallel";
    CompilationResult level = compile(inMemory(model), options);
    // The level refers to bytes of the ONNX model.
    ModelSource source = inMemory(level.text, "model.mlir");
    source.files["model.onnx"] = model;
    options.emit = Emit::SharedObject;
    options.strategy = emit == Emit::NN ? "tensor-parallel" : "";
    CompilationResult result = compile(source, options);
    EXPECT_EQ(result.model.library, direct);
  }
}

TEST(Compiler, WhatIsAskedForBesideTheModel) {
  CompilerOptions options = quickOptions();
  options.emit = Emit::SOAP;
  options.topology = "p100:nodes=1";
  options.strategy = "search";
  options.proposals = 200;
  options.prove = options.strategyTable = options.movements = true;
  std::string model = makeModel(3, 8, 16);
  CompilationResult result = compile(inMemory(model), options);
  EXPECT_NE(result.text.find("soap.task"), std::string::npos);
  EXPECT_NE(result.strategyTable.find("product1"), std::string::npos);
  ASSERT_TRUE(result.proof);
  EXPECT_NE(result.proof->getObject("coverage"), nullptr);
  EXPECT_FALSE(result.proofText.empty());
  ASSERT_TRUE(result.search);
  EXPECT_EQ(result.search->getInteger("step_ns"), result.simulatedNs);
  EXPECT_EQ(result.searchLog.rfind("seconds,proposals,best_ns\n", 0), 0u);
  EXPECT_NE(result.movements.find("\"bytes\""), std::string::npos);
  EXPECT_FALSE(result.report);

  options = quickOptions();
  options.emit = Emit::Topology;
  options.devices = 3;
  EXPECT_NE(compile({}, options).text.find("\"devices\""), std::string::npos);
}

TEST(Compiler, MistakesAreErrorsWithAKind) {
  std::string model = makeModel(1, 2, 4);
  auto fails = [&](const ModelSource &source, const CompilerOptions &options) {
    CompilationResult result;
    return failureOf(compileModel(source, options, {}, result));
  };
  Failure failure = fails(inMemory("no model"), quickOptions());
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_NE(failure.text.find("expected an ONNX model"), std::string::npos);

  failure = fails(inMemory("func.func @main() {", "m.mlir"), quickOptions());
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_EQ(failure.text.rfind("m.mlir:1:", 0), 0u) << failure.text;

  CompilerOptions options = quickOptions();
  options.strategy = "best";
  failure = fails(inMemory(model), options);
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_NE(failure.text.find("expected --strategy="), std::string::npos);

  options = quickOptions();
  options.target = "abacus";
  failure = fails(inMemory(model), options);
  EXPECT_EQ(failure.kind, Kind::BadInput);
  EXPECT_NE(failure.text.find("'abacus'"), std::string::npos);

  ModelSource missing;
  missing.path = "no-such-model.onnx";
  EXPECT_EQ(fails(missing, quickOptions()).kind, Kind::BadInput);

  // The folder is there when the options are checked, and then no more.
  options = quickOptions();
  auto folder = std::make_unique<Folder>();
  options.output = folder->file("m.so");
  CompilerCallbacks callbacks;
  callbacks.progress = [&](const CompilerProgress &progress) {
    if (progress.stage == Stage::Emit)
      folder.reset();
    return Proceed::Continue;
  };
  CompilationResult result;
  failure =
      failureOf(compileModel(inMemory(model), options, callbacks, result));
  EXPECT_EQ(failure.kind, Kind::Failed);
  EXPECT_NE(failure.text.find("m.safetensors"), std::string::npos)
      << failure.text;
  // What was made before is there.
  EXPECT_FALSE(result.strategy.empty());
}

TEST(Compiler, PrintsNothingAndHandlesNoSignals) {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGTERM, SIGUSR1, SIGUSR2,
                              SIGILL,  SIGTRAP, SIGABRT, SIGFPE,  SIGBUS,
                              SIGQUIT, SIGPIPE, SIGSEGV, SIGALRM};
  auto handlers = [&] {
    std::vector<void (*)(int)> list;
    for (int signal : signals) {
      struct sigaction action = {};
      sigaction(signal, nullptr, &action);
      list.push_back(action.sa_handler);
    }
    return list;
  };
  auto before = handlers();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Folder folder;
  CompilerOptions options = quickOptions();
  options.devices = 2;
  options.proposals = 100;
  options.prove = options.strategyTable = options.movements = true;
  options.output = folder.file("m.so");
  std::string model = makeModel(2, 4, 8);
  compile(inMemory(model), options);
  options.output.clear();
  compile(inMemory(model), options);
  options.strategy = "single";
  options.topology = "no-such-machine";
  options.devices.reset();
  CompilationResult result;
  failureOf(compileModel(inMemory(model), options, {}, result));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(handlers(), before);
}

TEST(Compiler, TemporaryFilesAreAnnounced) {
  Folder folder;
  std::vector<std::string> made, gone;
  CompilerCallbacks callbacks;
  callbacks.temporaryFile = [&](llvm::StringRef path, bool exists) {
    (exists ? made : gone).push_back(path.str());
  };
  CompilerOptions options = quickOptions();
  options.output = folder.file("m.so");
  std::string model = makeModel(2, 4, 8);
  compile(inMemory(model), options, callbacks);
  EXPECT_GE(made.size(), 3u);
  for (const std::string &path : made)
    EXPECT_NE(std::find(gone.begin(), gone.end(), path), gone.end()) << path;
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"m.safetensors", "m.so"}));
}
