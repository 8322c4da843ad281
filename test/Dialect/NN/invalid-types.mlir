// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that there are no other element types.
func.func @main(%x: tensor<2xi24>) {
  // expected-error @+1 {{must be static ranked tensor of floats or integers}}
  %0 = nn.reshape %x {nn.name = "a"} : (tensor<2xi24>) -> tensor<1x2xi24>
  return
}

// -----

// Tests that integers of 4 bits are not computed with.
func.func @main(%x: tensor<2xi4>) {
  // expected-error @+1 {{must be static ranked tensor of floats of 16 bits or more, or integers of 8 or more, or booleans}}
  %0 = nn.add %x, %x {nn.name = "a"} : (tensor<2xi4>, tensor<2xi4>) -> tensor<2xi4>
  return
}

// -----

// Tests that signs are part of an element type.
func.func @main(%x: tensor<2xi8>, %y: tensor<2xui8>) {
  // expected-error @+1 {{expected the result's element type 'i8' in operand 1, got: 'ui8'}}
  %0 = nn.add %x, %y {nn.name = "a"} : (tensor<2xi8>, tensor<2xui8>) -> tensor<2xi8>
  return
}

// -----

// Tests that products of f16 are summed in f32.
func.func @main(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{expected a result of element type 'f32', in which sums of 'f16' are made, got: 'f16'}}
  %0 = nn.matmul %a, %b {nn.name = "a"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  return
}

// -----

// Tests the same for a convolution of bf16.
func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<6x4x3xbf16>) {
  // expected-error @+1 {{expected a result of element type 'f32', in which sums of 'bf16' are made, got: 'bf16'}}
  %0 = nn.conv %x, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x4x8xbf16>, tensor<6x4x3xbf16>) -> tensor<1x6x6xbf16>
  return
}

// -----

// Tests that a transposed convolution has the sum's type, too.
func.func @main(%dy: tensor<1x4x8xf16>, %w: tensor<4x6x3xf16>) {
  // expected-error @+1 {{expected a result of element type 'f32', in which sums of 'f16' are made, got: 'f16'}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x4x8xf16>, tensor<4x6x3xf16>) -> tensor<1x6x10xf16>
  return
}

// -----

// Tests that a product over dimensions has the sum's type.
func.func @main(%x: tensor<2x3xbf16>) {
  // expected-error @+1 {{expected a result of element type 'f32', in which sums of 'bf16' are made, got: 'bf16'}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<prod>, axes = array<i64: 1>, keepdims = false} : (tensor<2x3xbf16>) -> tensor<2xbf16>
  return
}

// -----

// Tests that a maximum, which rounds nothing, keeps the type.
func.func @main(%x: tensor<2x3xf16>) {
  // expected-error @+1 {{expected the result's element type 'f32' in operand 0, got: 'f16'}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf16>) -> tensor<2xf32>
  return
}

// -----

// Tests that integers are not scaled.
func.func @main(%x: tensor<4xi64>) {
  // expected-error @+1 {{expected a scale of 1 for integers, got: 2.5}}
  %0 = nn.reduce %x {nn.name = "a", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false, scale = 0.25 : f32} : (tensor<4xi64>) -> tensor<i64>
  return
}

// -----

// Tests that products of integers are not scaled.
func.func @main(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) {
  // expected-error @+1 {{expected an alpha of 1 for integers, got: 2.0}}
  %0 = nn.matmul %a, %b {nn.name = "a", alpha = 2.0 : f32} : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return
}

// -----

// Tests that padding has the type of what is padded.
func.func @main(%x: tensor<4xui8>) {
  // expected-error @+1 {{expected a value of type 'ui8', got: 'f32'}}
  %0 = nn.pad %x {nn.name = "a", pads_lo = array<i64: 1>, pads_hi = array<i64: 0>, value = 0.0 : f32} : (tensor<4xui8>) -> tensor<5xui8>
  return
}

// -----

// Tests that stores of f16 are not summed: parts would be rounded.
func.func @main(%d: tensor<4xf16>, %i: tensor<2xi64>, %u: tensor<2xf16>) {
  // expected-error @+1 {{expected sums and products of type 'f32', got: 'f16'; cast the operands and the result}}
  %0 = nn.scatter_elements %i, %u into %d {nn.name = "a", axis = 0 : i64, reduction = #nn.reduce_kind<sum>} : (tensor<2xi64>, tensor<2xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

// Tests that a bias has the type of the operands or that of the sum.
func.func @main(%x: tensor<2x3xbf16>, %b: tensor<3xf16>) {
  // expected-error @+1 {{expected operands of one element type, got: 'bf16' and, in operand 2, 'f16'}}
  %0 = nn.matmul %x, %x bias %b {nn.name = "a", transpose_b} : (tensor<2x3xbf16>, tensor<2x3xbf16>, tensor<3xf16>) -> tensor<2x2xf32>
  return
}

// -----

// Tests that only a bias may have the type of the sum.
func.func @main(%x: tensor<2x3xbf16>, %w: tensor<3x2xf32>) {
  // expected-error @+1 {{expected operands of one element type, got: 'bf16' and, in operand 1, 'f32'}}
  %0 = nn.matmul %x, %w {nn.name = "a"} : (tensor<2x3xbf16>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

// Tests that a product of 8-bit integers has a bias of its result's type.
func.func @main(%x: tensor<4x8xui8>, %w: tensor<8x5xi8>, %b: tensor<5xi8>) {
  // expected-error @+1 {{expected a bias of element type i32, got: 'i8'}}
  %0 = nn.matmul %x, %w bias %b {nn.name = "a"} : (tensor<4x8xui8>, tensor<8x5xi8>, tensor<5xi8>) -> tensor<4x5xi32>
  return
}

// -----

// Tests that factors of two signs have no other result.
func.func @main(%x: tensor<4x8xui8>, %w: tensor<8x5xi8>) {
  // expected-error @+1 {{expected operands of one element type}}
  %0 = nn.matmul %x, %w {nn.name = "a"} : (tensor<4x8xui8>, tensor<8x5xi8>) -> tensor<4x5xi64>
  return
}
