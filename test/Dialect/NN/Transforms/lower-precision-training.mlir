// RUN: soap-opt %s --pass-pipeline='builtin.module(nn-build-training-step{loss=mean-squared-error optimizer=sgd},func.func(nn-lower-precision{to=bf16}))' | FileCheck %s
// RUN: soap-compile %s --train=sgd --loss=mean-squared-error --lr=0.1 --precision=bf16 --devices=2 --strategy=data-parallel --calibration=none -o %t.so 2>&1 | FileCheck %s --check-prefix=WARNING --allow-empty
// RUN: soap-run %t.so --input=x=random:3 --input=label=random:4 --verify | FileCheck %s --check-prefix=VERIFY

// Tests a training step: gradients read the casts of the forward pass, a cast is
// in the group of what it casts (of a parameter: of its first reader) along the
// same loops, and parameters, gradients and updates are f32.

// WARNING-NOT: error
// VERIFY: equal

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[X:.*]] = nn.cast %{{.*}} {nn.group = #nn.group<"fc1", {d0 = "n", d1 = "k"}>, nn.name = "x.bf16"}
// CHECK: %[[WN:.*]] = nn.cast %[[W]] {nn.group = #nn.group<"fc1", {d0 = "k", d1 = "f"}>, nn.name = "w.bf16"} : (tensor<6x4xf32>) -> tensor<6x4xbf16>
// CHECK: nn.matmul %[[X]], %[[WN]] {nn.name = "fc1"} : (tensor<8x6xbf16>, tensor<6x4xbf16>) -> tensor<8x4xf32>
// CHECK: %[[T:.*]] = nn.tanh
// CHECK: %[[TN:.*]] = nn.cast %[[T]] {nn.group = #nn.group<"act", {d0 = "d0", d1 = "d1"}>, nn.name = "act.bf16"}
// CHECK: %[[VN:.*]] = nn.cast %{{.*}} {nn.group = #nn.group<"fc2", {d0 = "k", d1 = "f"}>, nn.name = "v.bf16"}
// CHECK: nn.matmul %[[TN]], %[[VN]] {nn.name = "fc2"}
// CHECK: %[[DY:.*]] = nn.cast %{{.*}} -> tensor<8x3xbf16>
// CHECK-DAG: nn.matmul %[[DY]], %[[VN]] {{.*}} -> tensor<8x4xf32>
// CHECK-DAG: %[[DV:.*]] = nn.matmul %[[TN]], %[[DY]] {{.*}} -> tensor<4x3xf32>
// CHECK: nn.matmul %[[X]], %{{.*}} -> tensor<6x4xf32>
// CHECK: nn.sgd {{.*}} tensor<6x4xf32>
// CHECK-NOT: bf16
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %v = nn.parameter {nn.name = "v"} : tensor<4x3xf32> from #nn.random<1, "v", normal, 0.0, 0.6>
  %0 = nn.matmul %x, %w {nn.name = "fc1"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.tanh %0 {nn.name = "act"} : tensor<8x4xf32>
  %2 = nn.matmul %1, %v {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x3xf32>
  return
}
