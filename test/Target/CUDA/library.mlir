// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower="followers=true target=cuda" | FileCheck %s
// RUN: soap-opt %s --soap-parallelize=devices=1 --soap-lower="layouts=true target=cuda" | FileCheck %s --check-prefix=PLAIN

// Tests which convolutions are left to cuDNN: those in one to three dims, of
// factors of one type of floats and sums of f32, with groups, strides and dilations, with a bias or without.

// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x4x8x8xf32 6x4x3x3xf32 6xf32 -> 2x6x8x8xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}}groups=2 strides=2x2 2x6x8x8xf32 4x3x3x3xf32 -> 2x4x4x4xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x4x16xf32 5x4x3xf32 -> 2x5x14xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x5x2x7x1xf32 3x5x1x2x1xf32 -> 2x3x2x6x1xf32" (

// Tests that windows which end further behind x than they begin before it are not:
// cuDNN pads both sides alike. A last row that no window reads is cut off before.
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x3x6x2xf32 3x3x3x1xf32 -> 2x3x5x2xf32" native
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} strides=2x1 2x3x4x2xf32 3x3x2x1xf32 -> 2x3x2x2xf32" (

// Tests the same of factors of half the size of their sums, with a bias of either type.
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x3x6x2xf16 3x3x3x1xf16 -> 2x3x6x2xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.matmul {{.*}} 2x3xbf16 3x4xbf16 4xf32 -> 2x4xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.matmul {{.*}} 2x3xbf16 3x4xbf16 4xbf16 -> 2x4xf32" (

// Tests that a library rounds its sum to the type of the factors, with a bias of this
// type or none.
// CHECK-DAG: soaprt.kernel {{.*}} "nn.matmul {{.*}} 2x3xbf16 3x4xbf16 4xbf16 -> 2x4xf32 + nn.cast 2x4xf32 -> 2x4xbf16" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.cast 2x4xf32 -> 2x4xf16" native
// CHECK-DAG: soaprt.kernel {{.*}} "nn.cast 2x4xf32 -> 2x4xbf16" native

// Tests that other types are native.
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv {{.*}} 2x3x2x2xf64 3x3x1x1xf64 -> 2x3x2x2xf64" native

// Tests that gradients are, unless one has a bias, which would be a row of x.
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}} 2x6x8x8xf32 6x4x3x3xf32 -> 2x4x8x8xf32" (
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv_backward_data {{.*}} 2x6x8x8xf32 6x4x3x3xf32 4xf32 -> 2x4x8x8xf32" native
// CHECK-DAG: soaprt.kernel {{.*}} "nn.conv_backward_filter {{.*}} 2x4x8x8xf32 2x6x8x8xf32 -> 6x4x3x3xf32" (

// Tests that all tensors stay row-major.
// PLAIN-NOT: channels_last

