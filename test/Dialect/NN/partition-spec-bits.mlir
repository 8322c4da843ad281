// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests how operations on bits and on boxes can be split.

func.func @main() {
  %x = nn.parameter {nn.name = "x"} : tensor<6x4xui8> from #nn.init<0>
  %y = nn.parameter {nn.name = "y"} : tensor<4xui8> from #nn.init<1>
  %b = nn.parameter {nn.name = "b"} : tensor<2x6x4xf32> from #nn.init<2>
  %s = nn.parameter {nn.name = "s"} : tensor<2x3x6xf32> from #nn.init<3>
  // CHECK-LABEL: left: nn.shift_left
  // CHECK-NEXT: loops: d0=6 {{.*}} d1=4
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %0 = nn.shift_left %x, %y {nn.name = "left"} : (tensor<6x4xui8>, tensor<4xui8>) -> tensor<6x4xui8>
  // CHECK-LABEL: right: nn.shift_right
  // CHECK-NEXT: loops: d0=6 {{.*}} d1=4
  %1 = nn.shift_right %x, %y {nn.name = "right"} : (tensor<6x4xui8>, tensor<4xui8>) -> tensor<6x4xui8>
  // CHECK-LABEL: bits: nn.bit_cast
  // CHECK-NEXT: loops: d0=6 {{.*}} d1=4
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %2 = nn.bit_cast %x {nn.name = "bits"} : (tensor<6x4xui8>) -> tensor<6x4xi8>
  // CHECK-LABEL: nms: nn.non_max_suppression
  // CHECK-NEXT: loops: n=2 {{.*}} c=3
  // CHECK-NEXT: operand 0: (n, [0,5], [0,3])
  // CHECK-NEXT: operand 1: (n, c, [0,5])
  // CHECK-NEXT: result 0: (n, c, [0,4])
  // CHECK: nn.non_max_suppression {{.*}} : (tensor<2x6x4xf32>, tensor<2x1x6xf32>) -> tensor<2x1x5xi64>
  %3 = nn.non_max_suppression %b, %s {nn.name = "nms", iou_threshold = 0.5 : f32, test.degrees = {c = 3}} : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<2x3x5xi64>
  return
}
