//===- LibraryKernelsTest.cpp - The library has what is left to it --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the target `cpu` says its library (oneDNN) computes, it does: random
// operations under random strategies, whose tiles have pads, dilations and
// extents that no model states. SOAP_TEST_SEED and SOAP_TEST_CASES (per kind of
// operation) set the seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "RandomPrograms.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "soap/Target/Model/MemoryPlan.h"

using namespace mlir;
using namespace soap;
using soap::test::fromEnvironment;

TEST(LibraryKernels, TheLibraryHasAllOfEveryTile) {
  CPUTarget target(HostProcessor::host());
  test::RandomPrograms programs(target);
  ModelOptions options;
  options.target = &target;
  options.coresPerDevice = 1;

  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 150);
  for (StringRef kind : {"nn.conv", "nn.matmul", "nn.max_pool", "nn.avg_pool",
                         "nn.softmax", "nn.layer_norm", "nn.lrn",
                         "nn.conv_backward_data", "nn.conv_backward_filter"}) {
    int64_t inLibrary = 0;
    for (uint64_t i = 0; i != cases; ++i) {
      SCOPED_TRACE(kind.str() + " case " + std::to_string(i) + " of seed " +
                   std::to_string(seed));
      OwningOpRef<ModuleOp> module = programs.make(kind, seed * 1000003 + i);
      ASSERT_TRUE(module);
      for (auto kernel : module->getOps<soaprt::KernelOp>())
        inLibrary += !kernel.getNative();
      llvm::Error error = planLibraryMemory(*module, options);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }
    // Others are native: LRN of an even size, pads that count in part,
    // transposed convolutions with a bias.
    EXPECT_GT(inLibrary, int64_t(cases) / 8) << kind.str();
  }
}
