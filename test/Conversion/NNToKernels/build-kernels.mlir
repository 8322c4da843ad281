// RUN: soap-opt %s -native-build-kernels -split-input-file -mlir-print-local-scope | FileCheck %s

// Tests that element-wise operations of different shapes share a kernel that
// takes its size as an argument, whatever their names and configurations.
// CHECK-LABEL: func @shared
// CHECK: module @kernels {
// CHECK-NEXT: func.func @soap_native_0_relu(%[[X:.*]]: memref<?xf32> {native.sizes = array<i64: 0>}, %[[Y:.*]]: memref<?xf32> {native.sizes = array<i64: 0>})
// CHECK-SAME: native.key = "nn.relu f32[x] -> f32", native.parallel
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<?xf32>) outs(%[[Y]] : memref<?xf32>)
// CHECK-NOT: func.func
func.func @shared(%x: tensor<1x64x112x112xf32>, %y: tensor<8x10xf32>) {
  %0 = nn.relu %x {nn.name = "a"} : tensor<1x64x112x112xf32>
  %1 = nn.relu %y {nn.name = "b"} : tensor<8x10xf32>
  return
}

// -----

// Tests the collapsed forms: all dimensions, channels in the middle, channels
// outside (batch 1), a scalar. What is broadcast is read only, and so aliases
// nothing.
// CHECK-LABEL: func @collapsed
// CHECK: @soap_native_0_add
// CHECK-SAME: "nn.add f32[x] f32[x] -> f32"
// CHECK: @soap_native_1_add(%{{.*}}: memref<?x?x?xf32> {native.sizes = array<i64: 0, 1, 2>}, %{{.*}}: memref<?xf32> {native.noalias, native.sizes = array<i64: 1>}, %{{.*}}: memref<?x?x?xf32> {native.sizes = array<i64: 0, 1, 2>})
// CHECK-SAME: "nn.add f32[xxx] f32[-x-] -> f32"
// CHECK: @soap_native_2_add
// CHECK-SAME: "nn.add f32[xx] f32[x-] -> f32"
// CHECK: @soap_native_3_add(%{{.*}}: memref<?xf32> {{.*}}, %{{.*}}: memref<f32> {native.noalias, native.sizes = array<i64>}
// CHECK-SAME: "nn.add f32[x] f32[-] -> f32"
func.func @collapsed(%x: tensor<2x6x4x5xf32>, %c: tensor<6x1x1xf32>, %y: tensor<1x6x4x5xf32>, %s: tensor<f32>) {
  %0 = nn.add %x, %x {nn.name = "a"} : (tensor<2x6x4x5xf32>, tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %1 = nn.add %x, %c {nn.name = "b"} : (tensor<2x6x4x5xf32>, tensor<6x1x1xf32>) -> tensor<2x6x4x5xf32>
  %2 = nn.add %y, %c {nn.name = "c"} : (tensor<1x6x4x5xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x5xf32>
  %3 = nn.add %x, %s {nn.name = "d"} : (tensor<2x6x4x5xf32>, tensor<f32>) -> tensor<2x6x4x5xf32>
  return
}

// -----

// Tests that attributes tell kernels apart, and that any other operation keeps
// its shape, pads included: it is its own kernel.
// CHECK-LABEL: func @apart
// CHECK: @soap_native_0_clip
// CHECK: @soap_native_1_clip
// CHECK: @soap_native_2_softmax(%[[X:.*]]: memref<4x5xf32> {native.noalias}, %[[Y:.*]]: memref<4x5xf32> {native.noalias})
// CHECK: %[[T:.*]] = bufferization.to_tensor %[[X]] restrict
// CHECK: %[[R:.*]] = nn.softmax %[[T]]
// CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
// CHECK: @soap_native_3_softmax
// CHECK-NOT: @soap_native_4
func.func @apart(%x: tensor<4x5xf32>, %y: tensor<5x4xf32>) {
  %0 = nn.clip %x {nn.name = "a", min = 0.0 : f32, max = 6.0 : f32} : tensor<4x5xf32>
  %1 = nn.clip %x {nn.name = "b", min = 0.0 : f32, max = 1.0 : f32} : tensor<4x5xf32>
  %2 = nn.softmax %x {nn.name = "c", axis = 1 : i64} : tensor<4x5xf32>
  %3 = nn.softmax %x {nn.name = "d", axis = 1 : i64} : tensor<4x5xf32>
  %4 = nn.softmax %y {nn.name = "e", axis = 1 : i64} : tensor<5x4xf32>
  return
}

// -----

// Tests that kernels which exist are found again, and that the ends of the graph
// have none.
// CHECK-LABEL: func @again
// CHECK: @soap_native_0_relu
// CHECK: @soap_native_1_tanh
// CHECK-NOT: @soap_native_2
func.func @again() {
  %x = nn.input {nn.name = "x"} : tensor<8xf32>
  %0 = nn.relu %x {nn.name = "a"} : tensor<8xf32>
  %1 = nn.tanh %0 {nn.name = "b"} : tensor<8xf32>
  nn.output %1 {nn.name = "y"} : tensor<8xf32>
  return
}
module @kernels {
  func.func @soap_native_0_relu(%x: memref<?xf32>, %y: memref<?xf32>) attributes {native.key = "nn.relu f32[x] -> f32"} {
    return
  }
}
