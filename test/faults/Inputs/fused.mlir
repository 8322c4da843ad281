// A sum of two parts, and behind it operations per element, which are fused:
// y = tanh(max(fc - x, x) * t) with a vector t.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<6x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8xf32> from #nn.random<7, "w", normal, 0.0, 1.0>
  %t = nn.parameter {nn.name = "t"} : tensor<8xf32> from #nn.random<7, "t", normal, 0.0, 1.0>
  %fc = nn.matmul %x, %w {nn.name = "fc"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %d = nn.sub %fc, %x {nn.name = "difference"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %m = nn.max %d, %x {nn.name = "largest"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = nn.mul %m, %t {nn.name = "scaled"} : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %y = nn.tanh %s {nn.name = "bounded"} : tensor<6x8xf32>
  nn.output %y {nn.name = "y"} : tensor<6x8xf32>
  return
}
