func.func @main() {
  %0 = nn.input {nn.name = "in"} : tensor<5x6x3x4xf32>
  %1 = nn.parameter {nn.name = "w"} : tensor<4x5xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %2 = nn.matmul %0, %1 {nn.name = "fc"} : (tensor<5x6x3x4xf32>, tensor<4x5xf32>) -> tensor<5x6x3x5xf32>
  %3 = nn.max_pool %2 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 3>, nn.name = "pool", pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<5x6x3x5xf32>) -> tensor<5x6x2x3xf32>
  nn.output %3 {nn.name = "y"} : tensor<5x6x2x3xf32>
  nn.output %2 {nn.name = "out"} : tensor<5x6x3x5xf32>
  return
}
