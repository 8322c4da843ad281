//===- JoinedKernelsTest.cpp - Kernels of several operations --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of several operations on an emulated device, against kernels of each
// on the CPU, on the same random bytes. They are one launch without memory of
// its own: what lies between operations is in registers.
//
//===----------------------------------------------------------------------===//

#include "../CPU/CompiledOps.h"
#include "EmulatedDevice.h"
#include "TensorBytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;
using namespace soap::test;

namespace {
struct JoinedCase {
  std::string name;
  /// The parameters of a function, its operations and what it returns, with the
  /// types.
  std::string parameters, ops, results, types;
  double relative = 1e-5, absolute = 1e-5;
};

std::ostream &operator<<(std::ostream &os, const JoinedCase &test) {
  return os << test.name;
}

class JoinedKernels : public testing::TestWithParam<JoinedCase> {};

/// Tensors by value, in places that stay.
using Tensors = llvm::DenseMap<Value, std::unique_ptr<TensorBytes>>;
} // namespace

static TensorBytes &add(Tensors &tensors, Value value) {
  auto &place = tensors[value];
  place =
      std::make_unique<TensorBytes>(cast<RankedTensorType>(value.getType()));
  return *place;
}

TEST_P(JoinedKernels, AgreeWithTheCPU) {
  const JoinedCase &test = GetParam();
  CompiledOps compiled("func.func @f(" + test.parameters + ") -> (" +
                       test.types + ") {\n" + test.ops + "\nreturn " +
                       test.results + " : " + test.types + " }");
  ASSERT_GT(compiled.ops.size(), 1u);
  auto function = compiled.ops[0]->getParentOfType<func::FuncOp>();
  Block &body = function.getBody().front();
  Tensors expected;
  for (Value argument : body.getArguments())
    add(expected, argument).fill(expected.size());
  for (auto [index, op] : llvm::enumerate(compiled.ops)) {
    std::vector<void *> pointers;
    for (Value operand : op->getOperands())
      pointers.push_back(expected[operand]->data());
    for (Value result : op->getResults())
      pointers.push_back(add(expected, result).data());
    compiled.call(index, pointers);
  }

  NativeKernels kernels(function->getParentOfType<ModuleOp>());
  FailureOr<NativeKernelCall> call = kernels.getOrCreate(body);
  ASSERT_TRUE(succeeded(call));
  auto device = EmulatedDevice::create(kernels.getModule());
  ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
  EXPECT_EQ((*device)->kernel(call->index).launches.size(), 1u);
  EXPECT_EQ((*device)->kernel(call->index).scratchBytes, 0u);
  for (uint64_t mostBlocks : {1 << 20, 3, 1}) {
    SCOPED_TRACE("at most " + std::to_string(mostBlocks) + " blocks");
    Tensors actual;
    std::vector<void *> pointers;
    for (Value argument : body.getArguments())
      pointers.push_back(expected[argument]->data());
    for (Value result : body.getTerminator()->getOperands())
      pointers.push_back(add(actual, result).data());
    llvm::Error error = (*device)->run(call->index, pointers, call->sizes,
                                       mostBlocks, /*seed=*/mostBlocks);
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
    for (Value result : body.getTerminator()->getOperands()) {
      EXPECT_TRUE(actual[result]->isGuarded()) << "written past the end";
      actual[result]->expectClose(*expected[result], test.relative,
                                  test.absolute);
    }
  }
}

/// softmax(x * scale + mask), with a mask that all heads and rows share.
static JoinedCase maskedSoftmax(const std::string &name,
                                const std::string &length,
                                const std::string &type,
                                const std::string &result, double relative,
                                double absolute) {
  std::string x = "tensor<2x3x10x" + length + "x" + type + ">";
  std::string mask = "tensor<2x1x1x" + length + "x" + type + ">";
  std::string one = "tensor<" + type + ">";
  std::string weights = "tensor<2x3x10x" + length + "x" + result + ">";
  return {name,
          "%x: " + x + ", %s: " + one + ", %m: " + mask,
          "%0 = nn.fused(%x, %s, %m) {nn.name = \"masked\"} : (" + x + ", " +
              one + ", " + mask + ") -> " + x + " {\n^bb0(%a: " + x +
              ", %b: " + one + ", %c: " + mask +
              "):\n%1 = nn.mul %a, %b {nn.name = \"scaled\"} : (" + x + ", " +
              one + ") -> " + x +
              "\n%2 = nn.add %1, %c {nn.name = \"masked\"} : (" + x + ", " +
              mask + ") -> " + x + "\nnn.yield %2 : " + x +
              "\n}\n%r = nn.softmax %0 {nn.name = \"r\", axis = 3 : i64} : (" +
              x + ") -> " + weights,
          "%r",
          weights,
          relative,
          absolute};
}

