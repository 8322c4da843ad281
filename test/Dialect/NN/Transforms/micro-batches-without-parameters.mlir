// RUN: soap-opt %s --nn-build-training-step='loss=output optimizer=sgd accumulate=2' | FileCheck %s

// Tests that a micro-batch whose samples no parameter changes adds its share of
// the loss, and nothing to gradients: rows 0 and 1 are stored over, 2 and 3 not.

// CHECK-LABEL: func.func @main
// CHECK: %[[STORED:.*]] = nn.scatter_elements
// CHECK: %[[SHARE0:.*]] = nn.reduce %[[STORED]] {{.*}} nn.name = "sum"
// CHECK-NOT: nn.scatter_elements
// CHECK: %[[SHARE1:.*]] = nn.reduce {{.*}} nn.name = "sum#1"
// CHECK: %[[LOSS:.*]] = nn.add %[[SHARE0]], %[[SHARE1]]
// CHECK: nn.sgd
// CHECK: nn.output %[[LOSS]] {nn.name = "loss"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<2x3xf32> from #nn.file<"m", 0, 24>
  %i = nn.constant dense<[[0, 1, 2], [2, 1, 0]]> : tensor<2x3xi64> {nn.name = "columns"}
  %0 = nn.scatter_elements %i, %w into %x {nn.name = "stored", axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = nn.reduce %0 {nn.name = "sum", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  nn.output %1 {nn.name = "y"} : tensor<f32>
  return
}
