// A step that writes a weight, and the model beside it, which reads the weight.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %g = nn.tanh %w {nn.name = "gradient"} : tensor<16x12xf32>
  %n = nn.sgd %w, %g, %rate {nn.name = "update"} : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<f32>) -> tensor<16x12xf32>
  %v = nn.write %n, %w {nn.name = "w.write"} : tensor<16x12xf32>
  nn.output %y {nn.name = "y"} : tensor<4x12xf32>
  return
}
module @eval {
  func.func @main() {
    %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
    %w = nn.parameter {nn.name = "w", nn.state} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
    %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
    nn.output %y {nn.name = "y"} : tensor<4x12xf32>
    return
  }
}
