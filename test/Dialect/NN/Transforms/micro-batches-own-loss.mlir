// RUN: soap-opt %s --split-input-file --verify-diagnostics \
// RUN:     --nn-build-training-step='loss=output accumulate=3' | FileCheck %s

// Tests that a micro-batch has its share of a mean over samples and of what is
// linear of it, and that the loss is the sum of shares.

// CHECK-LABEL: func.func @main
// CHECK: %[[MEAN0:.*]] = nn.reduce {{.*}} nn.name = "mean", scale = 0.166666672 : f32} : (tensor<2xf32>) -> tensor<f32>
// CHECK: %[[SHARE0:.*]] = nn.mul %[[MEAN0]], {{.*}} {nn.name = "scaled"}
// CHECK: nn.reduce {{.*}} nn.name = "mean#1", scale = 0.166666672 : f32} : (tensor<2xf32>) -> tensor<f32>
// CHECK: %[[SHARE1:.*]] = nn.mul {{.*}} nn.name = "scaled#1"}
// CHECK: %[[SUM:.*]] = nn.add %[[SHARE0]], %[[SHARE1]]
// CHECK: %[[SHARE2:.*]] = nn.mul {{.*}} nn.name = "scaled#2"}
// CHECK: %[[LOSS:.*]] = nn.add %[[SUM]], %[[SHARE2]]
// CHECK: nn.output %[[LOSS]] {nn.name = "loss"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<f32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "weighted"} : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = nn.reduce %0 {nn.name = "mean", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false, scale = 0.166666672 : f32} : (tensor<6xf32>) -> tensor<f32>
  %2 = nn.mul %1, %w {nn.name = "scaled"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.output %2 {nn.name = "y"} : tensor<f32>
  return
}

// -----

// A share of a mean is no share of its logarithm.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<f32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "weighted"} : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = nn.reduce %0 {nn.name = "mean", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<6xf32>) -> tensor<f32>
  // expected-error @+1 {{expected operations that compute every sample by itself for micro-batches, got: 'log'; leave 'accumulate' out}}
  %2 = nn.log %1 {nn.name = "log"} : tensor<f32>
  nn.output %2 {nn.name = "y"} : tensor<f32>
  return
}

// -----

// A quotient of two sums is no sum of quotients.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<f32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "weighted"} : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = nn.reduce %0 {nn.name = "sum", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<6xf32>) -> tensor<f32>
  %2 = nn.reduce %x {nn.name = "number", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<6xf32>) -> tensor<f32>
  // expected-error @+1 {{got: 'mean'; leave 'accumulate' out}}
  %3 = nn.div %1, %2 {nn.name = "mean"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.output %3 {nn.name = "y"} : tensor<f32>
  return
}

// -----

// What is added once must not be added in every micro-batch.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<f32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "weighted"} : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = nn.reduce %0 {nn.name = "sum", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<6xf32>) -> tensor<f32>
  // expected-error @+1 {{got: 'regularized'; leave 'accumulate' out}}
  %2 = nn.add %1, %w {nn.name = "regularized"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.output %2 {nn.name = "y"} : tensor<f32>
  return
}

// -----

// The largest of all samples is no sum.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<f32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "weighted"} : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  // expected-error @+1 {{got: 'largest'; leave 'accumulate' out}}
  %1 = nn.reduce %0 {nn.name = "largest", kind = #nn.reduce_kind<max>, axes = array<i64: 0>, keepdims = false} : (tensor<6xf32>) -> tensor<f32>
  nn.output %1 {nn.name = "y"} : tensor<f32>
  return
}
