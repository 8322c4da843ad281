// Windows with pads that differ at all four borders, uneven heights, a bias that
// is joined to a reduction.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x11x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x4x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %b = nn.parameter {nn.name = "b"} : tensor<8xf32> from #nn.random<1, "b", uniform, -1.0, 1.0>
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 2, 1>, pads_hi = array<i64: 0, 1>}
    : (tensor<2x4x11x9xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<2x8x11x9xf32>
  %1 = nn.tanh %0 {nn.name = "tanh"} : tensor<2x8x11x9xf32>
  %2 = nn.max_pool %1 {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x8x11x9xf32>) -> tensor<2x8x11x9xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<6x8x1x1xf32> from #nn.random<1, "v", normal, 0.0, 0.3>
  %c = nn.parameter {nn.name = "c"} : tensor<6xf32> from #nn.random<1, "c", uniform, -1.0, 1.0>
  %3 = nn.conv %2, %v bias %c {nn.name = "point", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
    : (tensor<2x8x11x9xf32>, tensor<6x8x1x1xf32>, tensor<6xf32>) -> tensor<2x6x11x9xf32>
  nn.output %3 {nn.name = "y"} : tensor<2x6x11x9xf32>
  return
}
