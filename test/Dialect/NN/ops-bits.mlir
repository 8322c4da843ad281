// Tests that operations on bits and on boxes survive a round trip, in their own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<4x5xui8>, %y: tensor<5xui8>, %f: tensor<4xf16>, %b: tensor<4xi1>) {
  // CHECK: nn.shift_left %{{.*}}, %{{.*}} {nn.name = "left"} : (tensor<4x5xui8>, tensor<5xui8>) -> tensor<4x5xui8>
  %0 = nn.shift_left %x, %y {nn.name = "left"} : (tensor<4x5xui8>, tensor<5xui8>) -> tensor<4x5xui8>
  // CHECK: nn.shift_right %{{.*}}, %{{.*}} {nn.name = "right"} : (tensor<5xui8>, tensor<4x5xui8>) -> tensor<4x5xui8>
  %1 = nn.shift_right %y, %x {nn.name = "right"} : (tensor<5xui8>, tensor<4x5xui8>) -> tensor<4x5xui8>
  // CHECK: nn.bit_cast %{{.*}} {nn.name = "half"} : (tensor<4xf16>) -> tensor<4xi16>
  %2 = nn.bit_cast %f {nn.name = "half"} : (tensor<4xf16>) -> tensor<4xi16>
  // CHECK: nn.bit_cast %{{.*}} {nn.name = "byte"} : (tensor<4xi1>) -> tensor<4xui8>
  %3 = nn.bit_cast %b {nn.name = "byte"} : (tensor<4xi1>) -> tensor<4xui8>
  return
}

// CHECK-LABEL: func.func @boxes
func.func @boxes(%x: tensor<2x6x4xf32>, %s: tensor<2x3x6xf32>) {
  // CHECK: nn.non_max_suppression %{{.*}}, %{{.*}} {center_point_box, iou_threshold = 5.000000e-01 : f32, nn.name = "nms", score_threshold = 1.000000e-01 : f32} : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<2x3x5xi64>
  %0 = nn.non_max_suppression %x, %s {nn.name = "nms", iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32, center_point_box} : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<2x3x5xi64>
  return
}

// Tests that outputs without elements are named by the module.
// CHECK: module @empty attributes {nn.empty_outputs = {y = tensor<2x0xf32>}}
module @empty attributes {nn.empty_outputs = {y = tensor<2x0xf32>}} {
}
