// Two layers with biases, to be trained.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<6x5xf32> from #nn.random<1, "v", normal, 0.0, 0.6>
  %a = nn.parameter {nn.name = "a"} : tensor<5xf32> from #nn.random<1, "a", normal, 0.0, 0.6>
  %w = nn.parameter {nn.name = "w"} : tensor<5x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %b = nn.parameter {nn.name = "b"} : tensor<4xf32> from #nn.random<1, "b", normal, 0.0, 0.6>
  %0 = nn.matmul %x, %v bias %a {nn.name = "fc1"} : (tensor<8x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %1 = nn.tanh %0 {nn.name = "tanh"} : tensor<8x5xf32>
  %2 = nn.matmul %1, %w bias %b {nn.name = "fc2"} : (tensor<8x5xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x4xf32>
  return
}
