// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that pads are filled in before the windows are read, that the bias is
// what the sum starts from, and that the columns are the innermost loop.
// CHECK-LABEL: func @conv
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>, %[[B:.*]]: tensor<4xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: %[[FILL:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<1x3x9x10xf32>)
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[X]] into %[[FILL]][0, 0, 1, 0] [1, 3, 8, 8] [1, 1, 1, 1]
// CHECK: %[[SUM:.*]] = linalg.broadcast ins(%[[B]] : tensor<4xf32>) outs(%{{.*}}) dimensions = [0, 2, 3]
// CHECK: linalg.generic
// CHECK-SAME: (d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d2 * 2 + d4, d6 + d5 * 2)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5, d6) -> (d1, d3, d4, d5)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)
// CHECK-SAME: ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"]
// CHECK-SAME: ins(%[[PADDED]], %[[W]] :
// CHECK-SAME: outs(%[[SUM]] :
// CHECK: arith.mulf %{{.*}} fastmath<reassoc,contract>
// CHECK: arith.addf %{{.*}} fastmath<reassoc,contract>
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x6xf32> {
  %0 = nn.conv %x, %w bias %b {nn.name = "c", strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 2>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x6xf32>
  return %0 : tensor<1x4x4x6xf32>
}

// -----

// Tests that groups become a dimension, and that without pads nothing is copied.
// CHECK-LABEL: func @groups
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>, %[[W:.*]]: tensor<6x2x3xf32>
// CHECK-NOT: tensor.insert_slice
// CHECK-DAG: tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3]] output_shape [1, 2, 2, 8]
// CHECK-DAG: tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2], [3]] output_shape [2, 3, 2, 3]
// CHECK: %[[R:.*]] = linalg.generic
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5 + d4)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d1, d2, d3, d4)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)
// CHECK: tensor.collapse_shape %[[R]] {{\[\[}}0], [1, 2], [3]]
func.func @groups(%x: tensor<1x4x8xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x6xf32> {
  %0 = nn.conv %x, %w {nn.name = "c", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2 : i64} : (tensor<1x4x8xf32>, tensor<6x2x3xf32>) -> tensor<1x6x6xf32>
  return %0 : tensor<1x6x6xf32>
}

// -----

// Tests that a plain matmul runs along the columns of b innermost.
// CHECK-LABEL: func @matmul
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>]
// CHECK-SAME: ["parallel", "reduction", "parallel"]
func.func @matmul(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %0 = nn.matmul %a, %b {nn.name = "m"} : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// Tests that transposed and broadcast operands are read so, that a transposed b
// makes the reduction innermost, and that alpha does not scale the bias.
// CHECK-LABEL: func @batched
// CHECK-DAG: %[[HALF:.*]] = arith.constant 5.0
// CHECK: linalg.broadcast {{.*}} dimensions = [0, 1]
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
// CHECK-SAME: ["parallel", "parallel", "parallel", "reduction"]
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK: %[[S:.*]] = arith.mulf %[[A]], %[[HALF]]
// CHECK: %[[P:.*]] = arith.mulf %[[S]], %[[B]]
// CHECK: arith.addf %[[SUM]], %[[P]]
func.func @batched(%a: tensor<2x5x4xf32>, %b: tensor<1x6x5xf32>, %c: tensor<6xf32>) -> tensor<2x4x6xf32> {
  %0 = nn.matmul %a, %b bias %c {nn.name = "m", transpose_a, transpose_b, alpha = 0.5 : f32} : (tensor<2x5x4xf32>, tensor<1x6x5xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// -----

// Tests that attention is two products with a mask and a softmax in between.
// CHECK-LABEL: func @attention
// CHECK-DAG: arith.constant dense<-1.000000e+04> : tensor<f32>
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel", "parallel", "reduction"]
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel", "reduction", "parallel"]
func.func @attention(%q: tensor<2x5x3xf32>, %k: tensor<2x7x3xf32>, %v: tensor<2x7x4xf32>, %m: tensor<5x7xi1>) -> tensor<2x5x4xf32> {
  %0 = nn.attention %q, %k, %v mask %m {nn.name = "a", scale = 0.5 : f32, fill = -1.0e+04 : f32} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>, tensor<5x7xi1>) -> tensor<2x5x4xf32>
  return %0 : tensor<2x5x4xf32>
}
