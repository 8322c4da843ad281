//===- DeviceKernelsTest.cpp - Device code against the CPU's --------------===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of every kind of lowering, run on an emulated device and by the
// native kernels of the CPU, on the same random bytes.
//
//===----------------------------------------------------------------------===//

#include "../CPU/CompiledOps.h"
#include "EmulatedDevice.h"
#include "TensorBytes.h"
#include "soap/Target/CUDA/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace soap;
using namespace soap::test;

namespace {
struct OpCase {
  std::string name;
  /// The parameters of a function and its one operation.
  std::string parameters, op;
  double relative = 2e-5, absolute = 1e-5;
  size_t launches = 0; ///< As many; 0: any number.
  size_t products = 0; ///< Different ones that the library computes.
};

std::ostream &operator<<(std::ostream &os, const OpCase &test) {
  return os << test.name;
}

class DeviceKernels : public testing::TestWithParam<OpCase> {};
} // namespace

/// The kernels of the operations of `compiled`, again.
static llvm::Expected<std::unique_ptr<EmulatedDevice>>
emulate(const CompiledOps &compiled) {
  auto parent = compiled.ops.at(0)->getParentOfType<ModuleOp>();
  return EmulatedDevice::create(NativeKernels(parent).getModule());
}

TEST_P(DeviceKernels, AgreeWithTheCPU) {
  const OpCase &test = GetParam();
  CompiledOps compiled("func.func @f(" + test.parameters + ") {\n" + test.op +
                       "\nreturn }");
  ASSERT_EQ(compiled.ops.size(), 1u);
  auto device = emulate(compiled);
  ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
  const NativeKernelCall &call = compiled.calls[0];
  if (test.launches)
    EXPECT_EQ((*device)->kernel(call.index).launches.size(), test.launches);
  EXPECT_EQ((*device)->kernel(call.index).products.size(), test.products);
  Operation *op = compiled.ops[0];
  std::vector<TensorBytes> operands, expected;
  for (Value operand : op->getOperands()) {
    operands.emplace_back(cast<RankedTensorType>(operand.getType()));
    operands.back().fill(operands.size());
  }
  for (Value result : op->getResults())
    expected.emplace_back(cast<RankedTensorType>(result.getType()));
  auto pointers = [&](std::vector<TensorBytes> &results) {
    if (call.overwritesFirst)
      for (size_t i = 0; i != operands.front().count(); ++i)
        results.front().set(i, operands.front().get(i));
    std::vector<void *> all;
    for (std::vector<TensorBytes> *list : {&operands, &results})
      for (TensorBytes &tensor : *list)
        all.push_back(tensor.data());
    if (call.overwritesFirst)
      all.front() = all.back();
    return all;
  };
  compiled.call(0, pointers(expected));
  // As many blocks as pay, and fewer than that.
  for (uint64_t mostBlocks : {1 << 20, 3, 1}) {
    SCOPED_TRACE("at most " + std::to_string(mostBlocks) + " blocks");
    std::vector<TensorBytes> actual;
    for (Value result : op->getResults())
      actual.emplace_back(cast<RankedTensorType>(result.getType()));
    llvm::Error error = (*device)->run(call.index, pointers(actual), call.sizes,
                                       mostBlocks, /*seed=*/mostBlocks);
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
    for (size_t i = 0; i != actual.size(); ++i) {
      EXPECT_TRUE(actual[i].isGuarded()) << "written past the end";
      actual[i].expectClose(expected[i], test.relative, test.absolute);
    }
  }
}

