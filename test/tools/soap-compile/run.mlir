// REQUIRES: soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s -o %t/one.so
// RUN: not ls %t/one.safetensors
// RUN: soap-run %t/one.so --info | FileCheck %s --check-prefix=INFO
// RUN: soap-compile %s --devices=2 --strategy=data-parallel --export-strategy=%t/s.json -o %t/dp.so
// RUN: soap-run %t/dp.so --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %s --devices=3 --strategy=spatial -o %t/spatial.so
// RUN: soap-run %t/spatial.so --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %s --devices=2 --strategy=tensor-parallel -o %t/tp.so
// RUN: soap-run %t/tp.so --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL
// RUN: soap-compile %s --devices=2 --proposals=50 --seed=1 -o %t/found.so 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: soap-run %t/found.so --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL

// Tests that a strategy file says how many devices there are.
// RUN: soap-compile %s --strategy=%t/s.json -o %t/file.so
// RUN: soap-run %t/file.so --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL

// Tests the whole way, from a model with convolution, pooling, softmax, reshape
// and element-wise operations to equal results on one device and on several.

// INFO: x
// EQUAL: compare prob: equal
// SEARCH: search: {{[0-9]+}} proposals in {{.*}}, stopped by

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3x9x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x3x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %b = nn.parameter {nn.name = "b"} : tensor<8xf32> from #nn.random<1, "b", uniform, -1.0, 1.0>
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<4x3x9x9xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<4x8x9x9xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<4x8x9x9xf32>
  %2 = nn.max_pool %1 {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<4x8x9x9xf32>) -> tensor<4x8x4x4xf32>
  %3 = nn.add %2, %2 {nn.name = "double"} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
  %4 = nn.reshape %3 {nn.name = "flat"} : (tensor<4x8x4x4xf32>) -> tensor<4x128xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<128x10xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %5 = nn.matmul %4, %v {nn.name = "fc"} : (tensor<4x128xf32>, tensor<128x10xf32>) -> tensor<4x10xf32>
  %6 = nn.softmax %5 {nn.name = "softmax", axis = 1 : i64} : tensor<4x10xf32>
  nn.output %6 {nn.name = "prob"} : tensor<4x10xf32>
  return
}
