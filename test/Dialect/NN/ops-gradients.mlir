// Tests that operations of gradients and groups survive a round trip, in their
// own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @gradients
func.func @gradients(%x: tensor<2x4x9x9xf32>, %dy: tensor<2x6x5x5xf32>, %dp: tensor<2x4x5x5xf32>) {
  // CHECK: nn.conv_backward_filter %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, nn.name = "filter", pads_lo = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x9x9xf32>, tensor<2x6x5x5xf32>) -> tensor<6x4x3x3xf32>
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "filter", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>} : (tensor<2x4x9x9xf32>, tensor<2x6x5x5xf32>) -> tensor<6x4x3x3xf32>
  // CHECK: nn.conv_backward_filter {{.*}}groups = 2 : i64{{.*}} -> tensor<6x2x3x3xf32>
  %1 = nn.conv_backward_filter %x, %dy {nn.name = "grouped", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x9xf32>, tensor<2x6x5x5xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: nn.max_pool_backward %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, nn.name = "pool", pads_lo = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x9x9xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x9x9xf32>
  %2 = nn.max_pool_backward %x, %dp {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>} : (tensor<2x4x9x9xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x9x9xf32>
  // CHECK: nn.max_pool_backward {{.*}}offsets = array<i64: 2, 0>, pads_lo = array<i64: -1, 1>{{.*}} -> tensor<2x4x7x9xf32>
  %3 = nn.max_pool_backward %x, %dp {nn.name = "tile", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: -1, 1>, offsets = array<i64: 2, 0>} : (tensor<2x4x9x9xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x7x9xf32>
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %dy: tensor<8x32xf32>) {
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  // CHECK: nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>
  %1 = nn.matmul %x, %dy {nn.name = "fc.b.grad", transpose_a, nn.group = #nn.group<"fc", {n = "k", f = "f", k = "n"}>} : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
  // CHECK: nn.group = #nn.group<"fc">
  %2 = nn.matmul %x, %w {nn.name = "again", nn.group = #nn.group<"fc">} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return
}
