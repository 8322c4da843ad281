// RUN: soap-opt %s --nn-narrow-products --split-input-file | FileCheck %s

// Tests that factors without a zero point are multiplied as they are, and that
// a bias is added behind the product.

// CHECK-LABEL: func.func @main
// CHECK: %[[V0:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[V1:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V2:.*]] = nn.parameter {nn.name = "c"}
// CHECK: %[[V3:.*]] = nn.matmul %[[V0]], %[[V1]] {nn.name = "plain"} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi32>
// CHECK: %[[V4:.*]] = nn.matmul %[[V0]], %[[V1]] {nn.name = "fc.bytes"} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi32>
// CHECK: %[[V5:.*]] = nn.add %[[V4]], %[[V2]] {nn.name = "fc"} : (tensor<4x5xi32>, tensor<5xi32>) -> tensor<4x5xi32>
// CHECK: nn.output %[[V3]] {nn.name = "y"} : tensor<4x5xi32>
// CHECK: nn.output %[[V5]] {nn.name = "z"} : tensor<4x5xi32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xui8>
  %w = nn.parameter {nn.name = "w"} : tensor<8x5xi8> from #nn.file<"w", 0, 40>
  %c = nn.parameter {nn.name = "c"} : tensor<5xi32> from #nn.file<"w", 40, 20>
  %a = nn.cast %x {nn.name = "a"} : (tensor<4x8xui8>) -> tensor<4x8xi32>
  %b = nn.cast %w {nn.name = "b"} : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %y = nn.matmul %a, %b {nn.name = "plain"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
  %z = nn.matmul %a, %b bias %c {nn.name = "fc"} : (tensor<4x8xi32>, tensor<8x5xi32>, tensor<5xi32>) -> tensor<4x5xi32>
  nn.output %y {nn.name = "y"} : tensor<4x5xi32>
  nn.output %z {nn.name = "z"} : tensor<4x5xi32>
  return
}

// -----

// Tests the terms of two zero points: that of the data is one number, that of
// the weights differs by column.

// CHECK-LABEL: func.func @main
// CHECK: %[[V0:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[V1:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V2:.*]] = nn.parameter {nn.name = "zw"}
// CHECK-NOT: {nn.name = "zx"}
// CHECK: %[[V4:.*]] = nn.cast %[[V1]] {nn.name = "w_wide"} : (tensor<8x5xi8>) -> tensor<8x5xi32>
// CHECK: %[[V5:.*]] = nn.sub %[[V4]], %[[V2]] {nn.name = "b"} : (tensor<8x5xi32>, tensor<1x5xi32>) -> tensor<8x5xi32>
// CHECK: %[[V6:.*]] = nn.matmul %[[V0]], %[[V1]] {nn.name = "fc.bytes"} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi32>
// CHECK: %[[V7:.*]] = nn.constant dense<7> : tensor<i32> {nn.name = "fc.first_zero"}
// CHECK: %[[V8:.*]] = nn.reduce %[[V5]] {axes = array<i64: 0>, keepdims = true, kind = #nn.reduce_kind<sum>, nn.name = "fc.second_sums"} : (tensor<8x5xi32>) -> tensor<1x5xi32>
// CHECK: %[[V9:.*]] = nn.mul %[[V8]], %[[V7]] {nn.name = "fc.zero_term"} : (tensor<1x5xi32>, tensor<i32>) -> tensor<1x5xi32>
// CHECK: %[[V10:.*]] = nn.constant dense<0> : tensor<i32> {nn.name = "fc.no_bias"}
// CHECK: %[[V11:.*]] = nn.sub %[[V10]], %[[V9]] {nn.name = "fc.terms"} : (tensor<i32>, tensor<1x5xi32>) -> tensor<1x5xi32>
// CHECK: %[[V12:.*]] = nn.add %[[V6]], %[[V11]] {nn.name = "fc.sum"} : (tensor<4x5xi32>, tensor<1x5xi32>) -> tensor<4x5xi32>
// CHECK: %[[V13:.*]] = nn.cast %[[V0]] {nn.name = "fc.first_wide"} : (tensor<4x8xui8>) -> tensor<4x8xi32>
// CHECK: %[[V14:.*]] = nn.reduce %[[V13]] {axes = array<i64: 1>, keepdims = true, kind = #nn.reduce_kind<sum>, nn.name = "fc.first_sums"} : (tensor<4x8xi32>) -> tensor<4x1xi32>
// CHECK: %[[V15:.*]] = nn.mul %[[V14]], %[[V2]] {nn.name = "fc.second_term"} : (tensor<4x1xi32>, tensor<1x5xi32>) -> tensor<4x5xi32>
// CHECK: %[[V16:.*]] = nn.sub %[[V12]], %[[V15]] {nn.name = "fc"} : (tensor<4x5xi32>, tensor<4x5xi32>) -> tensor<4x5xi32>
// CHECK: nn.output %[[V16]] {nn.name = "y"} : tensor<4x5xi32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xui8>
  %w = nn.parameter {nn.name = "w"} : tensor<8x5xi8> from #nn.file<"w", 0, 40>
  %zw = nn.parameter {nn.name = "zw"} : tensor<1x5xi32> from #nn.file<"w", 40, 20>
  %zx = nn.constant dense<7> : tensor<i32> {nn.name = "zx"}
  %0 = nn.cast %x {nn.name = "x_wide"} : (tensor<4x8xui8>) -> tensor<4x8xi32>
  %a = nn.sub %0, %zx {nn.name = "a"} : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi32>
  %1 = nn.cast %w {nn.name = "w_wide"} : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %b = nn.sub %1, %zw {nn.name = "b"} : (tensor<8x5xi32>, tensor<1x5xi32>) -> tensor<8x5xi32>
  %y = nn.matmul %a, %b {nn.name = "fc"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
  nn.output %y {nn.name = "y"} : tensor<4x5xi32>
  return
}