/// A sum, its layer norm, and that as 16 bits, of which `results` are read
/// elsewhere.
static JoinedCase normOfSum(const std::string &name, const std::string &extents,
                            const std::string &scale, const std::string &type,
                            const std::string &narrow,
                            const std::string &results, double relative,
                            double absolute) {
  std::string x = "tensor<" + extents + "x" + type + ">";
  std::string s = "tensor<" + scale + "xf32>";
  std::string made = "tensor<" + extents + "xf32>";
  std::string cast = "tensor<" + extents + "x" + narrow + ">";
  std::string types;
  for (size_t at = 0; (at = results.find('%', at)) != std::string::npos; ++at)
    types += (types.empty() ? "" : ", ") + (results[at + 1] == '0'   ? x
                                            : results[at + 1] == '1' ? made
                                                                     : cast);
  return {name,
          "%a: " + x + ", %b: " + x + ", %s: " + s + ", %t: " + s,
          "%0 = nn.add %a, %b {nn.name = \"sum\"} : (" + x + ", " + x +
              ") -> " + x +
              "\n%1 = nn.layer_norm %0, %s bias %t {nn.name = \"norm\", axis = "
              "2 : i64, epsilon = 1.0e-5 : f32} : (" +
              x + ", " + s + ", " + s + ") -> " + made +
              "\n%2 = nn.cast %1 {nn.name = \"cast\"} : (" + made + ") -> " +
              cast,
          results,
          types,
          relative,
          absolute};
}

static const JoinedCase cases[] = {
    maskedSoftmax("MaskedSoftmaxF32", "128", "f32", "f32", 1e-4, 1e-6),
    maskedSoftmax("MaskedSoftmaxOfOddRows", "37", "f32", "f32", 1e-4, 1e-6),
    maskedSoftmax("MaskedSoftmaxToBF16", "128", "f32", "bf16", 1e-2, 1e-3),
    maskedSoftmax("MaskedSoftmaxBF16", "128", "bf16", "bf16", 1e-2, 1e-3),
    maskedSoftmax("MaskedSoftmaxF16", "264", "f16", "f16", 1e-2, 1e-3),
    normOfSum("NormOfSum", "2x5x1024", "1024", "f32", "bf16", "%1", 1e-4, 1e-4),
    normOfSum("NormAsBF16", "2x5x1024", "1024", "f32", "bf16", "%2", 1e-2,
              1e-2),
    normOfSum("NormAndSum", "2x5x768", "768", "f32", "bf16", "%0, %2", 1e-2,
              1e-2),
    normOfSum("NormOfBF16", "2x5x1024", "1024", "bf16", "bf16", "%0, %2", 1e-2,
              2e-2),
    normOfSum("NormOfF16InAllForms", "3x7x96", "96", "f16", "f16", "%0, %1, %2",
              1e-2, 1e-2),
    normOfSum("NormOfOddRows", "3x7x45", "45", "f32", "f16", "%0, %1, %2", 1e-2,
              1e-2),
    // Behind a sum along rows, what is added to every element of them.
    {"MeanTakenAway", "%x: tensor<6x5x64xf32>",
     "%0 = nn.reduce %x {nn.name = \"mean\", kind = #nn.reduce_kind<sum>, axes "
     "= array<i64: 2>, keepdims = true, scale = 0.015625 : f32} : "
     "(tensor<6x5x64xf32>) -> tensor<6x5x1xf32>\n"
     "%1 = nn.sub %x, %0 {nn.name = \"less\"} : (tensor<6x5x64xf32>, "
     "tensor<6x5x1xf32>) -> tensor<6x5x64xf32>\n"
     "%2 = nn.gelu %1 {nn.name = \"gelu\"} : tensor<6x5x64xf32>",
     "%0, %2", "tensor<6x5x1xf32>, tensor<6x5x64xf32>", 1e-4, 1e-5},
};

INSTANTIATE_TEST_SUITE_P(Rows, JoinedKernels, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

TEST(KeysOfJoinedKernels, AreOfOperationsAndWhatTheyRead) {
  // A chain whose second operation reads its operands in another order, one
  // that hands on both results, and the first one again.
  CompiledOps compiled(R"(
    func.func @a(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = nn.relu %x {nn.name = "r"} : tensor<8xf32>
      %1 = nn.sub %0, %y {nn.name = "s"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func @b(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = nn.relu %x {nn.name = "r"} : tensor<8xf32>
      %1 = nn.sub %y, %0 {nn.name = "s"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func @c(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = nn.relu %x {nn.name = "r"} : tensor<8xf32>
      %1 = nn.sub %0, %y {nn.name = "s"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    func.func @again(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = nn.relu %x {nn.name = "other"} : tensor<8xf32>
      %1 = nn.sub %0, %y {nn.name = "names"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    })");
  auto parent = compiled.ops.at(0)->getParentOfType<ModuleOp>();
  NativeKernels kernels(parent);
  std::vector<uint32_t> found;
  for (StringRef name : {"a", "b", "c", "again"}) {
    auto function = parent.lookupSymbol<func::FuncOp>(name);
    FailureOr<NativeKernelCall> call =
        kernels.getOrCreate(function.getBody().front());
    ASSERT_TRUE(succeeded(call));
    found.push_back(call->index);
  }
  EXPECT_NE(found[0], found[1]);
  EXPECT_NE(found[0], found[2]);
  EXPECT_NE(found[1], found[2]);
  EXPECT_EQ(found[0], found[3]);
}