// clang-format off
static const OpCase elementwise[] = {
    {"ReluF32", "%x: tensor<3x1000xf32>",
     "%r = nn.relu %x {nn.name = \"r\"} : tensor<3x1000xf32>"},
    {"ReluOfOne", "%x: tensor<1xf32>",
     "%r = nn.relu %x {nn.name = \"r\"} : tensor<1xf32>"},
    {"AddF64", "%x: tensor<777xf64>, %y: tensor<777xf64>",
     "%r = nn.add %x, %y {nn.name = \"r\"} : (tensor<777xf64>, tensor<777xf64>) -> tensor<777xf64>"},
    {"AddF16", "%x: tensor<515xf16>, %y: tensor<515xf16>",
     "%r = nn.add %x, %y {nn.name = \"r\"} : (tensor<515xf16>, tensor<515xf16>) -> tensor<515xf16>", 1e-3},
    {"TanhBF16", "%x: tensor<515xbf16>",
     "%r = nn.tanh %x {nn.name = \"r\"} : tensor<515xbf16>", 1e-2},
    {"AddBroadcastI64", "%x: tensor<5x64xi64>, %y: tensor<64xi64>",
     "%r = nn.add %x, %y {nn.name = \"r\"} : (tensor<5x64xi64>, tensor<64xi64>) -> tensor<5x64xi64>"},
    {"BatchNorm", "%x: tensor<2x3x8xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>",
     "%r = nn.batch_norm %x, %s, %s, %s, %v {nn.name = \"r\", epsilon = 10.0 : f32} : tensor<2x3x8xf32>, tensor<3xf32>"},
    {"BatchNormOdd", "%x: tensor<2x3x7xf32>, %s: tensor<3xf32>, %v: tensor<3xf32>",
     "%r = nn.batch_norm %x, %s, %s, %s, %v {nn.name = \"r\", epsilon = 10.0 : f32} : tensor<2x3x7xf32>, tensor<3xf32>"},
    {"SigmoidF32", "%x: tensor<4099xf32>",
     "%r = nn.sigmoid %x {nn.name = \"r\"} : tensor<4099xf32>"},
    {"Cast", "%x: tensor<130xf32>",
     "%r = nn.cast %x {nn.name = \"r\"} : (tensor<130xf32>) -> tensor<130xi32>"},
    {"BiasOfOddPlanes", "%x: tensor<3x5x7x7xbf16>, %b: tensor<5x1x1xbf16>",
     "%r = nn.add %x, %b {nn.name = \"r\"} : (tensor<3x5x7x7xbf16>, tensor<5x1x1xbf16>) -> tensor<3x5x7x7xbf16>", 1e-2},
    {"BiasOfRows", "%x: tensor<3x5x3xf32>, %b: tensor<3x1x1xf32>",
     "%r = nn.sub %x, %b {nn.name = \"r\"} : (tensor<3x5x3xf32>, tensor<3x1x1xf32>) -> tensor<3x5x3xf32>"},
    {"MaskOfOddRows", "%c: tensor<7x9xi1>, %x: tensor<f32>, %y: tensor<4x7x9xf32>",
     "%r = nn.where %c, %x, %y {nn.name = \"r\"} : (tensor<7x9xi1>, tensor<f32>, tensor<4x7x9xf32>) -> tensor<4x7x9xf32>"},
    {"NarrowF16", "%x: tensor<515xf32>",
     "%r = nn.cast %x {nn.name = \"r\"} : (tensor<515xf32>) -> tensor<515xf16>", 1e-3, 1e-7},
    {"NarrowBF16", "%x: tensor<515xf32>",
     "%r = nn.cast %x {nn.name = \"r\"} : (tensor<515xf32>) -> tensor<515xbf16>", 1e-2},
    {"Where", "%c: tensor<8x4xi1>, %x: tensor<f32>, %y: tensor<8x4xf32>",
     "%r = nn.where %c, %x, %y {nn.name = \"r\"} : (tensor<8x4xi1>, tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>"},
};

