// RUN: soap-opt %s --nn-lower-precision=to=tf32 | FileCheck %s
// RUN: soap-opt %s --nn-lower-precision=to=tf32 | soap-opt --nn-lower-precision=to=tf32 | FileCheck %s
// RUN: soap-opt %s --nn-lower-precision=to=tf32 --nn-build-training-step="loss=mean-squared-error optimizer=sgd output=y" | FileCheck %s --check-prefix=TRAIN
// RUN: soap-opt %s --soap-parallelize="devices=2 strategy=data-parallel precision=tf32" --soap-lower=target=cuda | FileCheck %s --check-prefix=KEYS

// Tests that products of f32 say that they may be rounded to TF32, and nothing else
// changes: no cast, no type, no other operation. What is built of them later says so,
// too: their gradients, their tiles, and the keys of kernels, which costs are kept by.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.cast
// CHECK: nn.conv %{{.*}} {{{.*}}nn.name = "conv"{{.*}}, tf32} : (tensor<4x3x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<4x6x8x8xf32>
// CHECK: nn.relu %{{.*}} {nn.name = "relu"} : tensor<4x6x8x8xf32>
// CHECK: nn.matmul %{{.*}} bias %{{.*}} {nn.name = "fc", tf32} : (tensor<4x384xf32>, tensor<384x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
// CHECK: nn.matmul %{{.*}} {nn.name = "wide", transpose_b} : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<4x4xf64>
// CHECK: nn.gru {{.*}} lengths {{.*}}tf32}
// CHECK-NOT: nn.cast

// TRAIN-DAG: nn.matmul {{.*}}nn.name = "fc", tf32}
// TRAIN-DAG: nn.matmul {{.*}}tf32{{.*}} -> tensor<4x384xf32>
// TRAIN-DAG: nn.matmul {{.*}}tf32{{.*}} -> tensor<384x5xf32>
// TRAIN-DAG: nn.conv_backward_filter {{.*}}tf32{{.*}} -> tensor<6x3x3x3xf32>

// KEYS-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}}tf32=1 2x3x8x8xf32 6x3x3x3xf32 -> 2x6x8x8xf32" (
// KEYS-DAG: soaprt.kernel {{.*}} "nn.matmul {{.*}}tf32=1 2x384xf32 384x5xf32 5xf32 -> 2x5xf32" (
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<4x3x8x8xf32>
  %u = nn.parameter {nn.name = "u"} : tensor<6x3x3x3xf32> from #nn.splat<1.0 : f32>
  %w = nn.parameter {nn.name = "w"} : tensor<384x5xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  %0 = nn.conv %x, %u {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<4x3x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<4x6x8x8xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<4x6x8x8xf32>
  %2 = nn.reshape %1 {nn.name = "rows"} : (tensor<4x6x8x8xf32>) -> tensor<4x384xf32>
  %3 = nn.matmul %2, %w bias %b {nn.name = "fc"} : (tensor<4x384xf32>, tensor<384x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  nn.output %3 {nn.name = "y"} : tensor<4x5xf32>
  %4 = nn.input {nn.name = "d"} : tensor<4x5xf64>
  %5 = nn.matmul %4, %4 {nn.name = "wide", transpose_b} : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<4x4xf64>
  nn.output %5 {nn.name = "z"} : tensor<4x4xf64>
  %6 = nn.input {nn.name = "sequence"} : tensor<5x2x3xf32>
  %lengths = nn.input {nn.name = "lengths"} : tensor<2xi64>
  %gates = nn.parameter {nn.name = "gates"} : tensor<1x3x6x3xf32> from #nn.splat<1.0 : f32>
  %r = nn.parameter {nn.name = "r"} : tensor<1x3x6x6xf32> from #nn.splat<1.0 : f32>
  %c = nn.parameter {nn.name = "c"} : tensor<1x4x6xf32> from #nn.splat<1.0 : f32>
  %h = nn.parameter {nn.name = "h"} : tensor<1x2x6xf32> from #nn.splat<0.0 : f32>
  %7 = nn.gru %6, %gates, %r, %c, %h lengths %lengths {nn.name = "gru"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<2xi64>) -> tensor<5x1x2x6xf32>
  nn.output %7 {nn.name = "states"} : tensor<5x1x2x6xf32>
  return
}
