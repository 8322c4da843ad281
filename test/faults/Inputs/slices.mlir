// A table whose slices are updated before a library kernel reads the old ones, beside
// one that reads the new ones.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<16x12xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %i = nn.constant dense<[[3], [14], [3]]> : tensor<3x1xi64> {nn.name = "i"}
  %g = nn.parameter {nn.name = "g"} : tensor<3x12xf32> from #nn.random<2, "g", normal, 0.0, 1.0>
  %s = nn.tanh %g {nn.name = "slices"} : tensor<3x12xf32>
  %n = nn.sparse_sgd %w, %i, %s, %rate {nn.name = "update"} : (tensor<16x12xf32>, tensor<3x1xi64>, tensor<3x12xf32>, tensor<f32>) -> tensor<16x12xf32>
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %z = nn.matmul %x, %n {nn.name = "new"} : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %a = nn.sub %y, %z {nn.name = "sub"} : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
  %v = nn.write %n, %w {nn.name = "w.write"} : tensor<16x12xf32>
  nn.output %a {nn.name = "y"} : tensor<4x12xf32>
  return
}