static const OpCase structured[] = {
    {"Softmax", "%x: tensor<8x1000xf32>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : tensor<8x1000xf32>"},
    {"SoftmaxF64", "%x: tensor<3x77x2xf64>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : tensor<3x77x2xf64>"},
    {"SoftmaxF16", "%x: tensor<4x129xf16>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : tensor<4x129xf16>", 1e-2, 1e-3},
    {"ReduceMaxOfBytes", "%x: tensor<70x96xi8>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false} : (tensor<70x96xi8>) -> tensor<70xi8>"},
    {"SoftmaxOfRowsF64", "%x: tensor<9x640xf64>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : tensor<9x640xf64>", 1e-13, 1e-13},
    {"SumOfChannels", "%x: tensor<4x6x9x7xf32>, %m: tensor<6x1x1xf32>",
     "%r = nn.fused_reduce(%x, %m) {nn.name = \"r\"} : (tensor<4x6x9x7xf32>, tensor<6x1x1xf32>) -> tensor<6xf32> {\n"
     "^bb0(%a: tensor<4x6x9x7xf32>, %b: tensor<6x1x1xf32>):\n"
     "  %d = nn.sub %a, %b {nn.name = \"d\"} : (tensor<4x6x9x7xf32>, tensor<6x1x1xf32>) -> tensor<4x6x9x7xf32>\n"
     "  %p = nn.mul %d, %a {nn.name = \"p\"} : (tensor<4x6x9x7xf32>, tensor<4x6x9x7xf32>) -> tensor<4x6x9x7xf32>\n"
     "  %s = nn.reduce %p {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2, 3>, keepdims = false, scale = 0.5 : f32} : (tensor<4x6x9x7xf32>) -> tensor<6xf32>\n"
     "  nn.yield %s : tensor<6xf32>\n"
     "}", 1e-4},
    {"SumOfEvenChannels", "%x: tensor<3x5x16x16xf32>, %m: tensor<5x1x1xf32>",
     "%r = nn.fused_reduce(%x, %m) {nn.name = \"r\"} : (tensor<3x5x16x16xf32>, tensor<5x1x1xf32>) -> tensor<5xf32> {\n"
     "^bb0(%a: tensor<3x5x16x16xf32>, %b: tensor<5x1x1xf32>):\n"
     "  %d = nn.sub %a, %b {nn.name = \"d\"} : (tensor<3x5x16x16xf32>, tensor<5x1x1xf32>) -> tensor<3x5x16x16xf32>\n"
     "  %p = nn.mul %d, %a {nn.name = \"p\"} : (tensor<3x5x16x16xf32>, tensor<3x5x16x16xf32>) -> tensor<3x5x16x16xf32>\n"
     "  %s = nn.reduce %p {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2, 3>, keepdims = false, scale = 0.5 : f32} : (tensor<3x5x16x16xf32>) -> tensor<5xf32>\n"
     "  nn.yield %s : tensor<5xf32>\n"
     "}", 1e-4},
    {"SumOfRows", "%x: tensor<33x640xf32>, %m: tensor<33x1xf32>",
     "%r = nn.fused_reduce(%x, %m) {nn.name = \"r\"} : (tensor<33x640xf32>, tensor<33x1xf32>) -> tensor<33xf32> {\n"
     "^bb0(%a: tensor<33x640xf32>, %b: tensor<33x1xf32>):\n"
     "  %d = nn.sub %a, %b {nn.name = \"d\"} : (tensor<33x640xf32>, tensor<33x1xf32>) -> tensor<33x640xf32>\n"
     "  %p = nn.mul %d, %a {nn.name = \"p\"} : (tensor<33x640xf32>, tensor<33x640xf32>) -> tensor<33x640xf32>\n"
     "  %s = nn.reduce %p {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = false, scale = 0.5 : f32} : (tensor<33x640xf32>) -> tensor<33xf32>\n"
     "  nn.yield %s : tensor<33xf32>\n"
     "}", 1e-4},
    {"SoftmaxToBF16", "%x: tensor<9x136xf32>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : (tensor<9x136xf32>) -> tensor<9x136xbf16>", 1e-2},
    {"SoftmaxOfF16", "%x: tensor<5x2000xf16>",
     "%r = nn.softmax %x {nn.name = \"r\", axis = 1 : i64} : (tensor<5x2000xf16>) -> tensor<5x2000xf32>", 1e-3, 1e-6},
    {"LayerNormToF16", "%x: tensor<6x3x40xf32>, %s: tensor<3x40xf32>",
     "%r = nn.layer_norm %x, %s {nn.name = \"r\", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<6x3x40xf32>, tensor<3x40xf32>) -> tensor<6x3x40xf16>", 1e-2, 1e-3},
    {"MaxPoolBF16", "%x: tensor<2x3x9x7xbf16>",
     "%r = nn.max_pool %x {nn.name = \"r\", kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 1>} : (tensor<2x3x9x7xbf16>) -> tensor<2x3x5x6xbf16>"},
    {"ReduceRows", "%x: tensor<7x513xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = false} : (tensor<7x513xf32>) -> tensor<7xf32>", 1e-4, 1e-4},
    {"ReduceColumns", "%x: tensor<513x70xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<513x70xf32>) -> tensor<70xf32>", 1e-4, 1e-4},
    {"ReduceChannels", "%x: tensor<4x5x9x9xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2, 3>, keepdims = true, scale = 0.25 : f32} : (tensor<4x5x9x9xf32>) -> tensor<1x5x1x1xf32>", 1e-4, 1e-4},
    {"ReduceMaxI64", "%x: tensor<3x300xi64>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false} : (tensor<3x300xi64>) -> tensor<3xi64>"},
    {"ReduceMinF64", "%x: tensor<300x3xf64>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<min>, axes = array<i64: 0>, keepdims = false} : (tensor<300x3xf64>) -> tensor<3xf64>"},
    {"ReduceProd", "%x: tensor<4x5xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<prod>, axes = array<i64: 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<4xf32>"},
    {"LayerNorm", "%x: tensor<4x600xf32>, %s: tensor<600xf32>",
     "%r = nn.layer_norm %x, %s {nn.name = \"r\", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x600xf32>, tensor<600xf32>) -> tensor<4x600xf32>", 1e-4, 1e-4},
    {"MatMul", "%a: tensor<2x9x70xf32>, %b: tensor<2x70x11xf32>",
     "%r = nn.matmul %a, %b {nn.name = \"r\"} : (tensor<2x9x70xf32>, tensor<2x70x11xf32>) -> tensor<2x9x11xf32>", 1e-4, 1e-4},
    {"MatMulI32", "%a: tensor<9x70xi32>, %b: tensor<70x11xi32>",
     "%r = nn.matmul %a, %b {nn.name = \"r\"} : (tensor<9x70xi32>, tensor<70x11xi32>) -> tensor<9x11xi32>"},
    {"Conv", "%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>",
     "%r = nn.conv %x, %w bias %b {nn.name = \"r\", strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 2>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x6xf32>", 1e-4, 1e-4},
    {"MaxPool", "%x: tensor<1x2x8x8xf32>",
     "%r = nn.max_pool %x {nn.name = \"r\", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>"},
    {"AvgPool", "%x: tensor<1x2x3x3xf32>",
     "%r = nn.avg_pool %x {nn.name = \"r\", kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, counted_lo = array<i64: 0, 1>, counted_hi = array<i64: 0, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>"},
    {"Transpose", "%x: tensor<20x30x40xf32>",
     "%r = nn.transpose %x {nn.name = \"r\", permutation = array<i64: 2, 0, 1>} : (tensor<20x30x40xf32>) -> tensor<40x20x30xf32>"},
    {"Concat", "%a: tensor<2x3xf32>, %b: tensor<2x4xf32>",
     "%r = nn.concat %a, %b {nn.name = \"r\", axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>"},
    {"Slice", "%x: tensor<8x9xf32>",
     "%r = nn.slice %x {nn.name = \"r\", starts = array<i64: 1, 2>, steps = array<i64: 2, 1>} : (tensor<8x9xf32>) -> tensor<3x4xf32>"},
    {"Gather", "%t: tensor<5x6xf32>, %i: tensor<3xi64>",
     "%r = nn.gather %t, %i {nn.name = \"r\", axis = 0 : i64, base = 0 : i64, table_size = 5 : i64} : (tensor<5x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>"},
    {"ScatterElements", "%i: tensor<4x2xi64>, %u: tensor<4x2xf32>, %x: tensor<4x5xf32>",
     "%r = nn.scatter_elements %i, %u into %x {nn.name = \"r\", axis = 1 : i64} : (tensor<4x2xi64>, tensor<4x2xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>"},
    {"ScatterElementsOfColumns", "%i: tensor<7x40xi64>, %u: tensor<7x40xf32>",
     "%r = nn.scatter_elements %i, %u {nn.name = \"r\", axis = 0 : i64, reduction = #nn.reduce_kind<sum>} : (tensor<7x40xi64>, tensor<7x40xf32>) -> tensor<5x40xf32>"},
    {"ScatterND", "%i: tensor<7x1xi64>, %u: tensor<7x40xf32>",
     "%r = nn.scatter_nd %i, %u {nn.name = \"r\", reduction = #nn.reduce_kind<sum>} : (tensor<7x1xi64>, tensor<7x40xf32>) -> tensor<5x40xf32>"},
    {"SparseSGD", "%w: tensor<3x40xf32>, %i: tensor<2x3x1xi64>, %u: tensor<2x3x40xf32>, %l: tensor<f32>",
     "%r = nn.sparse_sgd %w, %i, %u, %l {nn.name = \"r\"} : (tensor<3x40xf32>, tensor<2x3x1xi64>, tensor<2x3x40xf32>, tensor<f32>) -> tensor<3x40xf32>"},
    {"CumSumOfColumns", "%x: tensor<4x300xf32>",
     "%r = nn.cum_sum %x {nn.name = \"r\", axis = 0 : i64} : tensor<4x300xf32>"},
    {"CumSum", "%x: tensor<4x5xf32>",
     "%r = nn.cum_sum %x {nn.name = \"r\", axis = 1 : i64, exclusive, reverse} : tensor<4x5xf32>"},
    {"TopK", "%x: tensor<4x50xf32>",
     "%r:2 = nn.top_k %x {nn.name = \"r\", axis = 1 : i64, smallest} : (tensor<4x50xf32>) -> (tensor<4x7xf32>, tensor<4x7xi64>)"},
    {"LongTopK", "%x: tensor<3x100xf32>",
     "%r:2 = nn.top_k %x {nn.name = \"r\", axis = 1 : i64} : (tensor<3x100xf32>) -> (tensor<3x90xf32>, tensor<3x90xi64>)"},
    {"TopKOfOneRow", "%x: tensor<50xf32>",
     "%r:2 = nn.top_k %x {nn.name = \"r\", axis = 0 : i64} : (tensor<50xf32>) -> (tensor<7xf32>, tensor<7xi64>)"},
    {"Resize", "%x: tensor<2x4xf32>",
     "%r = nn.resize %x {nn.name = \"r\", mode = #nn.resize_mode<linear>, numerators = array<i64: 1, 2>, offsets = array<i64: 0, -1>, denominators = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<2x8xf32>"},
    {"Suppression", "%b: tensor<2x6x4xf32>, %s: tensor<2x3x6xf32>",
     "%r = nn.non_max_suppression %b, %s {nn.name = \"r\", center_point_box, iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32} : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<2x3x5xi64>"},
    {"SuppressionOfOneClass", "%b: tensor<1x6x4xf32>, %s: tensor<1x1x6xf32>",
     "%r = nn.non_max_suppression %b, %s {nn.name = \"r\", iou_threshold = 0.5 : f32} : (tensor<1x6x4xf32>, tensor<1x1x6xf32>) -> tensor<1x1x5xi64>"},
    {"RNN", "%x: tensor<5x2x3xf32>, %w: tensor<2x1x6x3xf32>, %r: tensor<2x1x6x6xf32>, %b: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>",
     "%y = nn.rnn %x, %w, %r, %b, %s {nn.name = \"r\"} : (tensor<5x2x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32>", 1e-3, 1e-4},
    {"LSTM", "%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>",
     "%y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = \"r\", reverse} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)", 1e-3, 1e-4},
    {"GRU", "%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>",
     "%y = nn.gru %x, %w, %r, %b, %s {nn.name = \"r\"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>", 1e-3, 1e-4},
};
// clang-format on

