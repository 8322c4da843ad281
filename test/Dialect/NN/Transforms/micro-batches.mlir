// RUN: soap-opt %s --split-input-file --nn-build-training-step='loss=softmax-cross-entropy ignore-index=3 accumulate=2' \
// RUN:   | FileCheck %s
// RUN: soap-opt %s --split-input-file --nn-build-training-step='loss=mean-squared-error batch-norm=local batch-norm-parts=2' \
// RUN:   | FileCheck %s --check-prefix=PARTS

// Tests that the model is there once per micro-batch, forward pass, loss and
// gradients one after the other; that operations are one group, and know their
// part of dropout's mask and of shared values; that the loss is divided by what
// counts in the whole batch, 1 at least; that gradients are added in parts; and
// that what no output needs goes.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[SHARED:.*]] = nn.mul {{.*}} {nn.name = "weights"}
// CHECK: %[[X0:.*]] = nn.slice %[[X]] {nn.name = "x.part", starts = array<i64: 0, 0>
// CHECK: nn.matmul %[[X0]], %[[SHARED]] {nn.name = "fc"} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
// CHECK: nn.dropout {{.*}} {global_shape = array<i64: 4, 5>, nn.name = "drop", offsets = array<i64: 0, 0>, ratio = 5.000000e-01 : f64, seed = [[SEED:.*]] : i64}
// CHECK: %[[P0:.*]] = nn.slice {{.*}} {nn.name = "sum.part1", starts = array<i64: 0, 0>
// CHECK: nn.add {{.*}}, %[[P0]] {nn.name = "sum"}
// CHECK: %[[LABEL:.*]] = nn.input {nn.name = "label"} : tensor<4xi64>
// CHECK: nn.slice %[[LABEL]] {nn.name = "label.part", starts = array<i64: 0>
// CHECK: nn.compare %[[LABEL]], {{.*}} -> tensor<4xi1>
// CHECK: %[[ALL:.*]] = nn.reshape {{.*}} : (tensor<1xf32>) -> tensor<f32>
// CHECK: %[[COUNT:.*]] = nn.max %[[ALL]], %{{.*}} {
// CHECK: %[[LOSS0:.*]] = nn.div {{.*}}, %[[COUNT]]
// CHECK: nn.matmul {{.*}} {nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>, nn.name = "fc.grad"
// CHECK: nn.slice %[[X]] {nn.group = #nn.group<"x.part", {d0 = "d0", d1 = "d1"}>, nn.name = "x.part#1", starts = array<i64: 2, 0>
// CHECK: nn.matmul {{.*}}, %[[SHARED]] {nn.group = #nn.group<"fc", {f = "f", k = "k", n = "n"}>, nn.name = "fc#1"}
// CHECK: nn.dropout {{.*}} nn.name = "drop#1", offsets = array<i64: 2, 0>, ratio = 5.000000e-01 : f64, seed = [[SEED]] : i64}
// CHECK: nn.slice {{.*}} nn.name = "sum.part1#1", starts = array<i64: 2, 0>
// CHECK: nn.slice %[[LABEL]] {{.*}}starts = array<i64: 2>
// CHECK: %[[LOSS1:.*]] = nn.div {{.*}}, %[[COUNT]]
// CHECK: nn.matmul {{.*}} {nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>, nn.name = "fc#1.grad"
// CHECK: nn.add {{.*}} {nn.group = #nn.group<"fc", {d0 = "k", d1 = "f", part0 = "n"}>, nn.name = "weights.grad.sum", nn.parts = array<i64: 2>}
// CHECK: %[[LOSS:.*]] = nn.add %[[LOSS0]], %[[LOSS1]]
// CHECK: nn.mul {{.*}} nn.name = "weights.grad"}
// CHECK: nn.output %[[LOSS]] {nn.name = "loss"}
// CHECK-NOT: "unused"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3x5xf32> from #nn.file<"m", 0, 60>
  %v = nn.parameter {nn.name = "v"} : tensor<3x5xf32> from #nn.file<"m", 60, 60>
  %p = nn.parameter {nn.name = "p"} : tensor<4x5xf32> from #nn.file<"m", 120, 80>
  %0 = nn.mul %w, %v {nn.name = "weights"} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = nn.matmul %x, %0 {nn.name = "fc"} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %2 = nn.dropout %1 {nn.name = "drop", ratio = 0.5 : f64} : tensor<4x5xf32>
  %3 = nn.add %2, %p {nn.name = "sum"} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %4 = nn.relu %3 {nn.name = "unused"} : tensor<4x5xf32>
  nn.output %3 {nn.name = "y"} : tensor<4x5xf32>
  return
}

// -----

// Tests that batch norms of micro-batches are one group, whose running statistics
// pass through both; and that with parts of a batch each has its own statistics.

// CHECK-LABEL: func.func @main
// CHECK: nn.reduce {{.*}}nn.name = "norm.mean", scale = 5.000000e-01 : f32} : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK: nn.batch_norm {{.*}}nn.group = #nn.group<"norm.mean", {c = "d1", n = "d0"}>, nn.name = "norm", of_batch}
// CHECK: nn.reduce {{.*}}nn.group = #nn.group<"norm.mean", {d0 = "d0", d1 = "d1"}>, nn.name = "norm#1.mean", scale = 5.000000e-01 : f32}
// CHECK: nn.batch_norm {{.*}}nn.group = #nn.group<"norm.mean", {c = "d1", n = "d0"}>, nn.name = "norm#1", of_batch}

// PARTS-LABEL: func.func @main
// PARTS-LABEL: func.func @main
// PARTS: %[[X:.*]] = nn.input {nn.name = "x"}
// PARTS: %[[SPLIT:.*]] = nn.reshape %[[X]] {nn.group = #nn.group<"norm.mean", {d0 = "d0", d2 = "d2"}>, {{.*}} : (tensor<4x3xf32>) -> tensor<2x2x3xf32>
// PARTS: nn.reduce %[[SPLIT]] {axes = array<i64: 1>, {{.*}}nn.name = "norm.mean", scale = 5.000000e-01 : f32} : (tensor<2x2x3xf32>) -> tensor<2x1x3xf32>
// PARTS: nn.reshape {{.*}} {nn.group = #nn.group<"norm.mean", {d0 = "d0", d1 = "d2"}>, nn.name = "norm"} : (tensor<2x2x3xf32>) -> tensor<4x3xf32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %s = nn.parameter {nn.name = "scale"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "bias"} : tensor<3xf32> from #nn.splat<0.5 : f32>
  %m = nn.parameter {nn.name = "mean"} : tensor<3xf32> from #nn.splat<0.0 : f32>
  %v = nn.parameter {nn.name = "variance"} : tensor<3xf32> from #nn.splat<2.0 : f32>
  %0 = nn.batch_norm %x, %s, %b, %m, %v {nn.name = "norm", epsilon = 1.0e-05 : f32} : tensor<4x3xf32>, tensor<3xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x3xf32>
  return
}
