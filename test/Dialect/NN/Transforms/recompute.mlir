// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' \
// RUN:   --nn-recompute=ops=act.* --cse --canonicalize --split-input-file | FileCheck %s

// Tests that a chain of two operations and a reshape behind them is made again
// for the gradient of the weights behind it: in the groups of the originals,
// behind the gradient that this gradient reads. CSE does not join the copies
// with the originals.

// CHECK-LABEL: func.func @main
// CHECK: %[[FIRST:.*]] = nn.sigmoid %{{.*}} {nn.name = "first"}
// CHECK: %[[ACT:.*]] = nn.tanh %[[FIRST]] {nn.name = "act1"}
// CHECK: %[[RELU:.*]] = nn.relu %[[ACT]] {nn.name = "act2"}
// CHECK: %[[FLAT:.*]] = nn.reshape %[[RELU]] {nn.name = "flat"}
// CHECK: nn.matmul %[[FLAT]], %{{.*}} {nn.name = "fc"}
// CHECK: %[[DY:.*]] = nn.add {{.*}}nn.name = "loss.terms.grad.sum"
// CHECK-NEXT: %[[ACT2:.*]] = nn.tanh %[[FIRST]] {nn.after = "loss.terms.grad.sum", nn.group = #nn.group<"act1", {d0 = "d0", d1 = "d1", d2 = "d2"}>, nn.name = "act1.again"}
// CHECK-NEXT: %[[RELU2:.*]] = nn.relu %[[ACT2]] {nn.after = "loss.terms.grad.sum", nn.group = #nn.group<"act2", {{.*}}nn.name = "act2.again"}
// CHECK-NEXT: %[[FLAT2:.*]] = nn.reshape %[[RELU2]] {nn.after = "loss.terms.grad.sum", nn.group = #nn.group<"flat", {{.*}}nn.name = "flat.again"}
// CHECK-NEXT: nn.matmul %[[FLAT2]], %[[DY]] {{.*}}nn.name = "fc.grad", transpose_a}
// CHECK-NOT: .again
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x3xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %0 = nn.sigmoid %x {nn.name = "first"} : tensor<8x2x3xf32>
  %1 = nn.tanh %0 {nn.name = "act1"} : tensor<8x2x3xf32>
  %2 = nn.relu %1 {nn.name = "act2"} : tensor<8x2x3xf32>
  %3 = nn.reshape %2 {nn.name = "flat"} : (tensor<8x2x3xf32>) -> tensor<8x6xf32>
  %4 = nn.matmul %3, %w {nn.name = "fc"} : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  nn.output %4 {nn.name = "y"} : tensor<8x3xf32>
  return
}

// -----

// Tests that running statistics of a batch norm read the originals and are
// updated once, and that dropout draws the same mask again. What a gradient needs
// of values that are made again alone waits for the gradient, too.

// CHECK-LABEL: func.func @main
// CHECK: %[[FC:.*]] = nn.matmul {{.*}} {nn.name = "fc"}
// CHECK: %[[MEAN:.*]] = nn.reduce %[[FC]] {{.*}}nn.name = "act1.mean"
// CHECK: %[[OLD:.*]] = nn.mul {{.*}}nn.name = "act1.statistics_3"
// CHECK: %[[NEW:.*]] = nn.mul %[[MEAN]], {{.*}}nn.name = "act1.statistics_4"
// CHECK: %[[RUNNING:.*]] = nn.add %[[OLD]], %[[NEW]] {{.*}}nn.name = "act1.statistics_5"
// CHECK: nn.dropout {{.*}}nn.name = "act2", ratio = 5.000000e-01 : f64, seed = [[SEED:.*]] : i64}
// CHECK: nn.reduce %[[FC]] {{.*}}nn.group = #nn.group<"act1.mean", {d0 = "d0", d1 = "d1"}>, nn.name = "act1.mean.again"
// CHECK: %[[NORM:.*]] = nn.batch_norm {{.*}}nn.group = #nn.group<"act1.mean", {c = "d1", n = "d0"}>, nn.name = "act1.again", of_batch
// CHECK: %[[DROP:.*]] = nn.dropout %[[NORM]], %{{.*}} {{.*}}nn.name = "act2.again", ratio = 5.000000e-01 : f64, seed = [[SEED]] : i64}
// CHECK: nn.matmul %[[DROP]], {{.*}}nn.name = "fc2.grad_1", transpose_a}
// CHECK-NOT: .again
// CHECK: nn.batch_norm {{.*}}nn.after = "act2.grad", {{.*}}nn.name = "act1.grad_1"
// CHECK: nn.write %[[RUNNING]], %{{.*}}nn.name = "mean.write"
// CHECK-NOT: nn.write {{.*}}"mean
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %v = nn.parameter {nn.name = "v"} : tensor<4x3xf32> from #nn.random<1, "v", normal, 0.0, 0.6>
  %s = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "bias"} : tensor<4xf32> from #nn.splat<0.5 : f32>
  %m = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %n = nn.parameter {nn.name = "variance"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.batch_norm %0, %s, %b, %m, %n {nn.name = "act1", epsilon = 1.0e-05 : f32} : tensor<8x4xf32>, tensor<4xf32>
  %2 = nn.dropout %1 {nn.name = "act2", ratio = 0.5 : f64} : tensor<8x4xf32>
  %3 = nn.matmul %2, %v {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  nn.output %3 {nn.name = "y"} : tensor<8x3xf32>
  return
}
