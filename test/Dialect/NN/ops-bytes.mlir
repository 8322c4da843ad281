// RUN: soap-opt %s --split-input-file | soap-opt --split-input-file | FileCheck %s

// Tests that products of 8-bit integers of any signs have a result and a bias of
// i32, or are of one type.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x8xui8>, %w: tensor<8x5xi8>, %b: tensor<5xi32>) {
  // CHECK: nn.matmul {{.*}} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi32>
  %0 = nn.matmul %x, %w {nn.name = "mixed"} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi32>
  // CHECK: nn.matmul {{.*}} bias {{.*}} : (tensor<4x8xui8>, tensor<8x5xi8>, tensor<5xi32>) -> tensor<4x5xi32>
  %1 = nn.matmul %x, %w bias %b {nn.name = "biased"} : (tensor<4x8xui8>, tensor<8x5xi8>, tensor<5xi32>) -> tensor<4x5xi32>
  // CHECK: nn.matmul {{.*}} : (tensor<8x5xi8>, tensor<8x5xi8>) -> tensor<5x5xi8>
  %2 = nn.matmul %w, %w {nn.name = "narrow", transpose_a} : (tensor<8x5xi8>, tensor<8x5xi8>) -> tensor<5x5xi8>
  return
}

// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x3x3xi8>) {
  // CHECK: nn.conv {{.*}} : (tensor<1x2x4x4xi8>, tensor<3x2x3x3xi8>) -> tensor<1x3x2x2xi32>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x2x4x4xi8>, tensor<3x2x3x3xi8>) -> tensor<1x3x2x2xi32>
  return
}
