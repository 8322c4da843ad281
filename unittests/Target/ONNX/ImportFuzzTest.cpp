//===- ImportFuzzTest.cpp - Mutated models never crash ----------*- C++ -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutates the light models, byte by byte and field by field, and imports them.
// Every import must end in a module or in an error with a message. Environment:
//   SOAP_FUZZ_CASES  number of mutated models, 2000 if not set
//   SOAP_FUZZ_FIRST  number of the first case, 0 if not set
// A case depends on its number alone. A crash leaves the mutated model in the
// temporary folder as soap-import-fuzz.onnx.
//
//===----------------------------------------------------------------------===//

#include "../../FromEnvironment.h"
#include "Mutations.h"
#include "mlir/IR/MLIRContext.h"
#include "soap/Target/ONNX/Import.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

using namespace soap;
using soap::test::below;
using soap::test::Random;

namespace {

std::vector<std::string> lightModels() {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(ONNX_LIGHT_MODEL_DIR, code), end;
       it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ImportFuzz, MutatedModelsNeverCrash) {
  std::vector<std::string> small, large;
  for (const std::string &path : lightModels()) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(static_cast<bool>(buffer)) << path;
    std::string bytes = (*buffer)->getBuffer().str();
    (bytes.size() < 20000 ? small : large).push_back(std::move(bytes));
  }
  ASSERT_FALSE(small.empty());
  ASSERT_FALSE(large.empty());

  uint64_t cases = soap::test::fromEnvironment("SOAP_FUZZ_CASES", 2000);
  uint64_t first = soap::test::fromEnvironment("SOAP_FUZZ_FIRST", 0);
  llvm::SmallString<128> path(::testing::TempDir());
  llvm::sys::path::append(path, "soap-import-fuzz.onnx");
  uint64_t imported = 0, refused = 0;
  std::unique_ptr<mlir::MLIRContext> context;
  for (uint64_t i = first; i != first + cases; ++i) {
    // Attributes are never freed: a new context now and then.
    if (!context || i % 64 == 0)
      context = std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED);
    Random random(i);
    const auto &models = below(random, 10) ? small : large;
    std::string bytes =
        test::mutateModel(models[below(random, models.size())], random);
    {
      std::error_code code;
      llvm::raw_fd_ostream file(path, code);
      ASSERT_FALSE(code) << code.message();
      file << bytes;
    }
    ONNXImportOptions options;
    if (below(random, 2))
      options.batch = 1 + static_cast<int64_t>(below(random, 4));
    if (below(random, 2))
      options.initWeightsSeed = i;
    auto module = importONNX(path, options, *context);
    if (module) {
      ++imported;
      continue;
    }
    ++refused;
    std::string message = llvm::toString(module.takeError());
    EXPECT_NE(message.find("expected"), std::string::npos)
        << "case " << i << ": " << message;
  }
  std::printf("cases %llu to %llu: %llu imported, %llu refused\n",
              static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + cases - 1),
              static_cast<unsigned long long>(imported),
              static_cast<unsigned long long>(refused));
  // Mutations that are all refused, or all harmless, would test nothing.
  if (cases >= 100) {
    EXPECT_GT(imported, cases / 50);
    EXPECT_GT(refused, cases / 50);
  }
  llvm::sys::fs::remove(path);
}

} // namespace
