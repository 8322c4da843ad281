// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd evaluation freeze=frozen' | FileCheck %s
// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' | FileCheck %s --check-prefix=WITHOUT

// Tests that the model stays as a program beside the step: with its own outputs
// and batch norms, and what the step writes marked.

// CHECK-LABEL: func.func @main()
// CHECK: nn.batch_norm {{.*}}of_batch}
// CHECK: nn.input {nn.name = "label"}
// CHECK-COUNT-5: nn.write
// CHECK: nn.output {{.*}} {nn.name = "loss"}
// CHECK-NOT: nn.state
// CHECK-LABEL: module @eval
// CHECK: func.func @main()
// CHECK-NOT: nn.input {nn.name = "label"}
// CHECK-DAG: nn.parameter {nn.name = "w", nn.state}
// CHECK-DAG: nn.parameter {nn.name = "frozen"}
// CHECK-DAG: nn.parameter {nn.name = "mean", nn.state}
// CHECK-DAG: nn.parameter {nn.name = "variance", nn.state}
// CHECK: nn.batch_norm {{.*}} {epsilon = {{.*}}, nn.name = "norm"}
// CHECK-NOT: nn.write
// CHECK: nn.output {{.*}} {nn.name = "y"}

// WITHOUT-NOT: @eval

// Tests that nothing that depends on what the step writes is folded or hoisted.
// RUN: soap-opt %s --pass-pipeline='builtin.module(nn-build-training-step{loss=mean-squared-error optimizer=sgd evaluation freeze=frozen},builtin.module(func.func(nn-fold-batch-norm),nn-hoist-init))' \
// RUN:   | FileCheck %s --check-prefix=NORMAL
// NORMAL-LABEL: module @eval
// NORMAL-NOT: @init
// NORMAL: nn.matmul {{.*}} {nn.name = "fc"}
// NORMAL: nn.batch_norm {{.*}}nn.name = "norm"}

// Tests that there is one, of the model in @main.
// RUN: sed 's/@main/@other/' %s | not soap-opt --nn-build-training-step='loss=mean-squared-error optimizer=sgd evaluation' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: expected a model in @main for an evaluation program, got: @other

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3x5xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %f = nn.parameter {nn.name = "frozen"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  %s = nn.parameter {nn.name = "scale"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "bias"} : tensor<5xf32> from #nn.splat<0.0 : f32>
  %m = nn.parameter {nn.name = "mean"} : tensor<5xf32> from #nn.splat<0.0 : f32>
  %v = nn.parameter {nn.name = "variance"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = nn.add %0, %f {nn.name = "shifted"} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %2 = nn.batch_norm %1, %s, %b, %m, %v {epsilon = 1.0e-5 : f32, nn.name = "norm"} : tensor<4x5xf32>, tensor<5xf32>
  nn.output %2 {nn.name = "y"} : tensor<4x5xf32>
  return
}
