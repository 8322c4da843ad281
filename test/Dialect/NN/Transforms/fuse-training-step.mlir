// RUN: soap-opt %s --nn-build-training-step=loss=output --nn-fuse | FileCheck %s

// Tests that a batch norm of a training step is one group: its statistics take
// one pass each, the batch norm and its relu one, and the gradient of what it
// normalises one behind two sums.

// CHECK-LABEL: func.func @main
// CHECK: nn.reduce {{.*}}nn.name = "bn.mean"
// CHECK: nn.fused_reduce{{.*}}nn.group = #nn.group<"bn.mean"
// CHECK: nn.fused({{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, nn.name = "relu"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.batch_norm {{.*}}of_batch
// CHECK-NEXT: nn.relu
// CHECK: nn.fused({{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, nn.name = "relu.grad_1"}
// CHECK: nn.reduce {{.*}}nn.group = #nn.group<"bn.mean"
// CHECK: nn.fused_reduce{{.*}}nn.group = #nn.group<"bn.mean"
// CHECK: nn.fused({{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.batch_norm
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sub
// CHECK-NEXT: nn.batch_norm
// CHECK: nn.conv_backward_filter
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3x3xf32> from #nn.splat<1.0 : f32>
  %scale = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %shift = nn.parameter {nn.name = "shift"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %mean = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %variance = nn.parameter {nn.name = "variance"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>} : (tensor<2x3x9xf32>, tensor<4x3x3xf32>) -> tensor<2x4x9xf32>
  %n = nn.batch_norm %y, %scale, %shift, %mean, %variance {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x4x9xf32>, tensor<4xf32>
  %r = nn.relu %n {nn.name = "relu"} : tensor<2x4x9xf32>
  %m = nn.matmul %r, %r {nn.name = "squares", transpose_b} : (tensor<2x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x4xf32>
  %s = nn.reduce %m {nn.name = "loss", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<2x4x4xf32>) -> tensor<f32>
  nn.output %s {nn.name = "scores"} : tensor<f32>
  return
}
