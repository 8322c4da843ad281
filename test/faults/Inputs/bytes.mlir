// A product of 8-bit integers that have zero points: y = (u8(100 x) - 7) (s8(w) - 3).
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<6x8xf32>
  %hundred = nn.constant dense<1.000000e+02> : tensor<f32> {nn.name = "hundred"}
  %scaled = nn.mul %x, %hundred {nn.name = "scaled"} : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %bytes = nn.cast %scaled {nn.name = "bytes"} : (tensor<6x8xf32>) -> tensor<6x8xui8>
  %wide = nn.cast %bytes {nn.name = "wide"} : (tensor<6x8xui8>) -> tensor<6x8xi32>
  %seven = nn.constant dense<7> : tensor<i32> {nn.name = "seven"}
  %a = nn.sub %wide, %seven {nn.name = "a"} : (tensor<6x8xi32>, tensor<i32>) -> tensor<6x8xi32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8xf32> from #nn.random<7, "w", normal, 0.0, 20.0>
  %weights = nn.cast %w {nn.name = "weights"} : (tensor<8x8xf32>) -> tensor<8x8xi8>
  %wide_weights = nn.cast %weights {nn.name = "wide_weights"} : (tensor<8x8xi8>) -> tensor<8x8xi32>
  %three = nn.constant dense<3> : tensor<i32> {nn.name = "three"}
  %b = nn.sub %wide_weights, %three {nn.name = "b"} : (tensor<8x8xi32>, tensor<i32>) -> tensor<8x8xi32>
  %fc = nn.matmul %a, %b {nn.name = "fc"} : (tensor<6x8xi32>, tensor<8x8xi32>) -> tensor<6x8xi32>
  %y = nn.cast %fc {nn.name = "product"} : (tensor<6x8xi32>) -> tensor<6x8xf32>
  nn.output %y {nn.name = "y"} : tensor<6x8xf32>
  return
}
