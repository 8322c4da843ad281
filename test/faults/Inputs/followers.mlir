// Convolutions with a residual addition, its relu, and an operand that is read
// again; one that sums over two devices, with its relu behind the sum.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<2x8x12x10xf32>
  %wa = nn.parameter {nn.name = "wa"} : tensor<16x8x3x3xf32> from #nn.random<7, "wa", normal, 0.0, 0.1>
  %wb = nn.parameter {nn.name = "wb"} : tensor<16x16x3x3xf32> from #nn.random<7, "wb", normal, 0.0, 0.1>
  %wc = nn.parameter {nn.name = "wc"} : tensor<16x8x3x3xf32> from #nn.random<7, "wc", normal, 0.0, 0.1>
  %a = nn.conv %x, %wa {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x8x12x10xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x12x10xf32>
  %b = nn.conv %x, %wc {nn.name = "b", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x8x12x10xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x12x10xf32>
  %again = nn.add %b, %a {nn.name = "again"} : (tensor<2x16x12x10xf32>, tensor<2x16x12x10xf32>) -> tensor<2x16x12x10xf32>
  %c = nn.conv %again, %wb {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x12x10xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x12x10xf32>
  %residual = nn.add %c, %a {nn.name = "residual"} : (tensor<2x16x12x10xf32>, tensor<2x16x12x10xf32>) -> tensor<2x16x12x10xf32>
  %sum = nn.conv %residual, %wb {nn.name = "sum", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x12x10xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x12x10xf32>
  %y = nn.relu %sum {nn.name = "relu"} : tensor<2x16x12x10xf32>
  nn.output %y {nn.name = "y"} : tensor<2x16x12x10xf32>
  return
}
