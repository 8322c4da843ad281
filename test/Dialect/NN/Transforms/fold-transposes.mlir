// RUN: soap-opt %s --nn-fold-transposes --split-input-file | FileCheck %s

// A layer of weights (F, K), of inputs with one dimension more.
// CHECK-LABEL: @weights
// CHECK-NOT: nn.transpose
// CHECK: nn.matmul %{{.*}}, %[[W:.*]] {nn.name = "fc", transpose_b} : (tensor<5x2x3xf32>, tensor<4x3xf32>)
func.func @weights(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>) -> tensor<5x2x4xf32> {
  %0 = nn.transpose %w {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = nn.matmul %x, %0 {nn.name = "fc"} : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  return %1 : tensor<5x2x4xf32>
}

// -----

// Both operands; what was exchanged twice is as it was.
// CHECK-LABEL: @both
// CHECK-SAME: %[[A:.*]]: tensor<2x3x5xf32>, %[[B:.*]]: tensor<2x3x4xf32>
// CHECK-NOT: nn.transpose
// CHECK: nn.matmul %[[A]], %[[B]] {nn.name = "p", transpose_a} :
func.func @both(%a: tensor<2x3x5xf32>, %b: tensor<2x3x4xf32>) -> tensor<2x5x4xf32> {
  %0 = nn.transpose %a {nn.name = "s", permutation = array<i64: 0, 2, 1>} : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
  %1 = nn.transpose %b {nn.name = "t", permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %2 = nn.matmul %0, %1 {nn.name = "p", transpose_b} : (tensor<2x5x3xf32>, tensor<2x4x3xf32>) -> tensor<2x5x4xf32>
  return %2 : tensor<2x5x4xf32>
}

// -----

// Others still read it.
// CHECK-LABEL: @shared
// CHECK-SAME: %{{.*}}, %[[W:.*]]: tensor<4x3xf32>
// CHECK: %[[T:.*]] = nn.transpose %[[W]]
// CHECK: nn.matmul %{{.*}}, %[[W]] {nn.name = "fc", transpose_b}
// CHECK: return %{{.*}}, %[[T]]
func.func @shared(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> (tensor<2x4xf32>, tensor<3x4xf32>) {
  %0 = nn.transpose %w {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = nn.matmul %x, %0 {nn.name = "fc"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %1, %0 : tensor<2x4xf32>, tensor<3x4xf32>
}

// -----

// Other orders of dimensions stay, and those before other operations.
// CHECK-LABEL: @others
// CHECK: nn.transpose
// CHECK: nn.transpose
// CHECK: nn.matmul {{.*}} {nn.name = "p"} :
func.func @others(%a: tensor<2x3x5xf32>, %b: tensor<5x4x3xf32>) -> (tensor<3x2x3xf32>, tensor<5x3x2xf32>) {
  %0 = nn.transpose %a {nn.name = "s", permutation = array<i64: 1, 0, 2>} : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
  %1 = nn.transpose %b {nn.name = "t", permutation = array<i64: 2, 0, 1>} : (tensor<5x4x3xf32>) -> tensor<3x5x4xf32>
  %2 = nn.slice %1 {nn.name = "c", starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<3x5x4xf32>) -> tensor<3x5x3xf32>
  %3 = nn.matmul %0, %2 {nn.name = "p"} : (tensor<3x2x5xf32>, tensor<3x5x3xf32>) -> tensor<3x2x3xf32>
  %4 = nn.transpose %a {nn.name = "u", permutation = array<i64: 2, 1, 0>} : (tensor<2x3x5xf32>) -> tensor<5x3x2xf32>
  return %3, %4 : tensor<3x2x3xf32>, tensor<5x3x2xf32>
}