/// Kernels of several parts that keep to rows, which are one launch: rows of
/// `extents`, along dim `axis`.
static OpCase softmax(const std::string &name, const std::string &extents,
                      int axis, const char *log = "") {
  std::string type = "tensor<" + extents + "xf32>";
  return {name,
          "%x: " + type,
          "%r = nn.softmax %x {nn.name = \"r\", axis = " +
              std::to_string(axis) + " : i64" + log + "} : " + type,
          1e-4,
          1e-5,
          /*launches=*/1};
}

/// The same from dim `axis` on, which with those behind it is `scale`.
static OpCase layerNorm(const std::string &name, const std::string &extents,
                        const std::string &scale, int axis) {
  std::string x = "tensor<" + extents + "xf32>",
              s = "tensor<" + scale + "xf32>";
  return {name,
          "%x: " + x + ", %s: " + s + ", %b: " + s,
          "%r = nn.layer_norm %x, %s bias %b {nn.name = \"r\", axis = " +
              std::to_string(axis) + " : i64, epsilon = 1.0e-5 : f32} : (" + x +
              ", " + s + ", " + s + ") -> " + x,
          1e-4,
          1e-4,
          /*launches=*/1};
}

static const OpCase rows[] = {
    softmax("SoftmaxOf1", "700x1", 1),
    softmax("SoftmaxOf31", "100x31", 1),
    softmax("SoftmaxOf256", "5x256", 1),
    softmax("SoftmaxOf1000", "3x1000", 1),
    softmax("SoftmaxOf5000", "2x5000", 1),
    softmax("SoftmaxOfOneRow", "1x1000", 1),
    // More than shared memory has room for.
    softmax("SoftmaxOf12000", "2x12000", 1),
    softmax("SoftmaxOfChannels", "2x21x9x11", 1),
    softmax("SoftmaxOfManyColumns", "5x3300", 0),
    // A thread per row.
    softmax("SoftmaxOfPixels", "1x4x128x130", 1),
    softmax("LogSoftmaxOf31", "100x31", 1, ", log"),
    softmax("LogSoftmaxOf1000", "3x1000", 1, ", log"),
    softmax("LogSoftmaxOfChannels", "2x21x9x11", 1, ", log"),
    layerNorm("LayerNormOf1", "300x1", "1", 1),
    layerNorm("LayerNormOf31", "50x31", "31", 1),
    layerNorm("LayerNormOf5000", "2x5000", "5000", 1),
    layerNorm("LayerNormOfTwoDims", "3x5x60", "5x60", 1),
    layerNorm("LayerNormOfOneRow", "1x256", "256", 1),
    {"MeanOfRows", "%x: tensor<9x5x49xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = "
     "array<i64: 2>, keepdims = true, scale = 0.25 : f32} : "
     "(tensor<9x5x49xf32>) -> tensor<9x5x1xf32>",
     1e-4, 1e-4, /*launches=*/1},
    {"MeanOfColumns", "%x: tensor<513x70xf32>",
     "%r = nn.reduce %x {nn.name = \"r\", kind = #nn.reduce_kind<sum>, axes = "
     "array<i64: 0>, keepdims = false, scale = 0.25 : f32} : "
     "(tensor<513x70xf32>) -> tensor<70xf32>",
     1e-4, 1e-4, /*launches=*/1},
};