func.func @main() {
  %a1 = nn.input {nn.name = "a1"} : tensor<2x4x8x8xf32>
  %b1 = nn.input {nn.name = "b1"} : tensor<6x4x3x3xf32>
  %c1 = nn.input {nn.name = "c1"} : tensor<6xf32>
  %r1 = nn.conv %a1, %b1 bias %c1 {nn.name = "r1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x8x8xf32>
  nn.output %r1 {nn.name = "y1"} : tensor<2x6x8x8xf32>
  %a2 = nn.input {nn.name = "a2"} : tensor<2x6x8x8xf32>
  %b2 = nn.input {nn.name = "b2"} : tensor<4x3x3x3xf32>
  %r2 = nn.conv %a2, %b2 {nn.name = "r2", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 0, 0>, groups = 2 : i64}
    : (tensor<2x6x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
  nn.output %r2 {nn.name = "y2"} : tensor<2x4x4x4xf32>
  %a3 = nn.input {nn.name = "a3"} : tensor<2x4x16xf32>
  %b3 = nn.input {nn.name = "b3"} : tensor<5x4x3xf32>
  %r3 = nn.conv %a3, %b3 {nn.name = "r3", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>}
    : (tensor<2x4x16xf32>, tensor<5x4x3xf32>) -> tensor<2x5x14xf32>
  nn.output %r3 {nn.name = "y3"} : tensor<2x5x14xf32>
  %a4 = nn.input {nn.name = "a4"} : tensor<2x5x2x7x1xf32>
  %b4 = nn.input {nn.name = "b4"} : tensor<3x5x1x2x1xf32>
  %r4 = nn.conv %a4, %b4 {nn.name = "r4", strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pads_lo = array<i64: 0, 0, 0>, pads_hi = array<i64: 0, 0, 0>}
    : (tensor<2x5x2x7x1xf32>, tensor<3x5x1x2x1xf32>) -> tensor<2x3x2x6x1xf32>
  nn.output %r4 {nn.name = "y4"} : tensor<2x3x2x6x1xf32>
  %a5 = nn.input {nn.name = "a5"} : tensor<2x3x6x2xf16>
  %b5 = nn.input {nn.name = "b5"} : tensor<3x3x3x1xf16>
  %r5 = nn.conv %a5, %b5 {nn.name = "r5", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 0>}
    : (tensor<2x3x6x2xf16>, tensor<3x3x3x1xf16>) -> tensor<2x3x6x2xf32>
  nn.output %r5 {nn.name = "y5"} : tensor<2x3x6x2xf32>
  %a6 = nn.input {nn.name = "a6"} : tensor<2x3x6x2xf32>
  %b6 = nn.input {nn.name = "b6"} : tensor<3x3x3x1xf32>
  %r6 = nn.conv %a6, %b6 {nn.name = "r6", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 1, 0>}
    : (tensor<2x3x6x2xf32>, tensor<3x3x3x1xf32>) -> tensor<2x3x5x2xf32>
  nn.output %r6 {nn.name = "y6"} : tensor<2x3x5x2xf32>
  %a7 = nn.input {nn.name = "a7"} : tensor<2x3x5x2xf32>
  %b7 = nn.input {nn.name = "b7"} : tensor<3x3x2x1xf32>
  %r7 = nn.conv %a7, %b7 {nn.name = "r7", strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<2x3x5x2xf32>, tensor<3x3x2x1xf32>) -> tensor<2x3x2x2xf32>
  nn.output %r7 {nn.name = "y7"} : tensor<2x3x2x2xf32>
  %a9 = nn.input {nn.name = "a9"} : tensor<2x3x2x2xf64>
  %b9 = nn.input {nn.name = "b9"} : tensor<3x3x1x1xf64>
  %r9 = nn.conv %a9, %b9 {nn.name = "r9", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<2x3x2x2xf64>, tensor<3x3x1x1xf64>) -> tensor<2x3x2x2xf64>
  nn.output %r9 {nn.name = "y9"} : tensor<2x3x2x2xf64>
  %a10 = nn.input {nn.name = "a10"} : tensor<2x6x8x8xf32>
  %b10 = nn.input {nn.name = "b10"} : tensor<6x4x3x3xf32>
  %r10 = nn.conv_backward_data %a10, %b10 {nn.name = "r10", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>}
    : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  nn.output %r10 {nn.name = "y10"} : tensor<2x4x8x8xf32>
  %a11 = nn.input {nn.name = "a11"} : tensor<2x6x8x8xf32>
  %b11 = nn.input {nn.name = "b11"} : tensor<6x4x3x3xf32>
  %c11 = nn.input {nn.name = "c11"} : tensor<4xf32>
  %r11 = nn.conv_backward_data %a11, %b11 bias %c11 {nn.name = "r11", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>}
    : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  nn.output %r11 {nn.name = "y11"} : tensor<2x4x8x8xf32>
  %a12 = nn.input {nn.name = "a12"} : tensor<2x4x8x8xf32>
  %b12 = nn.input {nn.name = "b12"} : tensor<2x6x8x8xf32>
  %r12 = nn.conv_backward_filter %a12, %b12 {nn.name = "r12", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>}
    : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<6x4x3x3xf32>
  nn.output %r12 {nn.name = "y12"} : tensor<6x4x3x3xf32>
  %a13 = nn.input {nn.name = "a13"} : tensor<2x3xbf16>
  %b13 = nn.input {nn.name = "b13"} : tensor<3x4xbf16>
  %c13 = nn.input {nn.name = "c13"} : tensor<4xf32>
  %r13 = nn.matmul %a13, %b13 bias %c13 {nn.name = "r13"} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xf32>) -> tensor<2x4xf32>
  %c14 = nn.input {nn.name = "c14"} : tensor<4xbf16>
  %r14 = nn.matmul %a13, %b13 bias %c14 {nn.name = "r14"} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<2x4xf32>
  %r15 = nn.matmul %r13, %r14 {nn.name = "r15", transpose_b} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  nn.output %r15 {nn.name = "y15"} : tensor<2x2xf32>
  %r16 = nn.matmul %a13, %b13 bias %c14 {nn.name = "r16"} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<2x4xf32>
  %s16 = nn.cast %r16 {nn.name = "s16"} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  nn.output %s16 {nn.name = "y16"} : tensor<2x4xbf16>
  %r17 = nn.matmul %a13, %b13 bias %c13 {nn.name = "r17"} : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xf32>) -> tensor<2x4xf32>
  %s17 = nn.cast %r17 {nn.name = "s17"} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  nn.output %s17 {nn.name = "y17"} : tensor<2x4xbf16>
  %r18 = nn.matmul %a13, %b13 {nn.name = "r18"} : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  %s18 = nn.cast %r18 {nn.name = "s18"} : (tensor<2x4xf32>) -> tensor<2x4xf16>
  nn.output %s18 {nn.name = "y18"} : tensor<2x4xf16>
  return
}
