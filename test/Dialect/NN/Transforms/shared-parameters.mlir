// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd' | FileCheck %s

// Tests that a part, another shape and the whole of one tensor are one parameter
// when it is trained, with one update.

// CHECK: %[[W:.*]] = nn.parameter {nn.name = "w"} : tensor<4x6xf32>
// CHECK: nn.matmul %{{.*}}, %[[W]] {nn.name = "whole"}
// CHECK: %[[PART:.*]] = nn.slice %[[W]] {{.*}}nn.name = "w_1", starts = array<i64: 0, 2>
// CHECK: nn.matmul %{{.*}}, %[[PART]] {nn.name = "part"}
// CHECK: %[[SHAPE:.*]] = nn.reshape %[[W]] {nn.group = #nn.group<"square", {d0 = "d0"}>, nn.name = "w_2"} : (tensor<4x6xf32>) -> tensor<24xf32>
// CHECK: nn.mul %[[SHAPE]], %{{.*}} {nn.name = "square"}
// CHECK: nn.sgd %[[W]],
// CHECK-NOT: nn.sgd
// CHECK: nn.write %{{.*}}, %[[W]]
// CHECK-NOT: nn.write
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x6xf32> from #nn.file<"w.bin", 0, 96>
  %0 = nn.matmul %x, %w {nn.name = "whole"} : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %part = nn.parameter {global_shape = array<i64: 4, 6>, nn.name = "w_1", offsets = array<i64: 0, 2>, tensor = "w"} : tensor<4x3xf32> from #nn.file<"w.bin", 0, 96>
  %1 = nn.matmul %x, %part {nn.name = "part"} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %view = nn.parameter {nn.name = "w_2"} : tensor<24xf32> from #nn.file<"w.bin", 0, 96>
  %2 = nn.mul %view, %view {nn.name = "square"} : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32>
  %3 = nn.reduce %0 {nn.name = "a", axes = array<i64: 0, 1>, keepdims = false, kind = #nn.reduce_kind<sum>} : (tensor<2x6xf32>) -> tensor<f32>
  %4 = nn.reduce %1 {nn.name = "b", axes = array<i64: 0, 1>, keepdims = false, kind = #nn.reduce_kind<sum>} : (tensor<2x3xf32>) -> tensor<f32>
  %5 = nn.reduce %2 {nn.name = "c", axes = array<i64: 0>, keepdims = false, kind = #nn.reduce_kind<sum>} : (tensor<24xf32>) -> tensor<f32>
  %6 = nn.add %3, %4 {nn.name = "ab"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %7 = nn.add %6, %5 {nn.name = "abc"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.output %7 {nn.name = "y"} : tensor<f32>
  return
}
