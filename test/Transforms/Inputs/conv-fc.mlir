// A convolution, a pooling and a matrix product: two sample, three parameter
// and several attribute loops.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x4x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %c = nn.conv %x, %w {dilations = array<i64: 1, 1>, nn.name = "conv", pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<8x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<8x16x8x8xf32>
  %r = nn.relu %c {nn.name = "relu"} : tensor<8x16x8x8xf32>
  %f = nn.reshape %r {nn.name = "flatten"} : (tensor<8x16x8x8xf32>) -> tensor<8x1024xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<1024x32xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %m = nn.matmul %f, %v {nn.name = "fc"} : (tensor<8x1024xf32>, tensor<1024x32xf32>) -> tensor<8x32xf32>
  nn.output %m {nn.name = "y"} : tensor<8x32xf32>
  return
}
