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

// Tests that what has control flow of its own runs on one block, whatever the
// grid is, and that threads meet around what is shared.
// CHECK: blocks = 1 : i64
// CHECK: func.func @soap_native_0_non_max_suppression_{{[0-9]+}}
// CHECK: %[[BLOCK:.*]] = gpu.block_id
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]]
// CHECK: scf.if %[[FIRST]]
// CHECK: gpu.barrier
func.func @alone(%b: tensor<2x6x4xf32>, %s: tensor<2x3x6xf32>) {
  %0 = nn.non_max_suppression %b, %s {nn.name = "nms", center_point_box, iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32} : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<2x3x5xi64>
  return
}
