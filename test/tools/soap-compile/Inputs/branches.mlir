// Branches that join, a parameter with two readers, a partial sum with two
// readers, windows that overlap.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x6x10x9xf32>
  %k = nn.parameter {nn.name = "k"} : tensor<6x6x3x3xf32> from #nn.random<1, "k", normal, 0.0, 0.2>
  %w = nn.parameter {nn.name = "w"} : tensor<30x30xf32> from #nn.random<1, "w", normal, 0.0, 0.2>
  %b = nn.parameter {nn.name = "b"} : tensor<6xf32> from #nn.random<1, "b", uniform, -1.0, 1.0>
  %c1 = nn.conv %x, %k bias %b {nn.name = "c1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<4x6x10x9xf32>, tensor<6x6x3x3xf32>, tensor<6xf32>) -> tensor<4x6x10x9xf32>
  %r1 = nn.relu %c1 {nn.name = "r1"} : tensor<4x6x10x9xf32>
  %c2 = nn.conv %r1, %k {nn.name = "c2", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 1>} : (tensor<4x6x10x9xf32>, tensor<6x6x3x3xf32>) -> tensor<4x6x5x4xf32>
  %p = nn.max_pool %r1 {nn.name = "p", kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 1>} : (tensor<4x6x10x9xf32>) -> tensor<4x6x5x4xf32>
  %s = nn.add %c2, %p {nn.name = "s"} : (tensor<4x6x5x4xf32>, tensor<4x6x5x4xf32>) -> tensor<4x6x5x4xf32>
  %f = nn.reshape %s {nn.name = "f"} : (tensor<4x6x5x4xf32>) -> tensor<16x30xf32>
  %m1 = nn.matmul %f, %w {nn.name = "m1"} : (tensor<16x30xf32>, tensor<30x30xf32>) -> tensor<16x30xf32>
  %t1 = nn.tanh %m1 {nn.name = "t1"} : tensor<16x30xf32>
  %t2 = nn.sigmoid %m1 {nn.name = "t2"} : tensor<16x30xf32>
  %m2 = nn.matmul %t1, %w {nn.name = "m2"} : (tensor<16x30xf32>, tensor<30x30xf32>) -> tensor<16x30xf32>
  %j = nn.mul %m2, %t2 {nn.name = "j"} : (tensor<16x30xf32>, tensor<16x30xf32>) -> tensor<16x30xf32>
  %y = nn.softmax %j {nn.name = "probability", axis = 1 : i64} : tensor<16x30xf32>
  nn.output %y {nn.name = "y"} : tensor<16x30xf32>
  return
}
