// Two layers like those of a transformer in which a residual sum is read twice, a
// mask is broadcast over heads and rows, and an input is read in between.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<2x16x64xf32>
  %m = nn.input {nn.name = "m"} : tensor<2x1x16xf32>
  %s = nn.parameter {nn.name = "s"} : tensor<f32> from #nn.splat<0.125 : f32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<64x64xf32> from #nn.random<7, "v", normal, 0.0, 0.1>
  %g = nn.parameter {nn.name = "g"} : tensor<64xf32> from #nn.random<7, "g", normal, 1.0, 0.1>
  %h = nn.parameter {nn.name = "h"} : tensor<64xf32> from #nn.random<7, "h", normal, 0.0, 0.1>
  %q = nn.matmul %x, %w {nn.name = "q"} : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %k = nn.transpose %x {nn.name = "k", permutation = array<i64: 0, 2, 1>} : (tensor<2x16x64xf32>) -> tensor<2x64x16xf32>
  %scores = nn.matmul %q, %k {nn.name = "scores"} : (tensor<2x16x64xf32>, tensor<2x64x16xf32>) -> tensor<2x16x16xf32>
  %scaled = nn.mul %scores, %s {nn.name = "scaled"} : (tensor<2x16x16xf32>, tensor<f32>) -> tensor<2x16x16xf32>
  %masked = nn.add %scaled, %m {nn.name = "masked"} : (tensor<2x16x16xf32>, tensor<2x1x16xf32>) -> tensor<2x16x16xf32>
  %weights = nn.softmax %masked {nn.name = "weights", axis = 2 : i64} : tensor<2x16x16xf32>
  %heads = nn.matmul %weights, %x {nn.name = "heads"} : (tensor<2x16x16xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %sum1 = nn.add %heads, %x {nn.name = "sum1"} : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %norm1 = nn.layer_norm %sum1, %g bias %h {nn.name = "norm1", axis = 2 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32>
  %up = nn.matmul %norm1, %v {nn.name = "up"} : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %sum2 = nn.sub %sum1, %up {nn.name = "sum2"} : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %norm2 = nn.layer_norm %sum2, %g bias %h {nn.name = "norm2", axis = 2 : i64, epsilon = 1.0e-5 : f32} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32>
  %last = nn.matmul %norm2, %w {nn.name = "last"} : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %y = nn.add %last, %sum2 {nn.name = "y"} : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %p = nn.softmax %y {nn.name = "last_weights", axis = 2 : i64} : tensor<2x16x64xf32>
  nn.output %p {nn.name = "p"} : tensor<2x16x64xf32>
  return
}
