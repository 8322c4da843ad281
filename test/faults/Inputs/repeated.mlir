// Dropout between two layers: the gradient of the second one's weights reads it.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %v = nn.parameter {nn.name = "v"} : tensor<4x3xf32> from #nn.random<1, "v", normal, 0.0, 0.6>
  %0 = nn.matmul %x, %w {nn.name = "fc1"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<8x4xf32>
  %2 = nn.dropout %1 {nn.name = "drop", ratio = 0.5 : f64} : tensor<8x4xf32>
  %3 = nn.matmul %2, %v {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  nn.output %3 {nn.name = "y"} : tensor<8x3xf32>
  return
}
