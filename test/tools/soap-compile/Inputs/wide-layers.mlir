// Two layers without biases whose weights two devices share: the first is cut
// along its second dimension, the other along its first.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x65xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<65x66xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %w = nn.parameter {nn.name = "w"} : tensor<66x33xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %0 = nn.matmul %x, %v {nn.name = "fc1"} : (tensor<8x65xf32>, tensor<65x66xf32>) -> tensor<8x66xf32>
  %1 = nn.tanh %0 {nn.name = "tanh"} : tensor<8x66xf32>
  %2 = nn.matmul %1, %w {nn.name = "fc2"} : (tensor<8x66xf32>, tensor<66x33xf32>) -> tensor<8x33xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x33xf32>
  return
}
