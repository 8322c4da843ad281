// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that an element-wise operation becomes one generic with identity maps,
// and that relu lets NaN pass: the comparison is ordered.
// CHECK-LABEL: func @relu
// CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x64xf32>
// CHECK: %[[R:.*]] = linalg.generic
// CHECK-SAME: [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ["parallel", "parallel"]
// CHECK-SAME: ins(%[[X]] : tensor<8x64xf32>) outs(%[[E]] : tensor<8x64xf32>)
// CHECK: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[IN]], %[[ZERO]]
// CHECK: %[[S:.*]] = arith.select %[[LESS]], %[[ZERO]], %[[IN]]
// CHECK: linalg.yield %[[S]]
// CHECK: return %[[R]]
func.func @relu(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.relu %x {nn.name = "r"} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// Tests that clip raises to the lower bound first, then cuts at the upper.
// CHECK-LABEL: func @clip
// CHECK-DAG: %[[LO:.*]] = arith.constant -1.0
// CHECK-DAG: %[[HI:.*]] = arith.constant 6.0
// CHECK: arith.cmpf olt, %{{.*}}, %[[LO]]
// CHECK: %[[RAISED:.*]] = arith.select
// CHECK: arith.cmpf ogt, %[[RAISED]], %[[HI]]
func.func @clip(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.clip %x {nn.name = "r", min = -1.0 : f32, max = 6.0 : f32} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Tests that broadcast operands are read at index 0, or lack the dimension.
// CHECK-LABEL: func @broadcast
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK: arith.subf
func.func @broadcast(%x: tensor<2x3x4xf32>, %y: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.sub %x, %y {nn.name = "s"} : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Tests that integers use integer arithmetic, floats that propagate NaN.
// CHECK-LABEL: func @types
// CHECK: arith.maxsi
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: arith.divf
// CHECK: arith.muli
// CHECK: arith.addf
func.func @types(%x: tensor<4xi64>, %y: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) {
  %0 = nn.max %x, %x {nn.name = "a"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = nn.max %y, %y {nn.name = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.min %y, %y {nn.name = "c"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.div %y, %y {nn.name = "d"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %x, %x {nn.name = "e"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %5 = nn.add %y, %y {nn.name = "f"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>
}

// -----

// Tests sigmoid = 1 / (1 + exp(-x)), tanh and sqrt.
// CHECK-LABEL: func @transcendental
// CHECK: %[[N:.*]] = arith.negf
// CHECK: %[[E:.*]] = math.exp %[[N]]
// CHECK: %[[D:.*]] = arith.addf %[[E]]
// CHECK: arith.divf %{{.*}}, %[[D]]
// CHECK: math.tanh
// CHECK: math.sqrt
func.func @transcendental(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.sigmoid %x {nn.name = "a"} : tensor<4xf32>
  %1 = nn.tanh %0 {nn.name = "b"} : tensor<4xf32>
  %2 = nn.sqrt %1 {nn.name = "c"} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Tests that the vectors of a batch norm are read by channel.
// CHECK-LABEL: func @batch_norm
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK: ^bb0(%[[X:.*]]: f32, %[[SCALE:.*]]: f32, %[[BIAS:.*]]: f32, %[[MEAN:.*]]: f32, %[[VAR:.*]]: f32,
// CHECK: %[[V:.*]] = arith.addf %[[VAR]],
// CHECK: %[[SD:.*]] = math.sqrt %[[V]]
// CHECK: %[[F:.*]] = arith.divf %[[SCALE]], %[[SD]]
// CHECK: %[[C:.*]] = arith.subf %[[X]], %[[MEAN]]
// CHECK: %[[M:.*]] = arith.mulf %[[C]], %[[F]]
// CHECK: arith.addf %[[M]], %[[BIAS]]
func.func @batch_norm(%x: tensor<2x3x8xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x8xf32> {
  %0 = nn.batch_norm %x, %s, %b, %m, %v {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x3x8xf32>, tensor<3xf32>
  return %0 : tensor<2x3x8xf32>
}

// -----

// Tests that the ends of the graph stay.
// CHECK-LABEL: func @main
// CHECK: nn.input
// CHECK: nn.parameter
// CHECK: linalg.generic
// CHECK: nn.output
// CHECK-NOT: nn.add
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8xf32> from #nn.splat<1.0 : f32>
  %0 = nn.add %x, %w {nn.name = "sum"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  nn.output %0 {nn.name = "y"} : tensor<8xf32>
  return
}
