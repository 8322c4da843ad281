// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' | FileCheck %s

// Tests that gradients of weights that are read several times are added in the
// group of the later one, in parts along the loop over which it is a sum, and
// that a transpose and a reshape on the way take parts as well; that the update
// takes the sum.

// CHECK-LABEL: func.func @main
// CHECK: %[[W:[0-9]+]] = nn.parameter {nn.name = "w"}
// CHECK: %[[DT:[0-9]+]] = nn.matmul {{.*}}nn.group = #nn.group<"fc2", {f = "f", k = "n", n = "k"}>
// CHECK: %[[G2:[0-9]+]] = nn.transpose %[[DT]] {nn.group = #nn.group<"fc2", {d0 = "f", d1 = "k", part0 = "n"}>, nn.name = "t.grad", nn.parts = array<i64: 8>
// CHECK: %[[G1:[0-9]+]] = nn.matmul {{.*}}nn.group = #nn.group<"fc1", {f = "f", k = "n", n = "k"}>
// CHECK: %[[R1:[0-9]+]] = nn.reduce {{.*}}nn.group = #nn.group<"fc1", {d0 = "n", d1 = "f"}>
// CHECK: %[[B1:[0-9]+]] = nn.reshape %[[R1]] {nn.group = #nn.group<"fc1", {d0 = "f", part0 = "n"}>, {{.*}}nn.parts = array<i64: 8>}
// CHECK: %[[S1:[0-9]+]] = nn.add %[[G2]], %[[G1]] {nn.group = #nn.group<"fc1", {d0 = "k", d1 = "f", part0 = "n"}>, nn.name = "w.grad.sum", nn.parts = array<i64: 8>}
// CHECK: %[[G0:[0-9]+]] = nn.matmul {{.*}}nn.group = #nn.group<"fc0", {f = "f", k = "n", n = "k"}>
// CHECK: %[[S0:[0-9]+]] = nn.add %[[S1]], %[[G0]] {nn.group = #nn.group<"fc0", {d0 = "k", d1 = "f", part0 = "n"}>, nn.name = "w.grad.sum_1", nn.parts = array<i64: 8>}
// CHECK: %[[B:[0-9]+]] = nn.add %[[B1]], %{{.*}} {nn.group = #nn.group<"fc0", {d0 = "f", part0 = "n"}>, nn.name = "b.grad.sum", nn.parts = array<i64: 8>}
// CHECK: nn.sgd %[[W]], %[[S0]], {{.*}}nn.name = "w.update"
// CHECK: nn.sgd %{{.*}}, %[[B]], {{.*}}nn.name = "b.update"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4xf32> from #nn.file<"m", 0, 64>
  %b = nn.parameter {nn.name = "b"} : tensor<4xf32> from #nn.file<"m", 64, 16>
  %0 = nn.matmul %x, %w bias %b {nn.name = "fc0"} : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %1 = nn.matmul %0, %w bias %b {nn.name = "fc1"} : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %t = nn.transpose %w {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.matmul %1, %t {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  nn.output %2 {nn.name = "scores"} : tensor<8x4xf32>
  return
}
