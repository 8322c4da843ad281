// REQUIRES: soap-compile, soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s --calibration=none -o %t/m.so 2> %t/log
// RUN: soap-run %t/m.so --verify | FileCheck %s

// Tests that parts of sums are added up and compared: nobody reads the last row
// of 'conv', so that devices never combine its parts.

// CHECK: verify: equal, 5 tensors of {{[0-9]+}} elements in {{[0-9]+}} tiles
// CHECK-NOT: not compared

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x7x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, soap.config = #soap.config<{h = 7, c = 2} on [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3]>}
    : (tensor<2x4x7x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x7x8xf32>
  %1 = nn.max_pool %0 {nn.name = "pool", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, soap.config = #soap.config<{h = 3} on [1, 0, 1]>}
    : (tensor<2x4x7x8xf32>) -> tensor<2x4x3x4xf32>
  nn.output %1 {nn.name = "y"} : tensor<2x4x3x4xf32>
  return
}