/// A recurrent layer of 3 steps of 32 samples, 128 inputs and 128 units, of
/// which the library computes the products. `gates` are those of the weights,
/// of the bias; `operands` and `results` stand behind the first hidden state
/// and the hidden states.
static OpCase layer(const std::string &name, const std::string &op,
                    int directions, std::array<int, 2> gates,
                    const std::string &attributes, size_t products,
                    size_t launches) {
  std::string d = std::to_string(directions) + "x";
  auto weight = "tensor<" + d + std::to_string(gates[0]) + "x128x128xf32>";
  auto bias = "tensor<" + d + std::to_string(gates[1]) + "x128xf32>";
  auto state = "tensor<" + d + "32x128xf32>";
  std::string x = "tensor<3x32x128xf32>", y = "tensor<3x" + d + "32x128xf32>";
  bool isLSTM = op == "lstm";
  std::string types = x + ", " + weight + ", " + weight + ", " + bias + ", " +
                      state + (isLSTM ? ", " + state : "");
  return {name,
          "%x: " + x + ", %w: " + weight + ", %r: " + weight + ", %b: " + bias +
              ", %s: " + state,
          (isLSTM ? "%y, %c" : "%y") + (" = nn." + op) + " %x, %w, %r, %b, %s" +
              (isLSTM ? ", %s" : "") + " {nn.name = \"r\"" + attributes +
              "} : (" + types + ") -> " +
              (isLSTM ? "(" + y + ", " + state + ")" : y),
          1e-3,
          1e-4,
          launches,
          products};
}

