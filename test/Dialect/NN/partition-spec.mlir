// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests the ends of the graph: loops are the dimensions, kinds start here, and
// local operations know their box.
func.func @ends() {
  // CHECK-LABEL: data: nn.input
  // CHECK-NEXT: loops: d0=4 sample d1=6 attribute
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: nn.input {global_shape = array<i64: 4, 6>, nn.name = "data", offsets = array<i64: 2, 0>} : tensor<2x6xf32>
  %x = nn.input {nn.name = "data", test.degrees = {d0 = 2}} : tensor<4x6xf32>
  // CHECK-LABEL: w: nn.parameter
  // CHECK-NEXT: loops: d0=5 parameter d1=6 parameter
  // CHECK: task 1: reads writes [2:5, 0:6] flops 0
  // CHECK: nn.parameter {global_shape = array<i64: 5, 6>, nn.name = "w", offsets = array<i64: 2, 0>} : tensor<3x6xf32> from #nn.file<"m", 0, 120>
  %w = nn.parameter {nn.name = "w", test.degrees = {d0 = 2}} : tensor<5x6xf32> from #nn.file<"m", 0, 120>
  // CHECK-LABEL: part: nn.parameter
  // CHECK: task 1:
  // CHECK: nn.parameter {global_shape = array<i64: 5, 6>, nn.name = "part", offsets = array<i64: 2, 3>} : tensor<2x3xf32>
  %p = nn.parameter {nn.name = "part", offsets = array<i64: 2, 0>, global_shape = array<i64: 5, 6>, test.degrees = {d1 = 2}} : tensor<2x6xf32> from #nn.init<0>
  // CHECK-LABEL: c: nn.constant
  // CHECK: nn.constant dense<1> : tensor<1x2xi64>
  // CHECK: nn.constant dense<{{\[}}[2, 3], [4, 5]]> : tensor<2x2xi64>
  %c = nn.constant dense<[[1, 1], [2, 3], [4, 5]]> : tensor<3x2xi64> {nn.name = "c", test.degrees = {d0 = 2}}
  // CHECK-LABEL: y: nn.output
  // CHECK-NEXT: loops: d0=4 sample d1=6 attribute
  // CHECK: nn.output %arg0 {global_shape = array<i64: 4, 6>, nn.name = "y", offsets = array<i64: 0, 3>} : tensor<4x3xf32>
  nn.output %x {nn.name = "y", test.degrees = {d1 = 2}} : tensor<4x6xf32>
  return
}

// -----

// Tests a convolution: pads follow the shift rule, the bias is read by the
// first part only, the key does not know where a tile lies.
func.func @conv() {
  %x = nn.input {nn.name = "x"} : tensor<4x3x9x7xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6x3x3x3xf32> from #nn.init<0>
  %b = nn.parameter {nn.name = "b"} : tensor<6xf32> from #nn.init<1>
  // CHECK-LABEL: conv: nn.conv
  // CHECK-NEXT: loops: n=4 sample f=6 parameter h=5 attribute w=7 attribute c=3 parameter reduction
  // CHECK-NEXT: operand 0: (n, c, h*2+[-1,1], w+[0,2])
  // CHECK-NEXT: operand 1: (f, c, [0,2], [0,2])
  // CHECK-NEXT: operand 2: (f) first only
  // CHECK-NEXT: result 0: (n, f, h, w) sum
  // CHECK-NEXT: task 0: reads [0:4, 0:1, 0:4, 0:7] [0:6, 0:1, 0:3, 0:3] [0:6] writes [0:4, 0:6, 0:2, 0:7] flops 6048 bytes 2032
  // CHECK-NEXT: key nn.conv dilations=1x1 groups=1 strides=2x1 4x1x4x7xf32 6x1x3x3xf32 6xf32 -> 4x6x2x7xf32
  // CHECK-NEXT: nn.conv %arg0, %arg1 bias %arg2 {{{.*}}pads_hi = array<i64: 0, 2>, pads_lo = array<i64: 1, 0>
  // CHECK-NEXT: task 1: reads [0:4, 1:3, 0:4, 0:7] [0:6, 1:3, 0:3, 0:3] none writes [0:4, 0:6, 0:2, 0:7]
  // CHECK-NEXT: key
  // CHECK-NEXT: nn.conv %arg0, %arg1 {{{.*}}pads_hi = array<i64: 0, 2>, pads_lo = array<i64: 1, 0>
  // CHECK-NEXT: task 2: reads [0:4, 0:1, 3:9, 0:7]
  // CHECK-NEXT: key
  // CHECK-NEXT: nn.conv {{.*}}pads_hi = array<i64: 1, 2>, pads_lo = array<i64: 0, 0>
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", test.degrees = {h = 2, c = 2}, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 2>} : (tensor<4x3x9x7xf32>, tensor<6x3x3x3xf32>, tensor<6xf32>) -> tensor<4x6x5x7xf32>
  // CHECK-LABEL: next: nn.relu
  // CHECK-NEXT: loops: d0=4 sample d1=6 attribute d2=5 attribute d3=7 attribute
  %1 = nn.relu %0 {nn.name = "next"} : tensor<4x6x5x7xf32>
  return
}

