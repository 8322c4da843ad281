//===- CodeTest.cpp - What code kernels become ----------------------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "soap/Conversion/NNToKernels/NativeKernels.h"
#include "soap/Dialect/NN/IR/NN.h"
#include "soap/Target/CPU/EmitKernels.h"
#include "soap/Target/CPU/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;

namespace {
class Code : public testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerNativeDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  /// The assembly of the kernel of `op`, whose operands are %x and %c.
  std::string assemble(const std::string &op, const char *cpu) {
    module_ = parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<2x8x6x7xf32>, %c: tensor<8xf32>) {\n%0 = " +
            op + "\nreturn }",
        &context_);
    if (!module_)
      return "";
    NativeKernels kernels(*module_);
    module_->walk([&](Operation *candidate) {
      if (NativeKernels::supports(candidate))
        (void)kernels.getOrCreate(candidate);
    });
    FailureOr<std::string> assembly = emitNativeAssembly(
        kernels.getModule(), llvm::cantFail(HostProcessor::find(cpu)));
    return succeeded(assembly) ? *assembly : "";
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
};
} // namespace

/// Calls of functions, `call foo` or `jmp foo@PLT`.
static std::vector<std::string> callsIn(StringRef assembly) {
  std::vector<std::string> calls;
  SmallVector<StringRef> lines;
  assembly.split(lines, '\n');
  for (StringRef line : lines)
    if (line.trim().starts_with("call") || line.contains("@PLT"))
      calls.push_back(line.trim().str());
  return calls;
}

#if defined(__x86_64__)
TEST_F(Code, ElementwiseKernelsAreVectorLoopsWithoutCalls) {
  struct Case {
    const char *op, *instruction;
  };
  const Case cases[] = {
      {"nn.relu %x {nn.name = \"r\"} : tensor<2x8x6x7xf32>", "vmaxps"},
      {"nn.add %x, %x {nn.name = \"r\"} : (tensor<2x8x6x7xf32>, "
       "tensor<2x8x6x7xf32>) -> tensor<2x8x6x7xf32>",
       "vaddps"},
      {"nn.batch_norm %x, %c, %c, %c, %c {nn.name = \"r\", epsilon = 1.0e-05 "
       ": f32} : tensor<2x8x6x7xf32>, tensor<8xf32>",
       "vfmadd"},
      {"nn.clip %x {nn.name = \"r\", min = 0.0 : f32, max = 6.0 : f32} : "
       "tensor<2x8x6x7xf32>",
       "vminps"},
      {"nn.sigmoid %x {nn.name = \"r\"} : tensor<2x8x6x7xf32>", "vdivps"},
      {"nn.tanh %x {nn.name = \"r\"} : tensor<2x8x6x7xf32>", "vdivps"},
      {"nn.sqrt %x {nn.name = \"r\"} : tensor<2x8x6x7xf32>", "vsqrtps"},
  };
  for (const char *cpu : {"x86-64-v3", "x86-64-v4"})
    for (const Case &c : cases) {
      SCOPED_TRACE(std::string(cpu) + ": " + c.op);
      std::string code = assemble(c.op, cpu);
      ASSERT_FALSE(code.empty());
      bool vectors = false;
      SmallVector<StringRef> lines;
      StringRef(code).split(lines, '\n');
      for (StringRef line : lines)
        vectors |= line.contains(c.instruction) &&
                   (line.contains("%ymm") || line.contains("%zmm"));
      EXPECT_TRUE(vectors) << code;
      EXPECT_EQ(callsIn(code), std::vector<std::string>());
    }
}

TEST_F(Code, BatchNormComputesItsFactorsOncePerChannel) {
  std::string code = assemble("nn.batch_norm %x, %c, %c, %c, %c {nn.name = "
                              "\"r\", epsilon = 1.0e-05 : f32} : "
                              "tensor<2x8x6x7xf32>, tensor<8xf32>",
                              "x86-64-v3");
  // Scalar, outside of the pixels' loop: not one vector of divisions.
  EXPECT_TRUE(StringRef(code).contains("vdivss"));
  EXPECT_FALSE(StringRef(code).contains("vdivps"));
}

