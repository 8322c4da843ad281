// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that a table is split by rows: a tile knows where it lies in the whole,
// its result is a part of a sum, and the key does not know where a tile lies.
func.func @gather() {
  %x = nn.parameter {nn.name = "table"} : tensor<7x4xf32> from #nn.init<0>
  %i = nn.input {nn.name = "ids"} : tensor<3x2xi64>
  // CHECK-LABEL: embedding: nn.gather
  // CHECK-NEXT: loops: d0=3 sample d1=2 attribute d2=4 parameter v=7 parameter
  // CHECK-NEXT: operand 0: (v, d2)
  // CHECK-NEXT: operand 1: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1, d2) sum
  // CHECK: task 1: reads [3:7, 0:4] [0:3, 0:2] writes [0:3, 0:2, 0:4] flops 0 bytes 208
  // CHECK-NEXT: key nn.gather axis=0 4x4xf32 3x2xi64 -> 3x2x4xf32
  // CHECK-NEXT: nn.gather {{.*}} {axis = 0 : i64, base = 3 : i64, nn.name = "embedding", table_size = 7 : i64}
  %0 = nn.gather %x, %i {nn.name = "embedding", axis = 0 : i64, test.degrees = {v = 2}} : (tensor<7x4xf32>, tensor<3x2xi64>) -> tensor<3x2x4xf32>
  return
}

// -----

// Tests that directions and samples of an LSTM are split, and that the second
// direction alone runs backwards.
func.func @lstm(%w: tensor<2x4x6x3xf32>, %r: tensor<2x4x6x6xf32>, %b: tensor<2x4x6xf32>, %s: tensor<2x4x6xf32>) {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 1>} : tensor<5x4x3xf32>
  // CHECK-LABEL: lstm: nn.lstm
  // CHECK-NEXT: loops: dir=2 attribute n=4 sample
  // CHECK-NEXT: operand 0: ([0,4], n, [0,2])
  // CHECK-NEXT: operand 1: (dir, [0,3], [0,5], [0,2])
  // CHECK-NEXT: operand 2: (dir, [0,3], [0,5], [0,5])
  // CHECK-NEXT: operand 3: (dir, [0,3], [0,5])
  // CHECK-NEXT: operand 4: (dir, n, [0,5])
  // CHECK-NEXT: operand 5: (dir, n, [0,5])
  // CHECK-NEXT: result 0: ([0,4], dir, n, [0,5])
  // CHECK-NEXT: result 1: (dir, n, [0,5])
  // CHECK: nn.lstm {{.*}} {nn.name = "lstm"}
  // CHECK: nn.lstm {{.*}} {nn.name = "lstm", reverse}
  %y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm", test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> (tensor<5x2x4x6xf32>, tensor<2x4x6xf32>)
  return
}

// -----

