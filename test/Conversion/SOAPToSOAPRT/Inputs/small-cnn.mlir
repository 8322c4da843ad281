func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3x9x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x3x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %b = nn.parameter {nn.name = "b"} : tensor<8xf32> from #nn.random<1, "b", uniform, -1.0, 1.0>
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<4x3x9x9xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<4x8x9x9xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<4x8x9x9xf32>
  %2 = nn.max_pool %1 {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<4x8x9x9xf32>) -> tensor<4x8x4x4xf32>
  %3 = nn.add %2, %2 {nn.name = "double"} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
  %4 = nn.reshape %3 {nn.name = "flat"} : (tensor<4x8x4x4xf32>) -> tensor<4x128xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<128x10xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %5 = nn.matmul %4, %v {nn.name = "fc"} : (tensor<4x128xf32>, tensor<128x10xf32>) -> tensor<4x10xf32>
  %6 = nn.softmax %5 {nn.name = "softmax", axis = 1 : i64} : tensor<4x10xf32>
  nn.output %6 {nn.name = "prob"} : tensor<4x10xf32>
  return
}