// -----

// Tests that data with a sign loses it and weights without one get it, which
// moves their zero points: 128 becomes 0, and pads are the new one.

// CHECK-LABEL: func.func @main
// CHECK: %[[V0:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[V1:.*]] = nn.constant dense<-128> : tensor<i8> {nn.name = "x.turned_bit"}
// CHECK: %[[V2:.*]] = nn.xor %[[V0]], %[[V1]] {nn.name = "x.turned_bits"} : (tensor<1x2x4x4xi8>, tensor<i8>) -> tensor<1x2x4x4xi8>
// CHECK: %[[V3:.*]] = nn.bit_cast %[[V2]] {nn.name = "x.turned"} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xui8>
// CHECK: %[[V4:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V5:.*]] = nn.constant dense<128> : tensor<ui8> {nn.name = "w.turned_bit"}
// CHECK: %[[V6:.*]] = nn.xor %[[V4]], %[[V5]] {nn.name = "w.turned_bits"} : (tensor<3x2x3x3xui8>, tensor<ui8>) -> tensor<3x2x3x3xui8>
// CHECK: %[[V7:.*]] = nn.bit_cast %[[V6]] {nn.name = "w.turned"} : (tensor<3x2x3x3xui8>) -> tensor<3x2x3x3xi8>
// CHECK: %[[V8:.*]] = nn.constant dense<128> : tensor<ui8> {nn.name = "zw"}
// CHECK: %[[V9:.*]] = nn.cast %[[V8]] {nn.name = "zi"} : (tensor<ui8>) -> tensor<i32>
// CHECK: %[[V10:.*]] = nn.cast %[[V4]] {nn.name = "w_wide"} : (tensor<3x2x3x3xui8>) -> tensor<3x2x3x3xi32>
// CHECK: %[[V11:.*]] = nn.sub %[[V10]], %[[V9]] {nn.name = "b"} : (tensor<3x2x3x3xi32>, tensor<i32>) -> tensor<3x2x3x3xi32>
// CHECK: %[[V12:.*]] = nn.pad %[[V3]] {nn.name = "conv.padded", pads_hi = array<i64: 0, 0, 1, 1>, pads_lo = array<i64: 0, 0, 1, 1>, value = 128 : ui8} : (tensor<1x2x4x4xui8>) -> tensor<1x2x6x6xui8>
// CHECK: %[[V13:.*]] = nn.conv %[[V12]], %[[V7]] {{{.*}}nn.name = "conv.bytes", pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x6x6xui8>, tensor<3x2x3x3xi8>) -> tensor<1x3x4x4xi32>
// CHECK: %[[V14:.*]] = nn.constant dense<128> : tensor<i32> {nn.name = "conv.data_zero"}
// CHECK: %[[V15:.*]] = nn.reduce %[[V11]] {axes = array<i64: 1, 2, 3>, keepdims = true, kind = #nn.reduce_kind<sum>, nn.name = "conv.weight_sums"} : (tensor<3x2x3x3xi32>) -> tensor<3x1x1x1xi32>
// CHECK: %[[V16:.*]] = nn.reshape %[[V15]] {nn.name = "conv.sums_by_channel"} : (tensor<3x1x1x1xi32>) -> tensor<1x3x1x1xi32>
// CHECK: %[[V17:.*]] = nn.mul %[[V16]], %[[V14]] {nn.name = "conv.zero_term"} : (tensor<1x3x1x1xi32>, tensor<i32>) -> tensor<1x3x1x1xi32>
// CHECK: %[[V18:.*]] = nn.constant dense<0> : tensor<i32> {nn.name = "conv.no_bias"}
// CHECK: %[[V19:.*]] = nn.sub %[[V18]], %[[V17]] {nn.name = "conv.terms"} : (tensor<i32>, tensor<1x3x1x1xi32>) -> tensor<1x3x1x1xi32>
// CHECK: %[[V20:.*]] = nn.add %[[V13]], %[[V19]] {nn.name = "conv"} : (tensor<1x3x4x4xi32>, tensor<1x3x1x1xi32>) -> tensor<1x3x4x4xi32>
// CHECK: nn.output %[[V20]] {nn.name = "y"} : tensor<1x3x4x4xi32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x2x4x4xi8>
  %w = nn.parameter {nn.name = "w"} : tensor<3x2x3x3xui8> from #nn.file<"w", 0, 54>
  %zw = nn.constant dense<128> : tensor<ui8> {nn.name = "zw"}
  %zi = nn.cast %zw {nn.name = "zi"} : (tensor<ui8>) -> tensor<i32>
  %a = nn.cast %x {nn.name = "x_wide"} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi32>
  %0 = nn.cast %w {nn.name = "w_wide"} : (tensor<3x2x3x3xui8>) -> tensor<3x2x3x3xi32>
  %b = nn.sub %0, %zi {nn.name = "b"} : (tensor<3x2x3x3xi32>, tensor<i32>) -> tensor<3x2x3x3xi32>
  %y = nn.conv %a, %b {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
                       pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
     : (tensor<1x2x4x4xi32>, tensor<3x2x3x3xi32>) -> tensor<1x3x4x4xi32>
  nn.output %y {nn.name = "y"} : tensor<1x3x4x4xi32>
  return
}

