// Two layers with the same weights, the second one with their transpose.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %0 = nn.matmul %x, %w {nn.name = "fc1"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<8x4xf32>
  %2 = nn.matmul %1, %w {nn.name = "fc2", transpose_b} : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x6xf32>
  return
}
