// RUN: soap-opt %s --nn-build-training-step --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error label=target freeze=w.*' --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SQUARE
// RUN: soap-opt %s --nn-build-training-step=batch-norm-variance=shifted --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SHIFTED

// Tests that the loss and the gradients of parameters become the outputs, and
// that gradients join the group of their operation, in its loops.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] bias %{{.*}} {nn.name = "fc"}
// CHECK-NOT: nn.output %[[Y]]
// CHECK: %[[T:.*]] = nn.input {nn.name = "label"} : tensor<8xi64>
// CHECK: nn.softmax %[[Y]] {{{.*}}log{{.*}}}
// CHECK: %[[HOT:.*]] = nn.one_hot %[[T]]{{.*}} -> tensor<8x3xi1>
// CHECK: nn.where %[[HOT]]
// CHECK: %[[DW:.*]] = nn.matmul %[[X]], %[[DY:.*]] {{{.*}}nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>, nn.name = "fc.grad", transpose_a}
// CHECK: nn.reduce %[[DY]] {axes = array<i64: 0>{{.*}}nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>
// CHECK: nn.output %{{.*}} {nn.name = "loss"} : tensor<f32>
// CHECK: nn.output %[[DW]] {nn.name = "w.grad"} : tensor<4x3xf32>
// CHECK: nn.output %{{.*}} {nn.name = "b.grad"} : tensor<3xf32>

// SQUARE-LABEL: func.func @main
// SQUARE: nn.input {nn.name = "target"} : tensor<8x3xf32>
// SQUARE-NOT: transpose_a
// SQUARE: nn.output %{{.*}} {nn.name = "loss"} : tensor<f32>
// SQUARE-NEXT: nn.output %{{.*}} {nn.name = "b.grad"} : tensor<3xf32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %b = nn.parameter {nn.name = "b"} : tensor<3xf32> from #nn.file<"m", 48, 12>
  %y = nn.matmul %x, %w bias %b {nn.name = "fc"} : (tensor<8x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  nn.output %y {nn.name = "scores"} : tensor<8x3xf32>
  return
}

// -----

// Tests that a value that is read twice has the sum of two gradients, made
// where the value is; and that a batch norm takes the statistics of the batch,
// as one group; or shifted ones, of which no sum reads another.

// CHECK-LABEL: func.func @main
// CHECK: %[[MEAN:.*]] = nn.reduce %{{.*}} {axes = array<i64: 0, 2>, keepdims = false, {{.*}}nn.name = "bn.mean", scale = 0.0555{{.*}}}
// CHECK: nn.sub {{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, nn.name = "bn.statistics
// CHECK: %[[VARIANCE:.*]] = nn.reduce {{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, {{.*}} scale = 0.0555{{.*}}}
// CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]], %[[VARIANCE]] {{.*}}nn.group = #nn.group<"bn.mean", {c = "d1", n = "d0", w = "d2"}>, nn.name = "bn", of_batch}
// CHECK: nn.add {{.*}}nn.group = #nn.group<"conv", {d0 = "n", d1 = "f", d2 = "w"}>, nn.name = "conv.grad.sum"}
// CHECK: nn.conv_backward_filter {{.*}}nn.group = #nn.group<"conv", {c = "c", f = "f", n = "n", w = "w"}>
// CHECK-NOT: "mean.grad"
// CHECK: nn.output %{{.*}} {nn.name = "scale.grad"}

// SHIFTED: %[[SHIFT:.*]] = nn.parameter {nn.name = "mean"}
// SHIFTED: %[[MEAN:.*]] = nn.reduce %{{.*}} {axes = array<i64: 0, 2>, keepdims = false, {{.*}}nn.name = "bn.mean", scale = 0.0555{{.*}}}
// SHIFTED: %[[COLUMN:.*]] = nn.reshape %[[SHIFT]] {nn.group = #nn.group<"bn.mean", {d0 = "d1"}>, {{.*}} -> tensor<4x1xf32>
// SHIFTED: %[[SHIFTED:.*]] = nn.sub %{{.*}}, %[[COLUMN]] {nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, nn.name = "bn.statistics
// SHIFTED: %[[SQUARES:.*]] = nn.mul %[[SHIFTED]], %[[SHIFTED]] {
// SHIFTED: %[[SUM:.*]] = nn.reduce %[[SQUARES]] {{.*}}nn.group = #nn.group<"bn.mean", {d0 = "d0", d1 = "d1", d2 = "d2"}>, {{.*}} scale = 0.0555{{.*}}}
// SHIFTED: %[[DIFFERENCE:.*]] = nn.sub %[[MEAN]], %[[SHIFT]] {
// SHIFTED: %[[SQUARED:.*]] = nn.mul %[[DIFFERENCE]], %[[DIFFERENCE]] {
// SHIFTED: %[[LARGER:.*]] = nn.max %[[SUM]], %[[SQUARED]] {
// SHIFTED: %[[VARIANCE:.*]] = nn.sub %[[LARGER]], %[[SQUARED]] {nn.group = #nn.group<"bn.mean", {d0 = "d1"}>,
// SHIFTED: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]], %[[VARIANCE]] {{.*}}nn.group = #nn.group<"bn.mean", {c = "d1", n = "d0", w = "d2"}>, nn.name = "bn", of_batch}

// SQUARE-LABEL: func.func @main
// SQUARE-NOT: nn.conv_backward_filter
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3x3xf32> from #nn.file<"m", 0, 144>
  %scale = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %shift = nn.parameter {nn.name = "shift"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %mean = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %variance = nn.parameter {nn.name = "variance"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>} : (tensor<2x3x9xf32>, tensor<4x3x3xf32>) -> tensor<2x4x9xf32>
  %n = nn.batch_norm %y, %scale, %shift, %mean, %variance {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x4x9xf32>, tensor<4xf32>
  %z = nn.add %y, %n {nn.name = "sum"} : (tensor<2x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  nn.output %z {nn.name = "scores"} : tensor<2x4x9xf32>
  return
}
