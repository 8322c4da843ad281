//===- TargetTest.cpp - A second target, and targets by name --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of a model are the target's: what its library has, where kernels
// may start to read, its name. SOAP_TEST_SEED and SOAP_TEST_CASES (per kind of
// operation) set the seed and the amount.
//
//===----------------------------------------------------------------------===//

#include "../FromEnvironment.h"
#include "EmulatedTarget.h"
#include "RandomPrograms.h"
#include "soap/Runtime/Model.fbs.h"
#include "soap/Target/Model/Model.h"
#include "soap/Target/TargetRegistry.h"

using namespace mlir;
using namespace soap;
using namespace soap::test;

namespace {
/// What the models of a target have, summed over random programs.
struct Found {
  /// Kernels by the member of the union that they are.
  std::map<fb::KernelOp, int> kernels;
  /// The largest power of two of which all offsets are multiples.
  uint64_t alignment = uint64_t{1} << 40;
};
} // namespace

/// Checks tables of random programs of `kinds`, and says what they have.
static void collect(const Target &target, ArrayRef<StringRef> kinds,
                    Found &found) {
  RandomPrograms programs(target);
  ModelOptions options;
  options.target = &target;
  uint64_t seed = fromEnvironment("SOAP_TEST_SEED", 1);
  uint64_t cases = fromEnvironment("SOAP_TEST_CASES", 40);
  for (StringRef kind : kinds)
    for (uint64_t i = 0; i != cases; ++i) {
      SCOPED_TRACE(kind.str() + " case " + std::to_string(i) + " of seed " +
                   std::to_string(seed));
      OwningOpRef<ModuleOp> module = programs.make(kind, seed * 1000003 + i);
      ASSERT_TRUE(module);
      WeightsFile weights;
      FailureOr<std::string> table =
          emitTables(*module, options, weights, "none");
      ASSERT_TRUE(succeeded(table));
      const fb::Model *model = fb::GetModel(table->data());
      EXPECT_EQ(model->target()->str(), target.getName());
      for (const fb::Kernel *kernel : *model->kernels())
        ++found.kernels[kernel->op_type()];
      for (const fb::Device *device : *model->devices()) {
        if (!device->buffers())
          continue;
        for (const fb::Buffer *buffer : *device->buffers())
          while (buffer->offset() % found.alignment != 0)
            found.alignment /= 2;
      }
    }
}

TEST(Target, TablesAreTheTargets) {
  StringRef kinds[] = {"nn.conv", "nn.max_pool", "nn.avg_pool", "nn.softmax"};
  Found cpu, emulated;
  collect(CPUTarget(HostProcessor::host()), kinds, cpu);
  collect(EmulatedTarget(HostProcessor::host()), kinds, emulated);
  // Both libraries have convolutions, only one has pools and softmax.
  EXPECT_GT(cpu.kernels[fb::KernelOp::Conv], 0);
  EXPECT_GT(cpu.kernels[fb::KernelOp::Pool], 0);
  EXPECT_GT(cpu.kernels[fb::KernelOp::Softmax], 0);
  EXPECT_GT(emulated.kernels[fb::KernelOp::Conv], 0);
  EXPECT_EQ(emulated.kernels[fb::KernelOp::Pool], 0);
  EXPECT_EQ(emulated.kernels[fb::KernelOp::Softmax], 0);
  EXPECT_GT(emulated.kernels[fb::KernelOp::Native],
            cpu.kernels[fb::KernelOp::Native]);
  // Otherwise, equal alignments would say nothing.
  EXPECT_EQ(cpu.alignment, 64u);
  EXPECT_EQ(emulated.alignment, 256u);
}

TEST(Target, DescribesThisMachine) {
  EmulatedTarget target(HostProcessor::host());
  MachineRequest request;
  request.devices = 3;
  llvm::Expected<Topology> machine = target.describeMachine(request);
  ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
  EXPECT_EQ(machine->numDevices(), 3);
  EXPECT_EQ(machine->kindOf(2).name, "emulated");
  EXPECT_EQ(machine->kindOf(2).alignment, 256);
  // As a file, too.
  llvm::Expected<Topology> read = Topology::parse(machine->toJSON());
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->kindOf(2).alignment, 256);
  request.devices = 0;
  machine = target.describeMachine(request);
  EXPECT_EQ(llvm::toString(machine.takeError()),
            "expected at least one device, got: 0; ask for 1 or more");
}

/// The error of a target that cannot be made.
static std::string errorOf(StringRef name, const TargetOptions &options = {}) {
  llvm::Expected<std::unique_ptr<Target>> target = createTarget(name, options);
  return target ? "" : llvm::toString(target.takeError());
}

TEST(Target, IsFoundByName) {
  registerCPUTarget();
  registerEmulatedTarget();
  registerCPUTarget(); // Again: nothing.
  ASSERT_EQ(registeredTargets().size(), 2u);
  EXPECT_EQ((*createTarget(""))->getName(), "cpu");
  EXPECT_EQ((*createTarget("emulated"))->getName(), "emulated");
  EXPECT_EQ(errorOf("cpu", {"x86-64-v3"}), "");
  EXPECT_EQ(errorOf("abacus"),
            "expected the name of a target (cpu, emulated), got: 'abacus'; "
            "soap-compile --help describes them");
  EXPECT_NE(errorOf("cpu", {"z80"}).find("got: z80"), std::string::npos);
  EXPECT_EQ(errorOf("emulated", {"z80"}),
            "expected no processor with target emulated, which has but one "
            "kind of code, got: 'z80'; leave --mcpu out");
}