/// Its gradients.
static OpCase backward(const std::string &name, const std::string &op,
                       int directions, std::array<int, 2> gates,
                       const std::string &attributes, size_t products) {
  std::string d = std::to_string(directions) + "x";
  std::string count = std::to_string(gates[0]);
  auto weight = "tensor<" + d + count + "x128x128xf32>";
  auto bias = "tensor<" + d + std::to_string(gates[1]) + "x128xf32>";
  auto state = "tensor<" + d + "32x128xf32>";
  std::string x = "tensor<3x32x128xf32>", y = "tensor<3x" + d + "32x128xf32>";
  auto ofGates = "tensor<" + d + "32x3x" + count + "x128xf32>";
  auto states = "tensor<" + d + "32x3x128xf32>";
  bool isLSTM = op == "lstm";
  std::string results = ofGates + ", " + states + ", " +
                        (op == "gru" ? states + ", " : "") + state +
                        (isLSTM ? ", " + state : "");
  return {name,
          "%x: " + x + ", %w: " + weight + ", %r: " + weight + ", %b: " + bias +
              ", %s: " + state + ", %y: " + y,
          "%g:" + std::to_string(op == "rnn" ? 3 : 4) + " = nn." + op +
              "_backward %x, %w, %r, %b, %s" + (isLSTM ? ", %s" : "") +
              ", %y, %y" + (isLSTM ? ", %s" : "") + " {nn.name = \"r\"" +
              attributes + "} : (" + x + ", " + weight + ", " + weight + ", " +
              bias + ", " + state + (isLSTM ? ", " + state : "") + ", " + y +
              ", " + y + (isLSTM ? ", " + state : "") + ") -> (" + results +
              ")",
          1e-3,
          1e-4,
          0,
          products};
}

