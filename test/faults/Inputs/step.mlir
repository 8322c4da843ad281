// A layer with a batch norm and dropout, to be trained.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x4xf32> from #nn.random<1, "w", normal, 0.0, 0.6>
  %s = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "bias"} : tensor<4xf32> from #nn.splat<0.5 : f32>
  %m = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.splat<0.0 : f32>
  %v = nn.parameter {nn.name = "variance"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %0 = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = nn.batch_norm %0, %s, %b, %m, %v {nn.name = "norm", epsilon = 1.0e-05 : f32} : tensor<8x4xf32>, tensor<4xf32>
  %2 = nn.dropout %1 {nn.name = "drop", ratio = 0.5 : f64} : tensor<8x4xf32>
  nn.output %2 {nn.name = "y"} : tensor<8x4xf32>
  return
}
