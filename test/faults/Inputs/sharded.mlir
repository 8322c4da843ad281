// A product whose weights are updated in shards, which are gathered in the next
// step.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %dy = nn.tanh %y {nn.name = "dy"} : tensor<8x12xf32>
  %g = nn.matmul %x, %dy {nn.name = "fc.grad", transpose_a, nn.group = #nn.group<"fc", {f = "f", k = "n", n = "k"}>} : (tensor<8x16xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
  %n = nn.sgd %w, %g, %rate {nn.name = "w.update", nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>} : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<f32>) -> tensor<16x12xf32>
  %v = nn.write %n, %w {nn.name = "w.write", nn.group = #nn.group<"fc", {d0 = "k", d1 = "f"}>, nn.update = "w.update"} : tensor<16x12xf32>
  nn.output %y {nn.name = "y"} : tensor<8x12xf32>
  return
}
