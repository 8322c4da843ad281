// RUN: soap-opt %s --nn-separate-bias | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-separate-bias,nn-fuse))' | FileCheck %s --check-prefix=FUSED

// Tests that the bias of a convolution goes to the operation per element behind it,
// and stays where several operations read the sum, or one that is not per element, or
// where the bias is no parameter.

// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = nn.reshape %{{.*}} {nn.name = "first_bias"} : (tensor<6xf32>) -> tensor<6x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = nn.conv %{{[^ ]*}}, %{{[^ ]*}} {{{.*}}nn.name = "first"
// CHECK-NEXT: %[[S:.*]] = nn.add %[[C]], %[[B]] {nn.name = "first.biased"} : (tensor<2x6x5x5xf32>, tensor<6x1x1xf32>) -> tensor<2x6x5x5xf32>
// CHECK-NEXT: nn.relu %[[S]]
// CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} {{{.*}}nn.name = "pooled"
// CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} {{{.*}}nn.name = "twice"
// CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} {{{.*}}nn.name = "given"

// FUSED: nn.fused({{.*}} {nn.name = "relu"}
// FUSED: nn.add
// FUSED-NEXT: nn.relu
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x6x5x5xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x6x1x1xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %d = nn.input {nn.name = "d"} : tensor<6xf32>
  %0 = nn.conv %x, %w bias %b {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x5x5xf32>, tensor<6x6x1x1xf32>, tensor<6xf32>) -> tensor<2x6x5x5xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<2x6x5x5xf32>
  %2 = nn.conv %1, %w bias %b {nn.name = "pooled", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x5x5xf32>, tensor<6x6x1x1xf32>, tensor<6xf32>) -> tensor<2x6x5x5xf32>
  %3 = nn.max_pool %2 {nn.name = "pool", kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
  %4 = nn.conv %3, %w bias %b {nn.name = "twice", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x5x5xf32>, tensor<6x6x1x1xf32>, tensor<6xf32>) -> tensor<2x6x5x5xf32>
  %5 = nn.relu %4 {nn.name = "relu2"} : tensor<2x6x5x5xf32>
  %6 = nn.add %4, %5 {nn.name = "sum"} : (tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
  %7 = nn.conv %6, %w bias %d {nn.name = "given", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x6x5x5xf32>, tensor<6x6x1x1xf32>, tensor<6xf32>) -> tensor<2x6x5x5xf32>
  %8 = nn.relu %7 {nn.name = "relu3"} : tensor<2x6x5x5xf32>
  nn.output %8 {nn.name = "y"} : tensor<2x6x5x5xf32>
  return
}
