//===- LibraryKernelsTest.cpp - The library has what is left to it --------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a target says its library computes, it does: random operations under
// random strategies, whose tiles have pads, dilations and extents that no model
// states. The target `cpu` has oneDNN; `cuda` has cuDNN and cuBLASLt, or the
// stand-ins for them. SOAP_TEST_SEED and SOAP_TEST_CASES (per kind of
// operation) set the seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "RandomPrograms.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/CPU/CPUTarget.h"
#include "soap/Target/CUDA/CUDATarget.h"
#include "soap/Target/Model/MemoryPlan.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace soap;
using soap::test::fromEnvironment;

/// Checks tiles of random operations of `kind`: that at least so many are left
/// to the library, which has all of these, as `plan` finds out. Others are
/// native: LRN of an even size, pads that count in part or, for cuDNN, are of
/// two sizes, transposed convolutions with a bias.
static void checkTiles(const Target &target, StringRef kind, uint64_t cases,
                       int64_t least,
                       function_ref<llvm::Error(ModuleOp)> plan) {
  test::RandomPrograms programs(target);
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  int64_t inLibrary = 0;
  for (uint64_t i = 0; i != cases; ++i) {
    SCOPED_TRACE(kind.str() + " case " + std::to_string(i) + " of seed " +
                 std::to_string(seed));
    OwningOpRef<ModuleOp> module = programs.make(kind, seed * 1000003 + i);
    ASSERT_TRUE(module);
    for (auto kernel : module->getOps<soaprt::KernelOp>())
      inLibrary += !kernel.getNative();
    llvm::Error error = plan(*module);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  EXPECT_GE(inLibrary, least) << kind.str();
}

TEST(LibraryKernels, TheLibraryHasAllOfEveryTile) {
  CPUTarget target(HostProcessor::host());
  ModelOptions options;
  options.target = &target;
  options.coresPerDevice = 1;
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 150);
  for (StringRef kind : {"nn.conv", "nn.matmul", "nn.max_pool", "nn.avg_pool",
                         "nn.softmax", "nn.layer_norm", "nn.lrn",
                         "nn.conv_backward_data", "nn.conv_backward_filter"})
    checkTiles(target, kind, cases, cases / 8 + 1, [&](ModuleOp module) {
      return planLibraryMemory(module, options);
    });
}

/// Lets the backend of the tables' target describe the kernels of all devices.
static llvm::Error askTheBackend(ModuleOp module, const ModelOptions &options) {
  KernelCode code;
  if (NativeKernels natives(module); natives.size()) {
    FailureOr<KernelCode> compiled =
        options.target->emitKernels(natives.getModule());
    if (failed(compiled))
      return llvm::createStringError("the native kernels cannot be compiled");
    code = std::move(*compiled);
  }
  WeightsFile weights;
  FailureOr<std::string> table =
      emitTables(module, options, weights, "none", code);
  if (failed(table))
    return llvm::createStringError("the tables cannot be written");
  std::vector<soap_memory> memory(
      fb::GetModel(table->data())->devices()->size());
  if (soap_plan_memory(table->data(), table->size(), 1, memory.data(),
                       memory.size()) != SOAP_OK)
    return llvm::createStringError(soap_last_error());
  return llvm::Error::success();
}

TEST(LibraryKernels, TheLibrariesOfGpusHaveAllOfEveryTile) {
  auto machine = llvm::json::parse(soap_list_devices());
  ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
  bool hasGpu = false;
  for (const llvm::json::Value &entry :
       *machine->getAsObject()->getArray("devices")) {
    const llvm::json::Object &device = *entry.getAsObject();
    hasGpu |= device.getString("kind") == "cuda" && device.get("name");
  }
  if (!hasGpu)
    GTEST_SKIP() << "there are neither GPUs nor stand-ins for the libraries";
  llvm::Expected<GPUArchitecture> architecture = GPUArchitecture::find("");
  ASSERT_TRUE(bool(architecture)) << llvm::toString(architecture.takeError());
  CUDATarget target(*architecture);
  ModelOptions options;
  options.target = &target;
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 20);
  for (StringRef kind : {"nn.conv", "nn.matmul", "nn.conv_backward_data",
                         "nn.conv_backward_filter"}) {
    // Few gradients of filters have pads of one size.
    bool isRare = kind == "nn.conv_backward_filter";
    checkTiles(target, kind, isRare ? 3 * cases : cases, 1,
               [&](ModuleOp module) { return askTheBackend(module, options); });
  }
}
