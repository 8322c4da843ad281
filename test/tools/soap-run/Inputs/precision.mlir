// Two convolutions and a product.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x3x8x8xf32>
  %u = nn.parameter {nn.name = "u"} : tensor<8x3x3x3xf32> from #nn.random<1, "u", normal, 0.0, 0.3>
  %v = nn.parameter {nn.name = "v"} : tensor<4x8x3x3xf32> from #nn.random<1, "v", normal, 0.0, 0.2>
  %w = nn.parameter {nn.name = "w"} : tensor<256x5xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %b = nn.parameter {nn.name = "b"} : tensor<5xf32> from #nn.random<1, "b", normal, 0.0, 0.1>
  %c = nn.parameter {nn.name = "c"} : tensor<8xf32> from #nn.random<1, "c", normal, 0.0, 0.1>
  %0 = nn.conv %x, %u bias %c {nn.name = "conv1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<8x3x8x8xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<8x8x8x8xf32>
  %1 = nn.relu %0 {nn.name = "relu1"} : tensor<8x8x8x8xf32>
  %2 = nn.conv %1, %v {nn.name = "conv2", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<8x8x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<8x4x8x8xf32>
  %3 = nn.reshape %2 {nn.name = "rows"} : (tensor<8x4x8x8xf32>) -> tensor<8x256xf32>
  %4 = nn.matmul %3, %w bias %b {nn.name = "fc"} : (tensor<8x256xf32>, tensor<256x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  nn.output %4 {nn.name = "y"} : tensor<8x5xf32>
  return
}
