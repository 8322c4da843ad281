// One product, large enough to be bound by what tensor cores multiply.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4096x4096xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4096x4096xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %y = nn.matmul %x, %w {nn.name = "y"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  nn.output %y {nn.name = "out"} : tensor<4096x4096xf32>
  return
}
