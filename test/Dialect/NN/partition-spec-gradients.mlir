// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that the gradient of a filter is split by its own channels, and by
// samples and positions, over which parts are summed; a tile of positions knows
// how far its x reaches into the padding.
func.func @filter(%x: tensor<2x4x9xf32>, %dy: tensor<2x6x5xf32>) {
  // CHECK-LABEL: positions: nn.conv_backward_filter
  // CHECK-NEXT: loops: n=2 attribute reduction f=6 attribute w=5 attribute reduction c=4 attribute
  // CHECK-NEXT: operand 0: (n, c, w*2+[-1,1])
  // CHECK-NEXT: operand 1: (n, f, w)
  // CHECK-NEXT: result 0: (f, c, [0,2]) sum
  // CHECK: task 1: reads [0:2, 0:4, 3:9] [0:2, 0:6, 2:5] writes [0:6, 0:4, 0:3]
  // CHECK: nn.conv_backward_filter {{.*}}pads_lo = array<i64: 0>
  %0 = nn.conv_backward_filter %x, %dy {nn.name = "positions", strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, test.degrees = {w = 2}} : (tensor<2x4x9xf32>, tensor<2x6x5xf32>) -> tensor<6x4x3xf32>
  // CHECK-LABEL: groups: nn.conv_backward_filter
  // CHECK-NEXT: loops: n=2 attribute reduction g=2 attribute w=5 attribute reduction
  // CHECK-NEXT: operand 0: (n, g*2+[0,1], w*2+[-1,1])
  // CHECK-NEXT: operand 1: (n, g*3+[0,2], w)
  // CHECK-NEXT: result 0: (g*3+[0,2], [0,1], [0,2]) sum
  // CHECK: nn.conv_backward_filter {{.*}}nn.name = "groups"{{.*}} -> tensor<3x2x3xf32>
  %1 = nn.conv_backward_filter %x, %dy {nn.name = "groups", strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, groups = 2 : i64, test.degrees = {g = 2}} : (tensor<2x4x9xf32>, tensor<2x6x5xf32>) -> tensor<6x2x3xf32>
  return
}

// -----

// Tests that a tile of a pool's gradient reads x as far as the windows reach
// that cover it, and starts behind it.
func.func @pool(%x: tensor<2x4x9xf32>, %dy: tensor<2x4x4xf32>) {
  // CHECK-LABEL: pool: nn.max_pool_backward
  // CHECK-NEXT: loops: n=2 attribute c=4 attribute w=9 attribute
  // CHECK-NEXT: operand 0: (n, c, w+[-2,2])
  // CHECK-NEXT: operand 1: (n, c, floor((w+[-1,0])/2))
  // CHECK-NEXT: result 0: (n, c, w)
  // CHECK: task 1: reads [0:2, 0:4, 2:9] [0:2, 0:4, 1:4] writes [0:2, 0:4, 4:9]
  // CHECK: nn.max_pool_backward {{.*}}offsets = array<i64: 2>, pads_lo = array<i64: 0>
  %0 = nn.max_pool_backward %x, %dy {nn.name = "pool", kernel = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, test.degrees = {w = 2}} : (tensor<2x4x9xf32>, tensor<2x4x4xf32>) -> tensor<2x4x9xf32>
  return
}
