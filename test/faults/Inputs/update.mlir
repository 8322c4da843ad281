// A weight whose new value is made before a library kernel reads the old one.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %g = nn.tanh %w {nn.name = "gradient"} : tensor<16x12xf32>
  %n = nn.sgd %w, %g, %rate {nn.name = "update"} : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<f32>) -> tensor<16x12xf32>
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %v = nn.write %n, %w {nn.name = "w.write"} : tensor<16x12xf32>
  nn.output %y {nn.name = "y"} : tensor<4x12xf32>
  return
}
