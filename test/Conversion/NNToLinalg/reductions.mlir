// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests a mean: a sum, of neighbouring dimensions in one loop, then one scaling,
// then the kept dimensions.
// CHECK-LABEL: func @mean
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.5
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: linalg.fill ins(%[[ZERO]]
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "reduction"]
// CHECK: arith.addf %{{.*}} fastmath<reassoc,contract>
// CHECK: %[[SCALED:.*]] = linalg.generic
// CHECK: arith.mulf %{{.*}}, %[[SCALE]]
// CHECK: tensor.expand_shape %[[SCALED]]
// CHECK-SAME: into tensor<1x3x1x1xf32>
func.func @mean(%x: tensor<1x3x2x2xf32>) -> tensor<1x3x1x1xf32> {
  %0 = nn.reduce %x {nn.name = "r", kind = #nn.reduce_kind<sum>, axes = array<i64: 2, 3>, keepdims = true, scale = 0.25 : f32} : (tensor<1x3x2x2xf32>) -> tensor<1x3x1x1xf32>
  return %0 : tensor<1x3x1x1xf32>
}

// -----

// Tests the neutral elements: infinities for floats, the extreme values for
// integers, one for a product.
// CHECK-LABEL: func @kinds
// CHECK-DAG: arith.constant 0x7F800000
// CHECK-DAG: arith.constant -9223372036854775808
// CHECK-DAG: arith.constant 1.0
// CHECK: arith.minimumf
// CHECK: arith.maxsi
// CHECK: arith.mulf
func.func @kinds(%x: tensor<4x5xf32>, %i: tensor<4x5xi64>) -> (tensor<5xf32>, tensor<5xi64>, tensor<4xf32>) {
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<min>, axes = array<i64: 0>, keepdims = false} : (tensor<4x5xf32>) -> tensor<5xf32>
  %1 = nn.reduce %i {nn.name = "b", kind = #nn.reduce_kind<max>, axes = array<i64: 0>, keepdims = false} : (tensor<4x5xi64>) -> tensor<5xi64>
  %2 = nn.reduce %x {nn.name = "c", kind = #nn.reduce_kind<prod>, axes = array<i64: 1>, keepdims = false} : (tensor<4x5xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<5xf32>, tensor<5xi64>, tensor<4xf32>
}

// -----

// Tests that a softmax subtracts the maximum before it exponentiates.
// CHECK-LABEL: func @softmax
// CHECK: %[[MAX:.*]] = linalg.generic
// CHECK-SAME: ["parallel", "reduction"]
// CHECK: arith.maximumf
// CHECK: %[[EXP:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[MAX]] :
// CHECK: arith.subf
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] :
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : {{.*}} outs(%[[EXP]] :
// CHECK: arith.divf
func.func @softmax(%x: tensor<8x1000xf32>) -> tensor<8x1000xf32> {
  %0 = nn.softmax %x {nn.name = "s", axis = 1 : i64} : tensor<8x1000xf32>
  return %0 : tensor<8x1000xf32>
}
