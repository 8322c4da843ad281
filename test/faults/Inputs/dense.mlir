// Matrix products whose strategy has parts on one device and on several,
// reductions, and a gathered result.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<16x12xf32> from #nn.random<1, "w1", normal, 0.0, 0.3>
  %b1 = nn.parameter {nn.name = "b1"} : tensor<12xf32> from #nn.random<1, "b1", uniform, -1.0, 1.0>
  %0 = nn.matmul %x, %w1 bias %b1 {nn.name = "fc1"} : (tensor<4x16xf32>, tensor<16x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
  %1 = nn.tanh %0 {nn.name = "tanh1"} : tensor<4x12xf32>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<12x8xf32> from #nn.random<1, "w2", normal, 0.0, 0.3>
  %b2 = nn.parameter {nn.name = "b2"} : tensor<8xf32> from #nn.random<1, "b2", uniform, -1.0, 1.0>
  %2 = nn.matmul %1, %w2 bias %b2 {nn.name = "fc2"} : (tensor<4x12xf32>, tensor<12x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = nn.tanh %2 {nn.name = "tanh2"} : tensor<4x8xf32>
  %w3 = nn.parameter {nn.name = "w3"} : tensor<8x8xf32> from #nn.random<1, "w3", normal, 0.0, 0.3>
  %4 = nn.matmul %3, %w3 {nn.name = "fc3"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = nn.tanh %4 {nn.name = "tanh3"} : tensor<4x8xf32>
  %6 = nn.softmax %5 {nn.name = "softmax", axis = 1 : i64} : tensor<4x8xf32>
  nn.output %6 {nn.name = "y"} : tensor<4x8xf32>
  return
}
