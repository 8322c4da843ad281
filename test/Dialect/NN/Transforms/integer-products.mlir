// RUN: soap-opt %s --nn-integer-products --split-input-file | FileCheck %s

// Tests that scales of both factors are applied to a sum of integers, that of
// the weights per channel, and a bias behind them.

// CHECK-LABEL: func.func @main
// CHECK: %[[ZX:.*]] = nn.constant dense<7> : tensor<ui8>
// CHECK: %[[A:.*]] = nn.cast %{{.*}} {nn.name = "conv.a_wide"} : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi32>
// CHECK: %[[Z:.*]] = nn.cast %[[ZX]] {nn.name = "conv.a_zero"} : (tensor<ui8>) -> tensor<i32>
// CHECK: %[[AC:.*]] = nn.sub %[[A]], %[[Z]] {nn.name = "conv.a_centred"}
// CHECK: %[[B:.*]] = nn.cast %{{.*}} {nn.name = "conv.b_wide"} : (tensor<3x2x3x3xi8>) -> tensor<3x2x3x3xi32>
// CHECK: %[[P:.*]] = nn.conv %[[AC]], %[[B]] {{.*}}nn.name = "conv.product"{{.*}} -> tensor<1x3x4x4xi32>
// CHECK: %[[SB:.*]] = nn.reshape %{{.*}} {nn.name = "conv.b_scale"} : (tensor<3x1x1x1xf32>) -> tensor<1x3x1x1xf32>
// CHECK: %[[S:.*]] = nn.mul %{{.*}}, %[[SB]] {nn.name = "conv.scale"}
// CHECK: %[[W:.*]] = nn.cast %[[P]] {nn.name = "conv.wide"} : (tensor<1x3x4x4xi32>) -> tensor<1x3x4x4xf32>
// CHECK: %[[M:.*]] = nn.mul %[[W]], %[[S]] {nn.name = "conv.scaled"}
// CHECK: %[[C:.*]] = nn.reshape %{{.*}} {nn.name = "conv.bias"} : (tensor<3xf32>) -> tensor<1x3x1x1xf32>
// CHECK: %[[Y:.*]] = nn.add %[[M]], %[[C]] {nn.name = "conv"}
// CHECK: nn.output %[[Y]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x2x4x4xui8>
  %sx = nn.constant dense<0.5> : tensor<f32> {nn.name = "sx"}
  %zx = nn.constant dense<7> : tensor<ui8> {nn.name = "zx"}
  %w = nn.parameter {nn.name = "w"} : tensor<3x2x3x3xi8> from #nn.file<"w", 0, 54>
  %sw = nn.parameter {nn.name = "sw"} : tensor<3x1x1x1xf32> from #nn.file<"w", 54, 12>
  %c = nn.parameter {nn.name = "c"} : tensor<3xf32> from #nn.file<"w", 66, 12>
  %0 = nn.cast %x {nn.name = "x_wide"} : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32>
  %1 = nn.cast %zx {nn.name = "zx_wide"} : (tensor<ui8>) -> tensor<f32>
  %2 = nn.sub %0, %1 {nn.name = "x_shifted"} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %a = nn.mul %2, %sx {nn.name = "a"} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %3 = nn.cast %w {nn.name = "w_wide"} : (tensor<3x2x3x3xi8>) -> tensor<3x2x3x3xf32>
  %b = nn.mul %3, %sw {nn.name = "b"} : (tensor<3x2x3x3xf32>, tensor<3x1x1x1xf32>) -> tensor<3x2x3x3xf32>
  %y = nn.conv %a, %b bias %c {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
                               pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
     : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  nn.output %y {nn.name = "y"} : tensor<1x3x4x4xf32>
  return
}

// -----

// Tests that products stay whose scale differs along what is summed, or that sum
// more than an i32 holds.

// CHECK-LABEL: func.func @main
// CHECK-NOT: i32
// CHECK: nn.matmul {{.*}}nn.name = "along"{{.*}} -> tensor<4x5xf32>
// CHECK: nn.matmul {{.*}}nn.name = "long"{{.*}} -> tensor<1x1xf32>
// CHECK-NOT: i32
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xui8>
  %w = nn.input {nn.name = "w"} : tensor<8x5xi8>
  %u = nn.input {nn.name = "u"} : tensor<1x33026xui8>
  %s = nn.constant dense<0.5> : tensor<f32> {nn.name = "s"}
  %sx = nn.parameter {nn.name = "sx"} : tensor<8xf32> from #nn.file<"w", 0, 32>
  %0 = nn.cast %x {nn.name = "x_wide"} : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %a = nn.mul %0, %sx {nn.name = "a"} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.cast %w {nn.name = "w_wide"} : (tensor<8x5xi8>) -> tensor<8x5xf32>
  %b = nn.mul %1, %s {nn.name = "b"} : (tensor<8x5xf32>, tensor<f32>) -> tensor<8x5xf32>
  %2 = nn.cast %u {nn.name = "u_wide"} : (tensor<1x33026xui8>) -> tensor<1x33026xf32>
  %c = nn.mul %2, %s {nn.name = "c"} : (tensor<1x33026xf32>, tensor<f32>) -> tensor<1x33026xf32>
  %y = nn.matmul %a, %b {nn.name = "along"} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %z = nn.matmul %c, %c {nn.name = "long", transpose_b} : (tensor<1x33026xf32>, tensor<1x33026xf32>) -> tensor<1x1xf32>
  nn.output %y {nn.name = "y"} : tensor<4x5xf32>
  nn.output %z {nn.name = "z"} : tensor<1x1xf32>
  return
}
