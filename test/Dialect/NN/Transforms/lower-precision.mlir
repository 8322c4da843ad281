// RUN: soap-opt %s --nn-lower-precision=to=bf16 --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-lower-precision=to=bf16 --split-input-file | soap-opt --nn-lower-precision=to=bf16 --split-input-file | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-lower-precision{to=f16}),nn-hoist-init)' --split-input-file | FileCheck %s --check-prefix=HOIST

// Tests that a value is cast once for all products that read it, in front of the
// first; that results, biases and all other operations stay f32; and that casts
// of weights run when a model is loaded.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[T:.*]] = nn.tanh %[[X]]
// CHECK: %[[TN:.*]] = nn.cast %[[T]] {nn.name = "tanh.bf16"} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
// CHECK-NEXT: %[[W:.*]] = nn.cast %{{.*}} {nn.name = "w.bf16"} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
// CHECK-NEXT: %[[A:.*]] = nn.matmul %[[TN]], %[[W]] bias %{{.*}} {nn.name = "a"} : (tensor<8x64xbf16>, tensor<64x64xbf16>, tensor<64xf32>) -> tensor<8x64xf32>
// CHECK-NEXT: %[[B:.*]] = nn.matmul %[[TN]], %[[W]] {nn.name = "b", transpose_b} : {{.*}} -> tensor<8x64xf32>
// CHECK-NEXT: nn.add %[[A]], %[[B]] {nn.name = "sum"} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK-NEXT: nn.mul %{{.*}}, %[[T]]

// HOIST-LABEL: func.func private @init() -> tensor<64x64xf16>
// HOIST: nn.cast
// HOIST-LABEL: func.func @main
// HOIST: nn.cast {{.*}} {nn.name = "tanh.f16"}
// HOIST: nn.parameter {nn.name = "w.f16"} : tensor<64x64xf16> from #nn.init<0>
// HOIST: return
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x64xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64xf32> from #nn.splat<1.0 : f32>
  %bias = nn.parameter {nn.name = "bias"} : tensor<64xf32> from #nn.splat<1.0 : f32>
  %t = nn.tanh %x {nn.name = "tanh"} : tensor<8x64xf32>
  %a = nn.matmul %t, %w bias %bias {nn.name = "a"} : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %b = nn.matmul %t, %w {nn.name = "b", transpose_b} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %s = nn.add %a, %b {nn.name = "sum"} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %m = nn.mul %s, %t {nn.name = "mul"} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  nn.output %m {nn.name = "y"} : tensor<8x64xf32>
  return
}

// -----

// Tests that convolutions and transposed ones are products, that products of
// other types stay, and that a value that was widened is not rounded again.

// CHECK-LABEL: func.func @main
// CHECK: %[[N:.*]] = nn.input {nn.name = "n"} : tensor<2x4x8xbf16>
// CHECK: nn.cast %[[N]] {nn.name = "wide"}
// CHECK: %[[W:.*]] = nn.cast %{{.*}} {nn.name = "w.bf16"}
// CHECK-NEXT: %[[C:.*]] = nn.conv %[[N]], %[[W]] {{.*}} : (tensor<2x4x8xbf16>, tensor<6x4x3xbf16>) -> tensor<2x6x6xf32>
// CHECK: %[[D:.*]] = nn.cast %[[C]] {nn.name = "conv.bf16"}
// CHECK-NEXT: nn.conv_backward_data %[[D]], %[[W]] {{.*}} : (tensor<2x6x6xbf16>, tensor<6x4x3xbf16>) -> tensor<2x4x8xf32>
// CHECK: nn.matmul {{.*}} -> tensor<3x3xf64>
// CHECK: nn.matmul {{.*}} -> tensor<3x3xi32>
func.func @main() {
  %n = nn.input {nn.name = "n"} : tensor<2x4x8xbf16>
  %d = nn.input {nn.name = "d"} : tensor<3x3xf64>
  %i = nn.input {nn.name = "i"} : tensor<3x3xi32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4x3xf32> from #nn.splat<1.0 : f32>
  %x = nn.cast %n {nn.name = "wide"} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
  nn.output %x {nn.name = "y"} : tensor<2x4x8xf32>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  %1 = nn.conv_backward_data %0, %w {nn.name = "up", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<2x6x6xf32>, tensor<6x4x3xf32>) -> tensor<2x4x8xf32>
  nn.output %1 {nn.name = "z"} : tensor<2x4x8xf32>
  %2 = nn.matmul %d, %d {nn.name = "wide_product"} : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  nn.output %2 {nn.name = "dd"} : tensor<3x3xf64>
  %3 = nn.matmul %i, %i {nn.name = "integers"} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  nn.output %3 {nn.name = "ii"} : tensor<3x3xi32>
  return
}

// -----

// Tests that an argument of a function is cast like any other value.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.cast %arg0 {nn.name = "fc.operand0.bf16"}
// CHECK: %[[W:.*]] = nn.cast %arg1 {nn.name = "fc.operand1.bf16"}
// CHECK: nn.matmul %[[X]], %[[W]]
func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
