// Three products read the same weights; their gradients are added in parts.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4xf32> from #nn.random<3, "w", normal, 0.0, 0.5>
  %0 = nn.matmul %x, %w {nn.name = "fc0"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.matmul %0, %w {nn.name = "fc1"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = nn.matmul %1, %w {nn.name = "fc2"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %g2 = nn.matmul %1, %2 {nn.name = "fc2.grad", transpose_a, nn.group = #nn.group<"fc2", {f = "f", k = "n", n = "k"}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %g1 = nn.matmul %0, %2 {nn.name = "fc1.grad", transpose_a, nn.group = #nn.group<"fc1", {f = "f", k = "n", n = "k"}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %s1 = nn.add %g2, %g1 {nn.name = "sum1", nn.group = #nn.group<"fc1", {d0 = "k", d1 = "f", part0 = "n"}>, nn.parts = array<i64: 8>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g0 = nn.matmul %x, %2 {nn.name = "fc0.grad", transpose_a, nn.group = #nn.group<"fc0", {f = "f", k = "n", n = "k"}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %s0 = nn.add %s1, %g0 {nn.name = "sum0", nn.group = #nn.group<"fc0", {d0 = "k", d1 = "f", part0 = "n"}>, nn.parts = array<i64: 8>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = nn.tanh %s0 {nn.name = "tanh"} : tensor<4x4xf32>
  nn.output %y {nn.name = "y"} : tensor<4x4xf32>
  return
}
