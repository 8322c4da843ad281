// Convolutions with channels last between which images are gathered, exchanged
// and reduced.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<2x8x6x6xf32>
  %wa = nn.parameter {nn.name = "wa"} : tensor<16x8x3x3xf32> from #nn.random<7, "wa", normal, 0.0, 0.1>
  %wb = nn.parameter {nn.name = "wb"} : tensor<16x16x3x3xf32> from #nn.random<7, "wb", normal, 0.0, 0.1>
  %wc = nn.parameter {nn.name = "wc"} : tensor<16x16x3x3xf32> from #nn.random<7, "wc", normal, 0.0, 0.1>
  %wd = nn.parameter {nn.name = "wd"} : tensor<16x16x3x3xf32> from #nn.random<7, "wd", normal, 0.0, 0.1>
  %we = nn.parameter {nn.name = "we"} : tensor<16x16x3x3xf32> from #nn.random<7, "we", normal, 0.0, 0.1>
  %a = nn.conv %x, %wa {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x6x6xf32>
  %b = nn.conv %a, %wb {nn.name = "b", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x6x6xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x6x6xf32>
  %c = nn.conv %b, %wc {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x6x6xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x6x6xf32>
  %d = nn.conv %c, %wd {nn.name = "d", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x6x6xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x6x6xf32>
  %e = nn.conv %d, %we {nn.name = "e", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x16x6x6xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x6x6xf32>
  nn.output %e {nn.name = "y"} : tensor<2x16x6x6xf32>
  return
}
