// RUN: soap-opt %s -convert-nn-to-linalg -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that a look-up counts negative indices from the end of the whole table,
// and gives 0 for rows that it does not hold.
// CHECK-LABEL: func @gather
// CHECK-SAME: %[[T:.*]]: tensor<5x6xf32>
// CHECK: linalg.generic
// CHECK-SAME: [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK: ^bb0(%[[I:.*]]: i64, %{{.*}}: f32):
// CHECK: %[[END:.*]] = arith.addi %[[I]], %c20_i64
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt, %[[I]], %c0_i64
// CHECK: %[[ROW:.*]] = arith.select %[[NEGATIVE]], %[[END]], %[[I]]
// CHECK: %[[LOCAL:.*]] = arith.{{subi|addi}} %[[ROW]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[LOCAL]], %c5_i64
// CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[LOCAL]], %c0_i64
// CHECK: %[[AT:.*]] = arith.index_cast %[[SAFE]]
// CHECK: %[[COLUMN:.*]] = linalg.index 1
// CHECK: %[[FOUND:.*]] = tensor.extract %[[T]][%[[AT]], %[[COLUMN]]]
// CHECK: arith.select %[[INSIDE]], %[[FOUND]]
func.func @gather(%t: tensor<5x6xf32>, %i: tensor<3xi64>) -> tensor<3x6xf32> {
  %0 = nn.gather %t, %i {nn.name = "g", axis = 0 : i64, base = 10 : i64, table_size = 20 : i64} : (tensor<5x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// -----

// Tests that a repeated dimension is two.
// CHECK-LABEL: func @tile
// CHECK: %[[R:.*]] = linalg.generic
// CHECK-SAME: [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK: tensor<2x4x3xf32>
// CHECK: tensor<2x12xf32>
func.func @tile(%x: tensor<2x3xf32>) -> tensor<2x12xf32> {
  %0 = nn.tile %x {nn.name = "t"} : (tensor<2x3xf32>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

// -----

// Tests that a resize reads the border where it is asked for what is outside,
// and touches only the dimensions that change.
// CHECK-LABEL: func @resize
// CHECK: linalg.generic
// CHECK: arith.divui
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: tensor.extract
// CHECK: tensor.extract
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @resize(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %0 = nn.resize %x {nn.name = "r", mode = #nn.resize_mode<linear>, numerators = array<i64: 1, 2>, offsets = array<i64: 0, -1>, denominators = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

// Tests that dy is spread out by the strides, and the kernel turned round.
// CHECK-LABEL: func @conv_backward_data
// CHECK: linalg.fill {{.*}} -> tensor<1x2x9xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, 2, 4] [1, 1, 2] : tensor<1x2x4xf32> into tensor<1x2x9xf32>
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4 - d3 + 2)>
func.func @conv_backward_data(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x7xf32> {
  %0 = nn.conv_backward_data %dy, %w {nn.name = "c", strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  return %0 : tensor<1x3x7xf32>
}

// -----

// Tests that an LSTM is one product for all inputs, then a loop over the steps,
// which counts down for a layer that runs backwards.
// CHECK-LABEL: func @lstm
// CHECK: linalg.broadcast
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d4)>
// CHECK: scf.for %[[I:.*]] = %c0 to %c5 step %c1
// CHECK: %[[STEP:.*]] = arith.subi %c4, %[[I]]
// CHECK: tensor.extract_slice {{.*}}[%[[STEP]], 0, 0, 0]
// CHECK: linalg.generic
// CHECK: tensor.insert_slice {{.*}}[%[[STEP]], 0, 0, 0]
func.func @lstm(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) {
  %y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm", reverse} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return %y, %c : tensor<5x1x2x6xf32>, tensor<1x2x6xf32>
}

// -----

// Tests that a layer norm takes mean and variance of every row.
// CHECK-LABEL: func @layer_norm
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: arith.subf
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: math.sqrt
func.func @layer_norm(%x: tensor<4x6xf32>, %s: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = nn.layer_norm %x, %s {nn.name = "n", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