// -----

// Tests that groups are the units of a grouped convolution, and that a tile
// counts its own.
func.func @groups(%x: tensor<1x6x4xf32>, %w: tensor<9x2x3xf32>) {
  // CHECK-LABEL: conv: nn.conv
  // CHECK-NEXT: loops: n=1 attribute g=3 attribute w=4 attribute
  // CHECK-NEXT: operand 0: (n, g*2+[0,1], w+[-1,1])
  // CHECK-NEXT: operand 1: (g*3+[0,2], [0,1], [0,2])
  // CHECK-NEXT: result 0: (n, g*3+[0,2], w)
  // CHECK-NEXT: task 0: reads [0:1, 0:2, 0:4] [0:3, 0:2, 0:3] writes [0:1, 0:3, 0:4]
  // CHECK-NEXT: key nn.conv dilations=1 groups=1 strides=1 1x2x4xf32 3x2x3xf32 -> 1x3x4xf32
  // CHECK: task 1: reads [0:1, 2:6, 0:4] [3:9, 0:2, 0:3] writes [0:1, 3:9, 0:4]
  // CHECK-NEXT: key nn.conv dilations=1 groups=2 strides=1
  // CHECK-NEXT: nn.conv {{.*}}groups = 2
  %0 = nn.conv %x, %w {nn.name = "conv", test.degrees = {g = 2}, groups = 3 : i64, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>} : (tensor<1x6x4xf32>, tensor<9x2x3xf32>) -> tensor<1x9x4xf32>
  return
}

// -----

