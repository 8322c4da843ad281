// RUN: soap-opt %s -split-input-file --pass-pipeline='builtin.module(native-build-kernels,builtin.module(cuda-kernels-to-nvvm{level=gpu}))' -mlir-print-local-scope | FileCheck %s

// Tests that parts which keep to their rows are one launch, with as many threads per
// row as hold groups of four elements of it where rows are few, and without scratch
// memory; elements that do not lie side by side are held one by one.
// CHECK: cuda.kernels = [
// CHECK-SAME: {launches = [{blocks = 8 : i64, constants = array<i64>, entry = "soap_native_0_softmax_0", held}], name = "soap_native_0_softmax", scratch = 0 : i64}
// CHECK-SAME: {launches = [{blocks = 8 : i64, constants = array<i64>, entry = "soap_native_1_softmax_0", held}], name = "soap_native_1_softmax", scratch = 0 : i64}
// CHECK-SAME: {launches = [{blocks = 2 : i64, constants = array<i64>, entry = "soap_native_2_layer_norm_0", held}], name = "soap_native_2_layer_norm", scratch = 0 : i64}
// CHECK-SAME: {launches = [{blocks = 5 : i64, constants = array<i64>, entry = "soap_native_3_reduce_0", held}], name = "soap_native_3_reduce", scratch = 0 : i64}
func.func @few(%x: tensor<8x1000xf32>, %y: tensor<4x5x60xf32>, %s: tensor<5x60xf32>, %z: tensor<4x5x9x9xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : tensor<8x1000xf32>
  %1 = nn.softmax %x {nn.name = "b", axis = 1 : i64, log} : tensor<8x1000xf32>
  %2 = nn.layer_norm %y, %s {nn.name = "c", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x5x60xf32>, tensor<5x60xf32>) -> tensor<4x5x60xf32>
  %3 = nn.reduce %z {nn.name = "d", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2, 3>, keepdims = true, scale = 0.25 : f32} : (tensor<4x5x9x9xf32>) -> tensor<1x5x1x1xf32>
  return
}

// -----

// Tests that short rows share a block, and that many long ones leave each thread
// 32 elements: 128 rows of 2 threads, then 8 of 32, which do not wait for others.
// CHECK: {launches = [{blocks = 1024 : i64,{{[^]]*}}]
// CHECK-SAME: {launches = [{blocks = 512 : i64,{{[^]]*}}]
// CHECK: func.func @soap_native_1_softmax_0
// CHECK-NOT: gpu.barrier
// CHECK: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @many(%x: tensor<131072x8xf32>, %y: tensor<4096x1024xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : tensor<131072x8xf32>
  %1 = nn.softmax %y {nn.name = "b", axis = 1 : i64} : tensor<4096x1024xf32>
  return
}

// -----

// Tests that threads which follow one another take neighbouring rows where these
// lie next to each other, 8 of them in a block, or each of 256 threads its own,
// without a barrier.
// CHECK: {launches = [{blocks = 25 : i64,{{[^]]*}}]
// CHECK-SAME: {launches = [{blocks = 64 : i64,{{[^]]*}}]
// CHECK: func.func @soap_native_1_softmax_0
// CHECK-NOT: gpu.barrier
// CHECK: math.exp
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @along(%x: tensor<2x21x10x10xf32>, %y: tensor<1x4x128x128xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : tensor<2x21x10x10xf32>
  %1 = nn.softmax %y {nn.name = "b", axis = 1 : i64} : tensor<1x4x128x128xf32>
  return
}

// -----

// Tests that each thread takes a window of a pool of its own, without a barrier.
// CHECK: entry = "soap_native_0_avg_pool_[[LAST:[0-9]]]"}]
// CHECK: func.func @soap_native_0_avg_pool_[[LAST]]
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @pool(%x: tensor<2x64x16x16xf32>) {
  %0 = nn.avg_pool %x {nn.name = "a", kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, counted_lo = array<i64: 0, 0>, counted_hi = array<i64: 0, 0>} : (tensor<2x64x16x16xf32>) -> tensor<2x64x16x16xf32>
  return
}

// -----

// Tests that a row too long for shared memory is read again: what threads write
// for each other may have other names then.
// CHECK: {launches = [{blocks = 2 : i64,{{[^]]*}}], name = "soap_native_0_softmax", scratch = 0 : i64}
// CHECK: func.func @soap_native_0_softmax_0(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{[^:]*}}: !llvm.ptr) attributes
func.func @long(%x: tensor<2x12000xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : tensor<2x12000xf32>
  return
}

// -----

// Tests that the whole grid shares very long rows, part by part.
// CHECK: {launches = [{{.*}}entry = "soap_native_0_softmax_0"}, {{.*}}entry = "soap_native_0_softmax_1"},
func.func @longer(%x: tensor<2x100000xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 1 : i64} : tensor<2x100000xf32>
  return
}

// -----

// Tests that a part which reads what another one has written in other rows is a
// launch of its own: windows overlap.
// CHECK: {launches = [{{.*}}entry = "soap_native_0_lrn_0"}, {{.*}}entry = "soap_native_0_lrn_1"}
func.func @windows(%x: tensor<1x8x4x4xf32>) {
  %0 = nn.lrn %x {nn.name = "a", size = 5 : i64, alpha = 1.0 : f32, beta = 0.75 : f32, bias = 1.0 : f32} : tensor<1x8x4x4xf32>
  return
}
