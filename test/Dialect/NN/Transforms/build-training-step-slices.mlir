// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' | FileCheck %s

// Tests that the gradient of a value whose slices lie side by side is their
// concatenation, in the order in which the slices lie, where the value is made;
// and that zeros remain around what no slice reads.

// CHECK-LABEL: func.func @main
// CHECK: %[[W:[0-9]+]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V:[0-9]+]] = nn.parameter {nn.name = "v"}
// CHECK: nn.tanh {{.*}}nn.name = "h"
// CHECK-NOT: nn.pad
// CHECK: nn.concat {{.*}} {axis = 1 : i64, nn.group = #nn.group<"h", {d0 = "d0", d1 = "d1"}>, nn.name = "h.grad.sum"} : (tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
// CHECK: nn.pad {{.*}}nn.name = "k.grad"
// CHECK-NOT: nn.pad
// CHECK: %[[ALL:[0-9]+]] = nn.slice {{.*}}nn.name = "all.grad"
// CHECK: %[[ALL1:[0-9]+]] = nn.slice {{.*}}nn.name = "all.grad_1"
// CHECK: %[[ALL2:[0-9]+]] = nn.slice {{.*}}nn.name = "all.grad_2"
// CHECK: %[[D:[0-9]+]] = nn.concat {{.*}} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[P:[0-9]+]] = nn.pad %[[D]] {{{.*}}pads_hi = array<i64: 1, 0>, pads_lo = array<i64: 1, 0>{{.*}} : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[C:[0-9]+]] = nn.concat %[[ALL]], %[[ALL2]], %[[ALL1]] {axis = 0 : i64, nn.name = "w.grad.sum{{.*}}"} : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
// CHECK: nn.sgd %[[W]], %[[C]], {{.*}}nn.name = "w.update"
// CHECK-NEXT: nn.sgd %[[V]], %[[P]], {{.*}}nn.name = "v.update"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4xf32> from #nn.file<"m", 0, 64>
  %v = nn.parameter {nn.name = "v"} : tensor<4x4xf32> from #nn.file<"m", 64, 64>
  %w0 = nn.slice %w {nn.name = "w0", starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %w3 = nn.slice %w {nn.name = "w3", starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %w1 = nn.slice %w {nn.name = "w1", starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %v1 = nn.slice %v {nn.name = "v1", starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %v2 = nn.slice %v {nn.name = "v2", starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %all = nn.concat %w0, %w3, %w1 {axis = 0 : i64, nn.name = "all"} : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %some = nn.concat %v2, %v1 {axis = 0 : i64, nn.name = "some"} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %both = nn.concat %all, %some {axis = 0 : i64, nn.name = "both"} : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
  %0 = nn.matmul %x, %both {nn.name = "fc", transpose_b} : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %k = nn.slice %0 {nn.name = "k", starts = array<i64: 0, 1>, steps = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
  %h = nn.tanh %k {nn.name = "h"} : tensor<8x4xf32>
  %h0 = nn.slice %h {nn.name = "h0", starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %h1 = nn.slice %h {nn.name = "h1", starts = array<i64: 0, 3>, steps = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<8x1xf32>
  %1 = nn.mul %h0, %h1 {nn.name = "product"} : (tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
  nn.output %1 {nn.name = "scores"} : tensor<8x3xf32>
  return
}
