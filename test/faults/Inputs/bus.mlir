// Two chains that gather at the same time.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<32x64xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<64x64xf32> from #nn.random<1, "w1", normal, 0.0, 0.3>
  %0 = nn.matmul %x, %w1 {nn.name = "a1"} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<64x64xf32> from #nn.random<1, "w2", normal, 0.0, 0.3>
  %1 = nn.matmul %x, %w2 {nn.name = "a2"} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %v1 = nn.parameter {nn.name = "v1"} : tensor<64x64xf32> from #nn.random<1, "v1", normal, 0.0, 0.3>
  %2 = nn.matmul %0, %v1 {nn.name = "b1"} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %v2 = nn.parameter {nn.name = "v2"} : tensor<64x64xf32> from #nn.random<1, "v2", normal, 0.0, 0.3>
  %3 = nn.matmul %1, %v2 {nn.name = "b2"} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %4 = nn.add %2, %3 {nn.name = "sum"} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  nn.output %4 {nn.name = "y"} : tensor<32x64xf32>
  return
}
