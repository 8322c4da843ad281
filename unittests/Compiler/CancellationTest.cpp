//===- CancellationTest.cpp - Compilations that are cancelled -------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"
#include <gtest/gtest.h>

using namespace soap;
using namespace soap::test;
using Kind = CompileError::Kind;

namespace {
/// A search that would take ten minutes.
class Cancellation : public testing::Test {
protected:
  Cancellation() : options(quickOptions()) {
    options.topology = "p100:nodes=2";
    options.strategy = "search";
    options.budgetSeconds = 600;
    options.proposals = options.stagnation = uint64_t{1} << 60;
    options.output = folder.file("m.so");
    callbacks.message = [this](Severity, llvm::StringRef text) {
      messages += text.str() + "\n";
    };
  }

  Folder folder;
  std::string model = makeModel(12, 16, 16);
  CompilerOptions options;
  CompilerCallbacks callbacks;
  CompilationResult result;
  std::string messages;
};
} // namespace

TEST_F(Cancellation, InMidSearch) {
  uint64_t reports = 0;
  callbacks.progress = [&](const CompilerProgress &progress) {
    if (!progress.search)
      return Proceed::Continue;
    EXPECT_EQ(progress.stage, Stage::Search);
    EXPECT_GT(progress.search->bestNs, 0);
    return ++reports == 3 ? Proceed::Cancel : Proceed::Continue;
  };
  Failure failure =
      failureOf(compileModel(inMemory(model), options, callbacks, result));
  EXPECT_EQ(failure.kind, Kind::Cancelled);
  EXPECT_NE(failure.text.find("cancelled"), std::string::npos);
  EXPECT_EQ(reports, 3u);
  EXPECT_LT(result.seconds[static_cast<size_t>(Stage::Search)], 300);
  EXPECT_TRUE(folder.list().empty());
  EXPECT_TRUE(result.strategy.empty());
}

TEST_F(Cancellation, EndingASearchTakesTheBestSoFar) {
  int64_t best = 0;
  callbacks.progress = [&](const CompilerProgress &progress) {
    if (!progress.search)
      return Proceed::Continue;
    best = progress.search->bestNs;
    return Proceed::EndSearch;
  };
  options.output.clear();
  options.emit = Emit::Strategy;
  llvm::Error error = compileModel(inMemory(model), options, callbacks, result);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  EXPECT_GT(best, 0);
  EXPECT_LE(result.simulatedNs, best);
  EXPECT_NE(messages.find("stopped by the user, the best so far is taken"),
            std::string::npos)
      << messages;
}

TEST_F(Cancellation, AtTheBeginningOfEveryStage) {
  options.topology.clear();
  options.devices = 2;
  options.proposals = 50;
  options.stagnation = 0;
  // All stages but the calibration, which is switched off.
  std::vector<Stage> stages;
  callbacks.progress = [&](const CompilerProgress &progress) {
    if (!progress.search)
      stages.push_back(progress.stage);
    return Proceed::Continue;
  };
  ASSERT_FALSE(static_cast<bool>(
      compileModel(inMemory(model), options, callbacks, result)));
  EXPECT_EQ(stages,
            (std::vector<Stage>{Stage::Import, Stage::Normalize, Stage::Search,
                                Stage::Strategy, Stage::Partition, Stage::Lower,
                                Stage::LibraryMemory, Stage::Emit}));
  double total = 0;
  for (double seconds : result.seconds)
    total += seconds;
  EXPECT_GT(total, 0);

  for (Stage last : stages) {
    Folder empty;
    options.output = empty.file("m.so");
    callbacks.progress = [&](const CompilerProgress &progress) {
      return progress.stage == last ? Proceed::Cancel : Proceed::Continue;
    };
    Failure failure =
        failureOf(compileModel(inMemory(model), options, callbacks, result));
    EXPECT_EQ(failure.kind, Kind::Cancelled) << stringify(last).str();
    EXPECT_NE(failure.text.find(stringify(last).str()), std::string::npos)
        << failure.text;
    EXPECT_TRUE(empty.list().empty()) << stringify(last).str();
  }
}

TEST_F(Cancellation, EndingTheMeasurementsTakesTheBestNamedStrategy) {
  // Nothing is known before, and nothing is kept.
  setenv("SOAP_CALIBRATION_DIR", "", 1);
  options.topology.clear();
  options.devices = 2;
  options.measureCosts = true;
  int32_t kernels = 0;
  callbacks.progress = [&](const CompilerProgress &progress) {
    EXPECT_NE(progress.stage, Stage::Search);
    if (!progress.measuring || progress.measuring->runs == 0)
      return Proceed::Continue;
    EXPECT_EQ(progress.measuring->runs, 1);
    kernels = progress.measuring->kernels;
    return Proceed::EndSearch;
  };
  llvm::Error error = compileModel(inMemory(model), options, callbacks, result);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  EXPECT_GT(kernels, 0);
  ASSERT_TRUE(result.costs.has_value());
  EXPECT_EQ(result.costs->getInteger("measured"), kernels);
  EXPECT_FALSE(result.strategy.empty());

  // Trials measure, too. Cancelling leaves nothing.
  Folder empty;
  options.output = empty.file("m.so");
  options.measureCosts = std::nullopt;
  options.tuneSeconds = 1;
  callbacks.progress = [&](const CompilerProgress &progress) {
    return progress.measuring ? Proceed::Cancel : Proceed::Continue;
  };
  Failure failure =
      failureOf(compileModel(inMemory(model), options, callbacks, result));
  EXPECT_EQ(failure.kind, Kind::Cancelled);
  EXPECT_TRUE(empty.list().empty());
}
