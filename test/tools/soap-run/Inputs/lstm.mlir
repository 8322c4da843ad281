// A recurrent layer of two directions with products that are large enough for a library.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 1>} : tensor<3x8x64xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<2x4x128x64xf32> from #nn.random<1, "w", uniform, -0.2, 0.2>
  %r = nn.parameter {nn.name = "r"} : tensor<2x4x128x128xf32> from #nn.random<2, "r", uniform, -0.2, 0.2>
  %b = nn.parameter {nn.name = "b"} : tensor<2x4x128xf32> from #nn.random<3, "b", uniform, -0.2, 0.2>
  %h = nn.parameter {nn.name = "h"} : tensor<2x8x128xf32> from #nn.splat<0.0 : f32>
  %y, %c = nn.lstm %x, %w, %r, %b, %h, %h {nn.name = "lstm"} : (tensor<3x8x64xf32>, tensor<2x4x128x64xf32>, tensor<2x4x128x128xf32>, tensor<2x4x128xf32>, tensor<2x8x128xf32>, tensor<2x8x128xf32>) -> (tensor<3x2x8x128xf32>, tensor<2x8x128xf32>)
  nn.output %y {nn.name = "y"} : tensor<3x2x8x128xf32>
  return
}
