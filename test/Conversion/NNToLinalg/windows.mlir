// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that a maximum starts from, and pads with, minus infinity.
// CHECK-LABEL: func @max_pool
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000
// CHECK: linalg.fill ins(%[[INF]] : f32) outs(%{{.*}} : tensor<1x2x10x9xf32>)
// CHECK: tensor.insert_slice %{{.*}}[0, 0, 1, 0] [1, 2, 8, 8]
// CHECK: linalg.fill ins(%[[INF]] : f32) outs(%{{.*}} : tensor<1x2x4x4xf32>)
// CHECK: linalg.generic
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d3, d5 * 2 + d4)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d3, d4)
// CHECK-SAME: (d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)
// CHECK: arith.maximumf
func.func @max_pool(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.max_pool %x {nn.name = "p", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// -----

// Tests that an average divides by the number of counted positions: a vector
// along dimensions where it changes (here the pads of rows do not count), times
// a constant for the others.
// CHECK-LABEL: func @avg_pool
// CHECK-DAG: arith.constant dense<[2.000000e+00, 3.000000e+00, 2.000000e+00]> : tensor<3xf32>
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3.0
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2, d3) -> (d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK: ^bb0(%[[COUNT:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK: %[[D:.*]] = arith.mulf %[[COUNT]], %[[THREE]]
// CHECK: arith.divf %[[SUM]], %[[D]]
func.func @avg_pool(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %0 = nn.avg_pool %x {nn.name = "p", kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, counted_lo = array<i64: 0, 1>, counted_hi = array<i64: 0, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  return %0 : tensor<1x2x3x3xf32>
}

// -----

// Tests that an even window of an LRN has more channels after than before, and
// that the usual exponent needs square roots only.
// CHECK-LABEL: func @lrn
// CHECK: tensor.insert_slice %{{.*}}[0, 1, 0] [1, 6, 5]
// CHECK-SAME: tensor<1x6x5xf32> into tensor<1x9x5xf32>
// CHECK: linalg.generic
// CHECK-SAME: (d0, d1, d2, d3) -> (d0, d1 + d2, d3)
// CHECK-SAME: ["parallel", "parallel", "reduction", "parallel"]
// CHECK: linalg.generic
// CHECK: %[[R:.*]] = math.sqrt
// CHECK: %[[Q:.*]] = math.sqrt %[[R]]
// CHECK: arith.mulf %[[R]], %[[Q]]
// CHECK-NOT: math.exp
func.func @lrn(%x: tensor<1x6x5xf32>) -> tensor<1x6x5xf32> {
  %0 = nn.lrn %x {nn.name = "n", size = 4 : i64, alpha = 1.0e-04 : f32, beta = 7.5e-01 : f32, bias = 1.0 : f32} : tensor<1x6x5xf32>
  return %0 : tensor<1x6x5xf32>
}

// -----

// Tests that any other exponent goes through exp and log.
// CHECK-LABEL: func @lrn_exponent
// CHECK: math.log
// CHECK: math.exp
func.func @lrn_exponent(%x: tensor<1x6x5xf32>) -> tensor<1x6x5xf32> {
  %0 = nn.lrn %x {nn.name = "n", size = 3 : i64, alpha = 1.0e-04 : f32, beta = 0.6 : f32, bias = 1.0 : f32} : tensor<1x6x5xf32>
  return %0 : tensor<1x6x5xf32>
}
