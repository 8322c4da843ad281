// RUN: soap-opt %s -split-input-file --pass-pipeline='builtin.module(native-build-kernels,builtin.module(cuda-kernels-to-nvvm{level=gpu}))' -mlir-print-local-scope | FileCheck %s

// Tests that the steps of a recurrent layer are launches, which get the values
// of the induction variables behind the buffers and the scratch memory.
// CHECK: cuda.kernels = [{launches = [
// CHECK-SAME: {{.*}}constants = array<i64: 0, 0>
// CHECK-SAME: {{.*}}constants = array<i64: 0, 4>
// CHECK-SAME: {{.*}}constants = array<i64: 1, 4>
// CHECK: func.func @soap_native_0_rnn_{{[0-9]+}}({{.*}}: i64, %{{[^:]*}}: i64) attributes
func.func @steps(%x: tensor<5x2x3xf32>, %w: tensor<2x1x6x3xf32>, %r: tensor<2x1x6x6xf32>, %b: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>) {
  %0 = nn.rnn %x, %w, %r, %b, %s {nn.name = "rnn"} : (tensor<5x2x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x2x6xf32>) -> tensor<5x2x2x6xf32>
  return
}

// -----

// Tests that the products of a layer are launches of the library: one with all
// inputs, which adds to the biases, and in every step one with the state,
// which needs no fill with zeros. The second direction
// begins with the last step, and its weights lie behind those of the first one.
// CHECK: cuda.kernels = [{launches = [
// CHECK-SAME: {constants = array<i64: 0, 0, [[SUMS:[0-9]+]]>, product = 0 : i64}
// CHECK-SAME: {constants = array<i64: [[STATE:[0-9]+]], 0, [[STEP:[0-9]+]]>, product = 1 : i64}
// CHECK-SAME: {{{.*}}constants = array<i64: 0, 0>, entry = "[[ELEMENTS:.*]]"}, {constants = array<i64: [[STATE]], 0, [[STEP]]>, product = 1 : i64}
// CHECK-SAME: {{{.*}}constants = array<i64: 0, 1>, entry = "[[ELEMENTS]]"}
// CHECK-SAME: {constants = array<i64: 0, 131072, [[SUMS]]>, product = 0 : i64}
// CHECK-SAME: {constants = array<i64: [[STATE]], 262144, [[STEP]]>, product = 1 : i64}
// CHECK-SAME: products = [{a = array<i64: 0, 0, 64, 1>, adds, b = array<i64: 1, 0, 1, 64>, c = array<i64: 8, 0, 512, 1>, sizes = array<i64: 1, 16, 512, 64>}, {a = array<i64: 8, 0, 128, 1>, b = array<i64: 2, 0, 1, 128>, c = array<i64: 8, 0, 512, 1>, sizes = array<i64: 1, 8, 512, 128>}]
func.func @products(%x: tensor<2x8x64xf32>, %w: tensor<2x4x128x64xf32>, %r: tensor<2x4x128x128xf32>, %b: tensor<2x4x128xf32>, %s: tensor<2x8x128xf32>) {
  %y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm"} : (tensor<2x8x64xf32>, tensor<2x4x128x64xf32>, tensor<2x4x128x128xf32>, tensor<2x4x128xf32>, tensor<2x8x128xf32>, tensor<2x8x128xf32>) -> (tensor<2x2x8x128xf32>, tensor<2x8x128xf32>)
  return
}

// -----

// Tests that what has control flow of its own runs on one block, whatever the
// grid is, and that threads meet around what is shared.
// CHECK: blocks = 1 : i64
// CHECK: func.func @soap_native_0_non_max_suppression_{{[0-9]+}}
// CHECK: %[[BLOCK:.*]] = gpu.block_id
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]]
// CHECK: scf.if %[[FIRST]]
// CHECK: gpu.barrier
func.func @alone(%b: tensor<1x6x4xf32>, %s: tensor<1x1x6xf32>) {
  %0 = nn.non_max_suppression %b, %s {nn.name = "nms", center_point_box, iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32} : (tensor<1x6x4xf32>, tensor<1x1x6xf32>) -> tensor<1x1x5xi64>
  return
}

// -----

// Tests that images and classes are shared by all threads where there are
// several: each thread selects boxes for one of each.
// CHECK: {blocks = 2 : i64, constants = array<i64>, entry = "[[ENTRY:[a-z0-9_]*]]"}]
// CHECK: func.func @[[ENTRY]]
// CHECK: scf.for %[[INDEX:.*]] = %{{.*}} to %c320 step
// CHECK-NOT: gpu.barrier
// CHECK: arith.remui %{{.*}}, %c80_i32
// CHECK: memref.store %{{.*}} : memref<4x80x6xi32>
func.func @selections(%b: tensor<4x6x4xf32>, %s: tensor<4x80x6xf32>) {
  %0 = nn.non_max_suppression %b, %s {nn.name = "nms", center_point_box, iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32} : (tensor<4x6x4xf32>, tensor<4x80x6xf32>) -> tensor<4x80x5xi64>
  return
}

// -----

// Tests that a table takes its slices in one launch, of which a thread has a
// column and goes through all slices.
// CHECK: {blocks = 16 : i64, constants = array<i64>, entry = "[[ENTRY:[a-z0-9_]*]]"}]
// CHECK: func.func @[[ENTRY]]
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} to %c4096 step
// CHECK-NEXT: scf.for %[[SLICE:.*]] = %c0 to %c64 step
// CHECK: memref.load %{{.*}}[%[[COLUMN]]]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}[%[[COLUMN]]]
func.func @slices(%i: tensor<64x1xi64>, %u: tensor<64x4096xf32>) {
  %0 = nn.scatter_nd %i, %u {nn.name = "a", reduction = #nn.reduce_kind<sum>} : (tensor<64x1xi64>, tensor<64x4096xf32>) -> tensor<512x4096xf32>
  return
}
