// Convolutions of which the results are joined, shuffled, added up and pooled
// with channels last; a softmax, for which they are not.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 0>} : tensor<2x8x12x10xf32>
  %wa = nn.parameter {nn.name = "wa"} : tensor<16x8x3x3xf32> from #nn.random<7, "wa", normal, 0.0, 0.1>
  %wb = nn.parameter {nn.name = "wb"} : tensor<16x8x5x5xf32> from #nn.random<7, "wb", normal, 0.0, 0.1>
  %wc = nn.parameter {nn.name = "wc"} : tensor<32x32x3x3xf32> from #nn.random<7, "wc", normal, 0.0, 0.1>
  %scale = nn.parameter {nn.name = "scale"} : tensor<1x32x1x1xf32> from #nn.random<7, "scale", normal, 0.0, 1.0>
  %a = nn.conv %x, %wa {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x8x12x10xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x12x10xf32>
  %b = nn.conv %x, %wb {nn.name = "b", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 2, 2>, pads_hi = array<i64: 2, 2>}
    : (tensor<2x8x12x10xf32>, tensor<16x8x5x5xf32>) -> tensor<2x16x12x10xf32>
  %both = nn.concat %a, %b {nn.name = "both", axis = 1 : i64} : (tensor<2x16x12x10xf32>, tensor<2x16x12x10xf32>) -> tensor<2x32x12x10xf32>
  %c = nn.conv %both, %wc {nn.name = "c", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x32x12x10xf32>, tensor<32x32x3x3xf32>) -> tensor<2x32x12x10xf32>
  %split = nn.reshape %c {nn.name = "split"} : (tensor<2x32x12x10xf32>) -> tensor<2x4x8x12x10xf32>
  %shuffle = nn.transpose %split {nn.name = "shuffle", permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x4x8x12x10xf32>) -> tensor<2x8x4x12x10xf32>
  %joined = nn.reshape %shuffle {nn.name = "joined"} : (tensor<2x8x4x12x10xf32>) -> tensor<2x32x12x10xf32>
  %scaled = nn.mul %joined, %scale {nn.name = "scaled"} : (tensor<2x32x12x10xf32>, tensor<1x32x1x1xf32>) -> tensor<2x32x12x10xf32>
  %sum = nn.add %scaled, %both {nn.name = "sum"} : (tensor<2x32x12x10xf32>, tensor<2x32x12x10xf32>) -> tensor<2x32x12x10xf32>
  %pool = nn.max_pool %sum {nn.name = "pool", kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<2x32x12x10xf32>) -> tensor<2x32x6x5xf32>
  %y = nn.softmax %pool {nn.name = "softmax", axis = 1 : i64} : tensor<2x32x6x5xf32>
  nn.output %y {nn.name = "y"} : tensor<2x32x6x5xf32>
  return
}
