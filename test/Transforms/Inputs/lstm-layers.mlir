// Two LSTM layers, each in two pieces of two steps that share its weights, and a
// matrix product over the last cell state.
func.func @main() {
  %a = nn.input {nn.name = "a", sample_dims = array<i64: 1>} : tensor<2x4x8xf32>
  %b = nn.input {nn.name = "b", sample_dims = array<i64: 1>} : tensor<2x4x8xf32>
  %zero = nn.parameter {nn.name = "zero"} : tensor<1x4x8xf32> from #nn.random<1, "zero", normal, 0.0, 0.1>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<1x4x8x8xf32> from #nn.random<1, "w1", normal, 0.0, 0.1>
  %r1 = nn.parameter {nn.name = "r1"} : tensor<1x4x8x8xf32> from #nn.random<1, "r1", normal, 0.0, 0.1>
  %b1 = nn.parameter {nn.name = "b1"} : tensor<1x4x8xf32> from #nn.random<1, "b1", normal, 0.0, 0.1>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<1x4x8x8xf32> from #nn.random<1, "w2", normal, 0.0, 0.1>
  %r2 = nn.parameter {nn.name = "r2"} : tensor<1x4x8x8xf32> from #nn.random<1, "r2", normal, 0.0, 0.1>
  %b2 = nn.parameter {nn.name = "b2"} : tensor<1x4x8xf32> from #nn.random<1, "b2", normal, 0.0, 0.1>
  %y11, %c11 = nn.lstm %a, %w1, %r1, %b1, %zero, %zero {nn.name = "layer1.step1"} : (tensor<2x4x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<2x1x4x8xf32>, tensor<1x4x8xf32>)
  %y12, %c12 = nn.lstm %b, %w1, %r1, %b1, %c11, %c11 {nn.name = "layer1.step2"} : (tensor<2x4x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<2x1x4x8xf32>, tensor<1x4x8xf32>)
  %x1 = nn.reshape %y11 {nn.name = "x1"} : (tensor<2x1x4x8xf32>) -> tensor<2x4x8xf32>
  %x2 = nn.reshape %y12 {nn.name = "x2"} : (tensor<2x1x4x8xf32>) -> tensor<2x4x8xf32>
  %y21, %c21 = nn.lstm %x1, %w2, %r2, %b2, %zero, %zero {nn.name = "layer2.step1"} : (tensor<2x4x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<2x1x4x8xf32>, tensor<1x4x8xf32>)
  %y22, %c22 = nn.lstm %x2, %w2, %r2, %b2, %c21, %c21 {nn.name = "layer2.step2"} : (tensor<2x4x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<2x1x4x8xf32>, tensor<1x4x8xf32>)
  %f = nn.reshape %c22 {nn.name = "flatten"} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<8x16xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %m = nn.matmul %f, %v {nn.name = "fc"} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  nn.output %m {nn.name = "y"} : tensor<4x16xf32>
  return
}