TEST_F(Code, ShortRowsAreVectors) {
  // LLVM would unroll the loop over 16 elements before it looks for vectors.
  module_ = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<64x16xf32>) {\n%0 = nn.reduce %x {nn.name = "
      "\"r\", axes = array<i64: 1>, keepdims = false, kind = "
      "#nn.reduce_kind<sum>} : "
      "(tensor<64x16xf32>) -> tensor<64xf32>\nreturn }",
      &context_);
  ASSERT_TRUE(module_);
  NativeKernels kernels(*module_);
  module_->walk([&](nn::ReduceOp op) { (void)kernels.getOrCreate(op); });
  FailureOr<std::string> code = emitNativeAssembly(
      kernels.getModule(), llvm::cantFail(HostProcessor::find("x86-64-v3")));
  ASSERT_TRUE(succeeded(code));
  EXPECT_TRUE(StringRef(*code).contains("vaddps")) << *code;
  EXPECT_LT(StringRef(*code).count("vaddss"), 4U) << *code;
}

TEST_F(Code, ProcessorDecidesTheInstructions) {
  std::string op = "nn.relu %x {nn.name = \"r\"} : tensor<2x8x6x7xf32>";
  EXPECT_EQ(assemble(op, "x86-64").find("ymm"), std::string::npos);
}
#endif

TEST_F(Code, NestsOfShortLoopsStayLoops) {
  // LLVM would unroll 32 x 12 rows into one block of 3,000 instructions.
  module_ = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<2x32x12x64xf32>) {\n%0 = nn.transpose %x "
      "{nn.name = \"t\", permutation = array<i64: 0, 2, 1, 3>} : "
      "(tensor<2x32x12x64xf32>) -> tensor<2x12x32x64xf32>\nreturn }",
      &context_);
  ASSERT_TRUE(module_);
  NativeKernels kernels(*module_);
  module_->walk([&](nn::TransposeOp op) { (void)kernels.getOrCreate(op); });
  FailureOr<std::string> code = emitNativeAssembly(
      kernels.getModule(), llvm::cantFail(HostProcessor::find("")));
  ASSERT_TRUE(succeeded(code));
  EXPECT_LT(StringRef(*code).count('\n'), 300U);
}

TEST_F(Code, EndsOfTheGraphHaveNoKernel) {
  module_ = parseSourceString<ModuleOp>(
      "func.func @main() { %x = nn.input {nn.name = \"x\"} : tensor<8xf32> "
      "nn.output %x {nn.name = \"y\"} : tensor<8xf32> return }",
      &context_);
  ASSERT_TRUE(module_);
  NativeKernels kernels(*module_);
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context_, [&](Diagnostic &diagnostic) {
    errors.push_back(diagnostic.str());
  });
  module_->walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() != "nn")
      return;
    EXPECT_FALSE(NativeKernels::supports(op));
    EXPECT_TRUE(failed(kernels.getOrCreate(op)));
  });
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].find("have no kernel"), std::string::npos);
  EXPECT_EQ(kernels.size(), 0u);
  EXPECT_FALSE(kernels.getModule());
}

TEST_F(Code, KernelsOfOnePassAreFoundByTheNext) {
  module_ = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<8xf32>, %y: tensor<4x4xf32>) {"
      "%0 = nn.relu %x {nn.name = \"a\"} : tensor<8xf32> "
      "%1 = nn.tanh %x {nn.name = \"b\"} : tensor<8xf32> "
      "%2 = nn.relu %y {nn.name = \"c\"} : tensor<4x4xf32> return }",
      &context_);
  ASSERT_TRUE(module_);
  SmallVector<Operation *> ops;
  module_->walk([&](Operation *op) {
    if (NativeKernels::supports(op))
      ops.push_back(op);
  });
  NativeKernels first(*module_);
  EXPECT_EQ(first.getOrCreate(ops[0])->index, 0u);
  EXPECT_EQ(first.getOrCreate(ops[1])->index, 1u);
  NativeKernels second(*module_);
  FailureOr<NativeKernelCall> call = second.getOrCreate(ops[2]);
  ASSERT_TRUE(succeeded(call));
  EXPECT_EQ(call->index, 0u);
  EXPECT_EQ(call->symbol, "soap_native_0_relu");
  EXPECT_EQ(call->sizes, (SmallVector<int64_t, 4>{16}));
  EXPECT_EQ(second.size(), 2u);
}
