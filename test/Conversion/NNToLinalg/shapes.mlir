// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that operands are inserted one behind the other.
// CHECK-LABEL: func @concat
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x4xf32>
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[A]] into %{{.*}}[0, 0] [2, 3] [1, 1]
// CHECK: tensor.insert_slice %[[B]] into %[[FIRST]][0, 3] [2, 4] [1, 1]
func.func @concat(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %0 = nn.concat %a, %b {nn.name = "c", axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}

// -----

// Tests that a forward slice is a tensor.extract_slice.
// CHECK-LABEL: func @slice
// CHECK-NEXT: tensor.extract_slice %{{.*}}[1, 2] [3, 4] [2, 1] : tensor<8x9xf32> to tensor<3x4xf32>
// CHECK-NEXT: return
func.func @slice(%x: tensor<8x9xf32>) -> tensor<3x4xf32> {
  %0 = nn.slice %x {nn.name = "s", starts = array<i64: 1, 2>, steps = array<i64: 2, 1>} : (tensor<8x9xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Tests that a backward slice is cut forwards, then turned round.
// CHECK-LABEL: func @backwards
// CHECK: %[[CUT:.*]] = tensor.extract_slice %{{.*}}[3, 0] [3, 4] [2, 1]
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1) -> (-d0 + 2, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%[[CUT]] :
func.func @backwards(%x: tensor<8x9xf32>) -> tensor<3x4xf32> {
  %0 = nn.slice %x {nn.name = "s", starts = array<i64: 7, 0>, steps = array<i64: -2, 1>} : (tensor<8x9xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Tests that a pad is a fill and an insertion.
// CHECK-LABEL: func @pad
// CHECK: %[[V:.*]] = arith.constant 1.5
// CHECK: %[[F:.*]] = linalg.fill ins(%[[V]] : f32) outs(%{{.*}} : tensor<5x9xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %[[F]][1, 0] [4, 8] [1, 1]
func.func @pad(%x: tensor<4x8xf32>) -> tensor<5x9xf32> {
  %0 = nn.pad %x {nn.name = "p", pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 1>, value = 1.5 : f32} : (tensor<4x8xf32>) -> tensor<5x9xf32>
  return %0 : tensor<5x9xf32>
}

// -----

// Tests that any reshape goes, through one dimension if it must; rank 0 too.
// CHECK-LABEL: func @reshape
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<6x4xf32> into tensor<24xf32>
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [8, 3]
// CHECK: tensor.collapse_shape %{{.*}} [] : tensor<1x1xf32> into tensor<f32>
func.func @reshape(%x: tensor<6x4xf32>, %y: tensor<1x1xf32>) -> (tensor<8x3xf32>, tensor<f32>) {
  %0 = nn.reshape %x {nn.name = "r"} : (tensor<6x4xf32>) -> tensor<8x3xf32>
  %1 = nn.reshape %y {nn.name = "s"} : (tensor<1x1xf32>) -> tensor<f32>
  return %0, %1 : tensor<8x3xf32>, tensor<f32>
}

// -----

// Tests transpose and constant.
// CHECK-LABEL: func @others
// CHECK: arith.constant dense<[1, 2]> : tensor<2xi64>
// CHECK: linalg.transpose ins(%{{.*}} : tensor<2x3x4xf32>) outs(%{{.*}} : tensor<4x2x3xf32>) permutation = [2, 0, 1]
func.func @others(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2xi64>) {
  %0 = nn.transpose %x {nn.name = "t", permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = nn.constant dense<[1, 2]> : tensor<2xi64> {nn.name = "c"}
  return %0, %1 : tensor<4x2x3xf32>, tensor<2xi64>
}