// Tests the shift rule of a transposed convolution: the pad of a tile is where
// its first element lies behind the first element of dy that it reads.
func.func @conv_backward_data(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x3xf32>, %b: tensor<3xf32>) {
  // CHECK-LABEL: up: nn.conv_backward_data
  // CHECK-NEXT: loops: n=1 attribute c=3 attribute w=7 attribute f=2 attribute
  // CHECK-NEXT: operand 0: (n, f, floor((w+[0,1])/2))
  // CHECK-NEXT: operand 1: (f, c, [0,2])
  // CHECK-NEXT: operand 2: (c) first only
  // CHECK-NEXT: result 0: (n, c, w) sum
  // CHECK: task 0: reads [0:1, 0:2, 0:2]
  // CHECK: task 1: reads [0:1, 0:2, 1:4]
  // CHECK-NEXT: key
  // CHECK-NEXT: nn.conv_backward_data {{.*}}pads_lo = array<i64: 2>
  %0 = nn.conv_backward_data %dy, %w bias %b {nn.name = "up", test.degrees = {w = 2}, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x7xf32>
  return
}

// -----

// Tests that repetitions are units, and that a resize shifts its offsets.
func.func @moves(%x: tensor<3x4xf32>, %y: tensor<8xf32>) {
  // CHECK-LABEL: tile: nn.tile
  // CHECK-NEXT: loops: d0=3 attribute d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, [0,3])
  // CHECK-NEXT: result 0: (d0, d1*4+[0,3])
  // CHECK: task 1: reads [0:3, 0:4] writes [0:3, 8:20]
  %0 = nn.tile %x {nn.name = "tile", test.degrees = {d1 = 2}} : (tensor<3x4xf32>) -> tensor<3x20xf32>
  // CHECK-LABEL: up: nn.resize
  // CHECK-NEXT: loops: d0=16 attribute
  // CHECK-NEXT: operand 0: (floor((d0*2+[-1,3])/4))
  // CHECK: task 1: reads [3:8] writes [8:16]
  // CHECK: nn.resize {{.*}}offsets = array<i64: 3>
  %1 = nn.resize %y {nn.name = "up", mode = #nn.resize_mode<linear>, numerators = array<i64: 2>, offsets = array<i64: -1>, denominators = array<i64: 4>, test.degrees = {d0 = 2}} : (tensor<8xf32>) -> tensor<16xf32>
  // CHECK-LABEL: down: nn.resize
  // CHECK-NEXT: loops: d0=4 attribute
  // CHECK-NEXT: operand 0: (d0*2+[0,1])
  %2 = nn.resize %y {nn.name = "down", mode = #nn.resize_mode<nearest>, numerators = array<i64: 2>, offsets = array<i64: 0>, denominators = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that operands of a choice that are broadcast use no loop.
func.func @where(%c: tensor<4x1xi1>, %a: tensor<f32>, %b: tensor<4x3xf32>) {
  // CHECK-LABEL: masked: nn.where
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, [0,0])
  // CHECK-NEXT: operand 1: ()
  // CHECK-NEXT: operand 2: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %0 = nn.where %c, %a, %b {nn.name = "masked"} : (tensor<4x1xi1>, tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// Tests that a layer norm is split before its axis, and that bias and scale are
// read by every task.
func.func @layer_norm(%x: tensor<4x6x8xf32>) {
  %s = nn.parameter {nn.name = "s"} : tensor<6x8xf32> from #nn.init<0>
  // CHECK-LABEL: norm: nn.layer_norm
  // CHECK-NEXT: loops: d0=4 attribute
  // CHECK-NEXT: operand 0: (d0, [0,5], [0,7])
  // CHECK-NEXT: operand 1: ([0,5], [0,7])
  // CHECK-NEXT: operand 2: ([0,5], [0,7])
  // CHECK-NEXT: result 0: (d0, [0,5], [0,7])
  %0 = nn.layer_norm %x, %s bias %s {nn.name = "norm", axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<4x6x8xf32>
  return
}

// -----

// Tests that operations per element have the loops of their result.
func.func @elements(%x: tensor<4x3xf32>, %c: tensor<3xf32>, %m: tensor<4x3xi1>, %s: tensor<1x3xf32>) {
  // CHECK-LABEL: pow: nn.pow
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %0 = nn.pow %x, %c {nn.name = "pow"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK-LABEL: less: nn.compare
  // CHECK: operand 1: (d1)
  %1 = nn.compare %x, %c {nn.name = "less", predicate = #nn.predicate<lt>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK-LABEL: expand: nn.expand
  // CHECK-NEXT: loops: d0=2 attribute d1=4 attribute d2=3 attribute
  // CHECK-NEXT: operand 0: ([0,0], d2)
  // CHECK-NEXT: result 0: (d0, d1, d2)
  %2 = nn.expand %s {nn.name = "expand"} : (tensor<1x3xf32>) -> tensor<2x4x3xf32>
  // CHECK-LABEL: cast: nn.cast
  // CHECK: operand 0: (d0, d1)
  // CHECK: key nn.cast 2x3xi1 -> 2x3xf32
  %3 = nn.cast %m {nn.name = "cast", test.degrees = {d0 = 2}} : (tensor<4x3xi1>) -> tensor<4x3xf32>
  // CHECK-LABEL: and: nn.and
  // CHECK: result 0: (d0, d1)
  %4 = nn.and %m, %m {nn.name = "and"} : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
  // CHECK-LABEL: or: nn.or
  // CHECK: result 0: (d0, d1)
  %5 = nn.or %m, %m {nn.name = "or"} : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
  // CHECK-LABEL: xor: nn.xor
  // CHECK: result 0: (d0, d1)
  %6 = nn.xor %m, %m {nn.name = "xor"} : (tensor<4x3xi1>, tensor<4x3xi1>) -> tensor<4x3xi1>
  // CHECK-LABEL: not: nn.not
  // CHECK: result 0: (d0, d1)
  %7 = nn.not %m {nn.name = "not"} : tensor<4x3xi1>
  // CHECK-LABEL: exp: nn.exp
  // CHECK: result 0: (d0, d1)
  %8 = nn.exp %x {nn.name = "exp"} : tensor<4x3xf32>
  // CHECK-LABEL: log: nn.log
  // CHECK: result 0: (d0, d1)
  %9 = nn.log %x {nn.name = "log"} : tensor<4x3xf32>
  // CHECK-LABEL: erf: nn.erf
  // CHECK: result 0: (d0, d1)
  %10 = nn.erf %x {nn.name = "erf"} : tensor<4x3xf32>
  // CHECK-LABEL: sin: nn.sin
  // CHECK: result 0: (d0, d1)
  %11 = nn.sin %x {nn.name = "sin"} : tensor<4x3xf32>
  // CHECK-LABEL: cos: nn.cos
  // CHECK: result 0: (d0, d1)
  %12 = nn.cos %x {nn.name = "cos"} : tensor<4x3xf32>
  // CHECK-LABEL: reciprocal: nn.reciprocal
  // CHECK: result 0: (d0, d1)
  %13 = nn.reciprocal %x {nn.name = "reciprocal"} : tensor<4x3xf32>
  // CHECK-LABEL: floor: nn.floor
  // CHECK: result 0: (d0, d1)
  %14 = nn.floor %x {nn.name = "floor"} : tensor<4x3xf32>
  // CHECK-LABEL: ceil: nn.ceil
  // CHECK: result 0: (d0, d1)
  %15 = nn.ceil %x {nn.name = "ceil"} : tensor<4x3xf32>
  // CHECK-LABEL: round: nn.round
  // CHECK: result 0: (d0, d1)
  %16 = nn.round %x {nn.name = "round"} : tensor<4x3xf32>
  // CHECK-LABEL: neg: nn.neg
  // CHECK: result 0: (d0, d1)
  %17 = nn.neg %x {nn.name = "neg"} : tensor<4x3xf32>
  // CHECK-LABEL: abs: nn.abs
  // CHECK: result 0: (d0, d1)
  %18 = nn.abs %x {nn.name = "abs"} : tensor<4x3xf32>
  // CHECK-LABEL: gelu: nn.gelu
  // CHECK: result 0: (d0, d1)
  %19 = nn.gelu %x {nn.name = "gelu"} : tensor<4x3xf32>
  return
}