// -----

// Tests that sums over weights count what lies inside where the zero point is
// not known when the model is compiled, in groups, too.

// CHECK-LABEL: func.func @main
// CHECK: %[[V0:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[V1:.*]] = nn.input {nn.name = "zx"}
// CHECK: %[[V2:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V3:.*]] = nn.cast %[[V2]] {nn.name = "b"} : (tensor<4x1x3x3xi8>) -> tensor<4x1x3x3xi32>
// CHECK: %[[V4:.*]] = nn.conv %[[V0]], %[[V2]] {{{.*}}groups = 2 : i64, nn.name = "conv.bytes", pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xui8>, tensor<4x1x3x3xi8>) -> tensor<1x4x2x2xi32>
// CHECK: %[[V5:.*]] = nn.constant dense<1> : tensor<1x1x4x4xi32> {nn.name = "conv.inside"}
// CHECK: %[[V6:.*]] = nn.reduce %[[V3]] {axes = array<i64: 1>, keepdims = true, kind = #nn.reduce_kind<sum>, nn.name = "conv.sums_by_position"} : (tensor<4x1x3x3xi32>) -> tensor<4x1x3x3xi32>
// CHECK: %[[V7:.*]] = nn.conv %[[V5]], %[[V6]] {{{.*}}nn.name = "conv.weight_sums", pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x1x4x4xi32>, tensor<4x1x3x3xi32>) -> tensor<1x4x2x2xi32>
// CHECK: %[[V8:.*]] = nn.mul %[[V7]], %[[V1]] {nn.name = "conv.zero_term"} : (tensor<1x4x2x2xi32>, tensor<i32>) -> tensor<1x4x2x2xi32>
// CHECK: %[[V9:.*]] = nn.constant dense<0> : tensor<i32> {nn.name = "conv.no_bias"}
// CHECK: %[[V10:.*]] = nn.sub %[[V9]], %[[V8]] {nn.name = "conv.terms"} : (tensor<i32>, tensor<1x4x2x2xi32>) -> tensor<1x4x2x2xi32>
// CHECK: %[[V11:.*]] = nn.add %[[V4]], %[[V10]] {nn.name = "conv"} : (tensor<1x4x2x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x4x2x2xi32>
// CHECK: nn.output %[[V11]] {nn.name = "y"} : tensor<1x4x2x2xi32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x2x4x4xui8>
  %zx = nn.input {nn.name = "zx"} : tensor<i32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x1x3x3xi8> from #nn.file<"w", 0, 36>
  %0 = nn.cast %x {nn.name = "x_wide"} : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi32>
  %a = nn.sub %0, %zx {nn.name = "a"} : (tensor<1x2x4x4xi32>, tensor<i32>) -> tensor<1x2x4x4xi32>
  %b = nn.cast %w {nn.name = "b"} : (tensor<4x1x3x3xi8>) -> tensor<4x1x3x3xi32>
  %y = nn.conv %a, %b {nn.name = "conv", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
                       pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 2 : i64}
     : (tensor<1x2x4x4xi32>, tensor<4x1x3x3xi32>) -> tensor<1x4x2x2xi32>
  nn.output %y {nn.name = "y"} : tensor<1x4x2x2xi32>
  return
}