// Tests that a tile whose windows all lie in the padding is the bias alone.
func.func @padding(%x: tensor<1x2x2xf32>, %w: tensor<3x2x2xf32>, %b: tensor<3xf32>) {
  // CHECK-LABEL: conv: nn.conv
  // CHECK: task 0: reads none [0:3, 0:2, 0:2] [0:3] writes [0:1, 0:3, 0:2] flops 0
  // CHECK: nn.constant dense<0.000000e+00> : tensor<1x3x2xf32> {nn.name = "conv.zero"}
  // CHECK-NEXT: nn.reshape %{{.*}} {nn.name = "conv.bias"} : (tensor<3xf32>) -> tensor<1x3x1xf32>
  // CHECK-NEXT: nn.add %{{.*}}, %{{.*}} {nn.name = "conv"}
  // CHECK-NEXT: task 1: reads [0:1, 0:2, 0:2]
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", test.degrees = {w = 3}, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 3>, pads_hi = array<i64: 2>} : (tensor<1x2x2xf32>, tensor<3x2x2xf32>, tensor<3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

// Tests batch dimensions that broadcast and operands that are transposed.
func.func @matmul(%a: tensor<3x1x5x8xf32>, %b: tensor<2x6x8xf32>, %c: tensor<6xf32>) {
  // CHECK-LABEL: mm: nn.matmul
  // CHECK-NEXT: loops: b0=3 attribute b1=2 attribute n=5 attribute f=6 attribute k=8 attribute reduction
  // CHECK-NEXT: operand 0: (b0, [0,0], n, k)
  // CHECK-NEXT: operand 1: (b1, f, k)
  // CHECK-NEXT: operand 2: (f) first only
  // CHECK-NEXT: result 0: (b0, b1, n, f) sum
  // CHECK-NEXT: task 0: reads [0:3, 0:1, 0:5, 0:4] [0:2, 0:3, 0:4] [0:3] writes [0:3, 0:2, 0:5, 0:3] flops 720
  // CHECK-NEXT: key nn.matmul alpha=2.000000e+00 transpose_b=1
  %0 = nn.matmul %a, %b bias %c {nn.name = "mm", transpose_b, alpha = 2.0 : f32, test.degrees = {f = 2, k = 2}} : (tensor<3x1x5x8xf32>, tensor<2x6x8xf32>, tensor<6xf32>) -> tensor<3x2x5x6xf32>
  return
}

// -----

// Tests pools: counted pads of a tile are those that its windows reach.
func.func @pools(%x: tensor<1x2x6xf32>) {
  // CHECK-LABEL: max: nn.max_pool
  // CHECK-NEXT: loops: n=1 attribute c=2 attribute w=3 attribute
  // CHECK-NEXT: operand 0: (n, c, w*2+[-1,1])
  // CHECK-NEXT: result 0: (n, c, w)
  %0 = nn.max_pool %x {nn.name = "max", kernel = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 0>} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  // CHECK-LABEL: avg: nn.avg_pool
  // CHECK: task 0:
  // CHECK: counted_hi = array<i64: 0>, counted_lo = array<i64: 1>, {{.*}}pads_hi = array<i64: 0>, pads_lo = array<i64: 1>
  // CHECK: task 1:
  // CHECK: counted_hi = array<i64: 0>, counted_lo = array<i64: 0>, {{.*}}pads_hi = array<i64: 0>, pads_lo = array<i64: 0>
  // CHECK: task 2:
  // CHECK: counted_hi = array<i64: 1>, counted_lo = array<i64: 0>, {{.*}}pads_hi = array<i64: 2>, pads_lo = array<i64: 0>
  %1 = nn.avg_pool %x {nn.name = "avg", test.degrees = {w = 3}, kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 2>, counted_lo = array<i64: 1>, counted_hi = array<i64: 1>} : (tensor<1x2x6xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

// Tests that a mean keeps the scale of the whole, and the combiner of a kind.
func.func @reduce(%x: tensor<2x3x4xf32>) {
  // CHECK-LABEL: mean: nn.reduce
  // CHECK-NEXT: loops: d0=2 attribute d1=3 attribute reduction d2=4 attribute
  // CHECK-NEXT: operand 0: (d0, d1, d2)
  // CHECK-NEXT: result 0: (d0, [0,0], d2) sum
  // CHECK: task 2:
  // CHECK-NEXT: key nn.reduce axes=1 keepdims=true kind=sum scale=0.333333343 2x1x4xf32 -> 2x1x4xf32
  // CHECK-NEXT: nn.reduce {{.*}}scale = 0.333333343
  %0 = nn.reduce %x {nn.name = "mean", test.degrees = {d1 = 3}, kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = true, scale = 0.333333343 : f32} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  // CHECK-LABEL: max: nn.reduce
  // CHECK: result 0: (d1) max
  %1 = nn.reduce %x {nn.name = "max", kind = #nn.reduce_kind<max>, axes = array<i64: 0, 2>, keepdims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  return
}

// -----

// Tests normalisations: a tile of an LRN computes its halo, then crops.
func.func @norms(%x: tensor<2x6x4xf32>, %c: tensor<6xf32>) {
  // CHECK-LABEL: bn: nn.batch_norm
  // CHECK-NEXT: loops: n=2 attribute c=6 attribute w=4 attribute
  // CHECK-NEXT: operand 0: (n, c, w)
  // CHECK-NEXT: operand 1: (c)
  %0 = nn.batch_norm %x, %c, %c, %c, %c {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x6x4xf32>, tensor<6xf32>
  // CHECK-LABEL: lrn: nn.lrn
  // CHECK: operand 0: (n, c+[-1,2], w)
  // CHECK: task 1: reads [0:2, 1:6, 0:4] writes [0:2, 2:4, 0:4]
  // CHECK-NEXT: key nn.lrn {{.*}}2x5x4xf32 -> 2x5x4xf32
  // CHECK-NEXT: nn.lrn %arg0 {{.*}}nn.name = "lrn.halo"{{.*}} : tensor<2x5x4xf32>
  // CHECK-NEXT: nn.slice {{.*}}nn.name = "lrn", starts = array<i64: 0, 1, 0>{{.*}} -> tensor<2x2x4xf32>
  %1 = nn.lrn %x {nn.name = "lrn", test.degrees = {c = 3}, size = 4 : i64, alpha = 1.0e-04 : f32, beta = 0.75 : f32, bias = 1.0 : f32} : tensor<2x6x4xf32>
  // CHECK-LABEL: prob: nn.softmax
  // CHECK-NEXT: loops: d0=2 attribute d2=4 attribute
  // CHECK-NEXT: operand 0: (d0, [0,5], d2)
  // CHECK-NEXT: result 0: (d0, [0,5], d2)
  %2 = nn.softmax %x {nn.name = "prob", axis = 1 : i64} : tensor<2x6x4xf32>
  return
}

// -----

// Tests that a dimension that is broadcast uses no loop.
func.func @elementwise(%a: tensor<8x1x5xf32>, %b: tensor<4x5xf32>) {
  // CHECK-LABEL: add: nn.add
  // CHECK-NEXT: loops: d0=8 attribute d1=4 attribute d2=5 attribute
  // CHECK-NEXT: operand 0: (d0, [0,0], d2)
  // CHECK-NEXT: operand 1: (d1, d2)
  // CHECK-NEXT: result 0: (d0, d1, d2)
  // CHECK: task 7: reads [4:8, 0:1, 2:5] [2:4, 2:5] writes [4:8, 2:4, 2:5] flops 24
  %0 = nn.add %a, %b {nn.name = "add", test.degrees = {d0 = 2, d1 = 2, d2 = 2}} : (tensor<8x1x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  return
}

// -----

// Tests operations that move elements.
func.func @shapes(%x: tensor<2x4x6xf32>, %y: tensor<2x2x6xf32>) {
  // CHECK-LABEL: concat: nn.concat
  // CHECK: operand 0: (d0, d1, d2)
  // CHECK-NEXT: operand 1: (d0, d1-4, d2)
  // CHECK: task 0: reads [0:2, 0:3, 0:6] none writes
  // CHECK: nn.concat %arg0 {axis = 1 : i64, {{.*}} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  // CHECK: task 1: reads [0:2, 3:4, 0:6] [0:2, 0:2, 0:6]
  %0 = nn.concat %x, %y {nn.name = "concat", test.degrees = {d1 = 2}, axis = 1 : i64} : (tensor<2x4x6xf32>, tensor<2x2x6xf32>) -> tensor<2x6x6xf32>
  // CHECK-LABEL: slice: nn.slice
  // CHECK: operand 0: (d0, d1*2+1, d2*-3+5)
  // CHECK: task 0: reads [0:2, 1:4, 5:6]
  // CHECK: starts = array<i64: 0, 0, 0>
  // CHECK: task 1: reads [0:2, 1:4, 2:3]
  // CHECK: starts = array<i64: 0, 0, 0>
  %1 = nn.slice %x {nn.name = "slice", test.degrees = {d2 = 2}, starts = array<i64: 0, 1, 5>, steps = array<i64: 1, 2, -3>} : (tensor<2x4x6xf32>) -> tensor<2x2x2xf32>
  // CHECK-LABEL: pad: nn.pad
  // CHECK: operand 0: (d0, d1, d2-4)
  // CHECK: task 0: reads none writes [0:2, 0:4, 0:3]
  // CHECK: nn.constant dense<-1.000000e+00> : tensor<2x4x3xf32> {nn.name = "pad"}
  // CHECK: task 1: reads [0:2, 0:4, 0:3]
  // CHECK: nn.pad {{.*}}pads_hi = array<i64: 0, 0, 0>, pads_lo = array<i64: 0, 0, 1>
  %2 = nn.pad %x {nn.name = "pad", test.degrees = {d2 = 3}, pads_lo = array<i64: 0, 0, 4>, pads_hi = array<i64: 0, 0, 1>, value = -1.0 : f32} : (tensor<2x4x6xf32>) -> tensor<2x4x11xf32>
  // CHECK-LABEL: transpose: nn.transpose
  // CHECK: operand 0: (d1, d2, d0)
  %3 = nn.transpose %x {nn.name = "transpose", permutation = array<i64: 2, 0, 1>} : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
  return
}

// -----

// Tests the groups of dimensions of a reshape.
func.func @reshape(%x: tensor<6x4xf32>, %y: tensor<2x1x3x4x5xf32>, %z: tensor<1x1xf32>) {
  // CHECK-LABEL: regroup: nn.reshape
  // CHECK-NEXT: loops: d0=2 attribute
  // CHECK-NEXT: operand 0: (d0*3+[0,2], [0,3])
  // CHECK-NEXT: result 0: (d0*4+[0,3], [0,2])
  %0 = nn.reshape %x {nn.name = "regroup"} : (tensor<6x4xf32>) -> tensor<8x3xf32>
  // CHECK-LABEL: flatten: nn.reshape
  // CHECK-NEXT: loops: d0=2 attribute d1=3 attribute d2=5 attribute
  // CHECK-NEXT: operand 0: (d0, [0,0], d1, [0,3], d2)
  // CHECK-NEXT: result 0: (d0, d1*4+[0,3], d2, [0,0])
  %1 = nn.reshape %y {nn.name = "flatten"} : (tensor<2x1x3x4x5xf32>) -> tensor<2x12x5x1xf32>
  // CHECK-LABEL: scalar: nn.reshape
  // CHECK-NEXT: loops:{{$}}
  // CHECK-NEXT: operand 0: ([0,0], [0,0])
  // CHECK-NEXT: result 0: ()
  %2 = nn.reshape %z {nn.name = "scalar"} : (tensor<1x1xf32>) -> tensor<f32>
  return
}

// -----

// Tests that windows smaller than the stride leave no gaps: the tiles read all
// of the input, so that none has to cut it out of a shard.
func.func @stride_skips() {
  %x = nn.input {nn.name = "x"} : tensor<1x2x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3x2x1xf32> from #nn.file<"m", 0, 24>
  // CHECK-LABEL: conv: nn.conv
  // CHECK: operand 0: (n, c, w*2+[0,1])
  // CHECK: task 0: reads [0:1, 0:2, 0:4]
  // CHECK: nn.conv {{.*}}pads_hi = array<i64: 0>, pads_lo = array<i64: 0>{{.*}} (tensor<1x2x4xf32>, tensor<3x2x1xf32>) -> tensor<1x3x2xf32>
  // CHECK: task 1: reads [0:1, 0:2, 4:8]
  %0 = nn.conv %x, %w {nn.name = "conv", test.degrees = {w = 2}, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x2x8xf32>, tensor<3x2x1xf32>) -> tensor<1x3x4xf32>
  return
}
