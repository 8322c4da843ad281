// RUN: soap-opt %s --split-input-file --pass-pipeline='builtin.module(soap-parallelize{devices=1 fuse=true},soap-lower{followers=true target=cuda},builtin.module(cuda-kernels-to-nvvm{level=gpu}))' -mlir-print-local-scope | FileCheck %s

// Tests that a scale, a mask of f32 that all heads and rows share, and a softmax read
// 16 bytes of the mask and 8 of the numbers at a time, write 8, and touch nothing
// else. A row is one warp's, so that nobody waits at a barrier.
// CHECK: {launches = [{{{[^}]*}}, held}], name = "soap_native_2_fused_softmax", scratch = 0 : i64}
// CHECK-LABEL: func.func @soap_native_2_fused_softmax_0
// CHECK-NOT: gpu.barrier
// CHECK: llvm.load {{.*}} -> vector<4xbf16>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK-NOT: llvm.store
// CHECK: llvm.store {{.*}} : vector<4xbf16>
// CHECK-NOT: llvm.store
// CHECK: return
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x8x128xbf16>
  %s = nn.input {nn.name = "s"} : tensor<f32>
  %m = nn.input {nn.name = "m"} : tensor<2x1x1x128xf32>
  %w = nn.cast %x {nn.name = "wide"} : (tensor<2x4x8x128xbf16>) -> tensor<2x4x8x128xf32>
  %0 = nn.mul %w, %s {nn.name = "scaled"} : (tensor<2x4x8x128xf32>, tensor<f32>) -> tensor<2x4x8x128xf32>
  %1 = nn.add %0, %m {nn.name = "masked"} : (tensor<2x4x8x128xf32>, tensor<2x1x1x128xf32>) -> tensor<2x4x8x128xf32>
  %2 = nn.softmax %1 {nn.name = "weights", axis = 3 : i64} : (tensor<2x4x8x128xf32>) -> tensor<2x4x8x128xbf16>
  nn.output %2 {nn.name = "y"} : tensor<2x4x8x128xbf16>
  return
}

// -----

// Tests that a residual sum which others read is written once, and read by nobody: a
// sum of bf16 and f32, its layer norm, and that as bf16.
// CHECK: {launches = [{{{[^}]*}}, held}], name = "soap_native_{{[0-9]}}_fused_layer_norm_cast", scratch = 0 : i64}
// CHECK-LABEL: func.func @soap_native_{{[0-9]}}_fused_layer_norm_cast_0(
// CHECK-NOT: llvm.store
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK-NOT: llvm.store
// CHECK: llvm.store {{.*}} : vector<4xbf16>
// CHECK-NOT: llvm.store
// CHECK: return
func.func @main() {
  %a = nn.input {nn.name = "a"} : tensor<4x128xbf16>
  %b = nn.input {nn.name = "b"} : tensor<4x128xf32>
  %g = nn.input {nn.name = "g"} : tensor<128xf32>
  %w = nn.cast %a {nn.name = "wide"} : (tensor<4x128xbf16>) -> tensor<4x128xf32>
  %0 = nn.add %w, %b {nn.name = "sum"} : (tensor<4x128xf32>, tensor<4x128xf32>) -> tensor<4x128xf32>
  %1 = nn.layer_norm %0, %g {nn.name = "norm", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x128xf32>, tensor<128xf32>) -> tensor<4x128xf32>
  %2 = nn.cast %1 {nn.name = "narrow"} : (tensor<4x128xf32>) -> tensor<4x128xbf16>
  nn.output %0 {nn.name = "y"} : tensor<4x128xf32>
  nn.output %2 {nn.name = "z"} : tensor<4x128xbf16>
  return
}