// What the library computes of a layer: the product with the inputs of all
// steps, and one of each step with the states, or two of a GRU; of its
// gradients, these once more, and what a step gives to the states before it.
static const OpCase layers[] = {
    layer("LSTM", "lstm", 1, {4, 4}, "", 2, 11),
    layer("LSTMOfTwoDirections", "lstm", 2, {4, 4}, ", input_forget", 2, 0),
    layer("GRU", "gru", 1, {3, 4}, ", reverse", 3, 0),
    layer("GRUWithALateReset", "gru", 2, {3, 4}, ", linear_before_reset", 2, 0),
    layer("RNN", "rnn", 1, {1, 1}, "", 2, 0),
    backward("LSTMBackward", "lstm", 1, {4, 4}, "", 3),
    backward("GRUBackward", "gru", 1, {3, 4}, "", 5),
    backward("RNNBackward", "rnn", 1, {1, 1}, "", 3),
    // Stacks of matrices are one product, between which rows are a launch.
    {"Attention",
     "%q: tensor<2x3x48x64xf32>, %k: tensor<2x3x56x64xf32>, %v: "
     "tensor<2x3x56x40xf32>",
     "%r = nn.attention %q, %k, %v {nn.name = \"r\"} : (tensor<2x3x48x64xf32>, "
     "tensor<2x3x56x64xf32>, tensor<2x3x56x40xf32>) -> tensor<2x3x48x40xf32>",
     1e-3, 1e-4, 3, 2},
};

static std::string nameOf(const testing::TestParamInfo<OpCase> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Elementwise, DeviceKernels,
                         testing::ValuesIn(elementwise), nameOf);
INSTANTIATE_TEST_SUITE_P(Structured, DeviceKernels,
                         testing::ValuesIn(structured), nameOf);
INSTANTIATE_TEST_SUITE_P(Layers, DeviceKernels, testing::ValuesIn(layers),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Rows, DeviceKernels, testing::ValuesIn(rows), nameOf);
