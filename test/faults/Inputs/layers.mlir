// Layers whose weights are gathered again for the backward pass.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x64xf32>
  %u = nn.parameter {nn.name = "u"} : tensor<64x64xf32> from #nn.random<1, "u", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<64x64xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %0 = nn.matmul %x, %u {nn.name = "fc1"} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = nn.tanh %0 {nn.name = "h1"} : tensor<8x64xf32>
  %2 = nn.matmul %1, %v {nn.name = "fc2"} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %3 = nn.tanh %2 {nn.name = "h2"} : tensor<8x64xf32>
  %4 = nn.matmul %3, %w {nn.name = "fc3"} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  nn.output %4 {nn.name = "y"} : tensor<8x64xf32>
  return
}