// -----

// Tests that a product stays whose zero point differs along what is summed, and
// one of integers that were wider.

// CHECK-LABEL: func.func @main
// CHECK: %[[V0:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[V1:.*]] = nn.input {nn.name = "s"}
// CHECK: %[[V2:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[V3:.*]] = nn.parameter {nn.name = "zx"}
// CHECK: %[[V4:.*]] = nn.cast %[[V0]] {nn.name = "x_wide"} : (tensor<4x8xui8>) -> tensor<4x8xi32>
// CHECK: %[[V5:.*]] = nn.sub %[[V4]], %[[V3]] {nn.name = "a"} : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
// CHECK: %[[V6:.*]] = nn.cast %[[V1]] {nn.name = "t"} : (tensor<4x8xi16>) -> tensor<4x8xi32>
// CHECK: %[[V7:.*]] = nn.cast %[[V2]] {nn.name = "b"} : (tensor<8x5xi8>) -> tensor<8x5xi32>
// CHECK: %[[V8:.*]] = nn.matmul %[[V5]], %[[V7]] {nn.name = "along"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
// CHECK: %[[V9:.*]] = nn.matmul %[[V6]], %[[V7]] {nn.name = "wide"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
// CHECK: nn.output %[[V8]] {nn.name = "y"} : tensor<4x5xi32>
// CHECK: nn.output %[[V9]] {nn.name = "z"} : tensor<4x5xi32>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xui8>
  %s = nn.input {nn.name = "s"} : tensor<4x8xi16>
  %w = nn.parameter {nn.name = "w"} : tensor<8x5xi8> from #nn.file<"w", 0, 40>
  %zx = nn.parameter {nn.name = "zx"} : tensor<8xi32> from #nn.file<"w", 40, 32>
  %0 = nn.cast %x {nn.name = "x_wide"} : (tensor<4x8xui8>) -> tensor<4x8xi32>
  %a = nn.sub %0, %zx {nn.name = "a"} : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
  %t = nn.cast %s {nn.name = "t"} : (tensor<4x8xi16>) -> tensor<4x8xi32>
  %b = nn.cast %w {nn.name = "b"} : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %y = nn.matmul %a, %b {nn.name = "along"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
  %z = nn.matmul %t, %b {nn.name = "wide"} : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi32>
  nn.output %y {nn.name = "y"} : tensor<4x5xi32>
  nn.output %z {nn.name = "z"} : tensor<4x5xi32>
  return
}
