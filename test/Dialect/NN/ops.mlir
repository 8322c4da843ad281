// Tests that every operation survives a round trip, in its own and in the
// generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @ends
func.func @ends() {
  // CHECK: nn.input {nn.name = "a"} : tensor<2x3xf32>
  %a = nn.input {nn.name = "a"} : tensor<2x3xf32>
  // CHECK: nn.input {index_bound = 10 : i64, nn.name = "i", sample_dims = array<i64: 1>} : tensor<4x2xi64>
  %i = nn.input {nn.name = "i", sample_dims = array<i64: 1>, index_bound = 10 : i64} : tensor<4x2xi64>
  // CHECK: nn.input {global_shape = array<i64: 4, 3>, nn.name = "tile", offsets = array<i64: 2, 0>} : tensor<2x3xf32>
  %t = nn.input {nn.name = "tile", offsets = array<i64: 2, 0>, global_shape = array<i64: 4, 3>} : tensor<2x3xf32>
  // CHECK: nn.parameter {nn.name = "file"} : tensor<2x3xf32> from #nn.file<"model.onnx", 16, 24>
  %0 = nn.parameter {nn.name = "file"} : tensor<2x3xf32> from #nn.file<"model.onnx", 16, 24>
  // CHECK: nn.parameter {global_shape = array<i64: 2, 3>, nn.name = "part", offsets = array<i64: 1, 0>} : tensor<1x3xf32> from #nn.file<"model.onnx", 16, 24>
  %1 = nn.parameter {nn.name = "part", offsets = array<i64: 1, 0>, global_shape = array<i64: 2, 3>} : tensor<1x3xf32> from #nn.file<"model.onnx", 16, 24>
  // CHECK: nn.parameter {nn.name = "splat"} : tensor<2x3xf32> from #nn.splat<1.500000e+00 : f32>
  %2 = nn.parameter {nn.name = "splat"} : tensor<2x3xf32> from #nn.splat<1.5 : f32>
  // CHECK: nn.parameter {nn.name = "normal"} : tensor<2x3xf32> from #nn.random<7, "w", normal, 0.000000e+00, 1.000000e-01>
  %3 = nn.parameter {nn.name = "normal"} : tensor<2x3xf32> from #nn.random<7, "w", normal, 0.0, 0.1>
  // CHECK: nn.parameter {nn.name = "uniform"} : tensor<2x3xf32> from #nn.random<18446744073709551615, "w", uniform, -5.000000e-01, 1.500000e+00>
  %4 = nn.parameter {nn.name = "uniform"} : tensor<2x3xf32> from #nn.random<18446744073709551615, "w", uniform, -0.5, 1.5>
  // CHECK: nn.parameter {nn.name = "init"} : tensor<2x3xf32> from #nn.init<2>
  %5 = nn.parameter {nn.name = "init"} : tensor<2x3xf32> from #nn.init<2>
  // CHECK: nn.constant dense<[1, 2]> : tensor<2xi64> {nn.name = "c"}
  %6 = nn.constant dense<[1, 2]> : tensor<2xi64> {nn.name = "c"}
  // CHECK: nn.constant dense<2.000000e+00> : tensor<f32> {nn.name = "scalar"}
  %7 = nn.constant dense<2.0> : tensor<f32> {nn.name = "scalar"}
  // CHECK: nn.output %{{.*}} {nn.name = "y"} : tensor<2x3xf32>
  nn.output %a {nn.name = "y"} : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%x: tensor<2x4x9x7xf32>, %w: tensor<6x4x3x3xf32>,
                        %g: tensor<6x2x3x3xf32>, %b: tensor<6xf32>,
                        %l: tensor<2x4x9xf32>, %wl: tensor<6x4x3xf32>,
                        %m: tensor<5x8xf32>, %n: tensor<8x6xf32>, %t: tensor<6x8xf32>,
                        %p: tensor<3x1x5x8xf32>, %q: tensor<2x6x8xf32>) {
  // CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, nn.name = "conv", pads_hi = array<i64: 1, 2>, pads_lo = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<2x4x9x7xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x5x7xf32>
  %0 = nn.conv %x, %w bias %b {nn.name = "conv", strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 2>} : (tensor<2x4x9x7xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>) -> tensor<2x6x5x7xf32>
  // CHECK: nn.conv %{{.*}}, %{{.*}} {dilations = array<i64: 2, 2>, groups = 2 : i64, nn.name = "grouped"
  %1 = nn.conv %x, %g {nn.name = "grouped", groups = 2 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x4x9x7xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x3xf32>
  // CHECK: nn.conv {{.*}} -> tensor<2x6x7xf32>
  %2 = nn.conv %l, %wl {nn.name = "conv1d", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} bias %{{.*}} {nn.name = "gemm"} : (tensor<5x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  %3 = nn.matmul %m, %n bias %b {nn.name = "gemm"} : (tensor<5x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {alpha = 5.000000e-01 : f32, nn.name = "transposed", transpose_a, transpose_b} : (tensor<8x6xf32>, tensor<5x8xf32>) -> tensor<6x5xf32>
  %4 = nn.matmul %n, %m {nn.name = "transposed", transpose_a, transpose_b, alpha = 0.5 : f32} : (tensor<8x6xf32>, tensor<5x8xf32>) -> tensor<6x5xf32>
  // CHECK: nn.matmul {{.*}} -> tensor<3x2x5x6xf32>
  %5 = nn.matmul %p, %q {nn.name = "batched", transpose_b} : (tensor<3x1x5x8xf32>, tensor<2x6x8xf32>) -> tensor<3x2x5x6xf32>
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<2x4x9x7xf32>, %c: tensor<4xf32>) {
  // CHECK: nn.max_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, nn.name = "max", pads_hi = array<i64: 1, 0>, pads_lo = array<i64: 0, 1>, strides = array<i64: 2, 2>} : (tensor<2x4x9x7xf32>) -> tensor<2x4x4x4xf32>
  %0 = nn.max_pool %x {nn.name = "max", kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 1>, pads_hi = array<i64: 1, 0>} : (tensor<2x4x9x7xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: nn.avg_pool %{{.*}} {counted_hi = array<i64: 0, 0>, counted_lo = array<i64: 0, 1>
  %1 = nn.avg_pool %x {nn.name = "avg", kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 1>, pads_hi = array<i64: 1, 0>, counted_lo = array<i64: 0, 1>, counted_hi = array<i64: 0, 0>} : (tensor<2x4x9x7xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: nn.reduce %{{.*}} {axes = array<i64: 2, 3>, keepdims = true, kind = #nn.reduce_kind<sum>, nn.name = "mean", scale = 2.500000e-01 : f32} : (tensor<2x4x9x7xf32>) -> tensor<2x4x1x1xf32>
  %2 = nn.reduce %x {nn.name = "mean", kind = #nn.reduce_kind<sum>, axes = array<i64: 2, 3>, keepdims = true, scale = 0.25 : f32} : (tensor<2x4x9x7xf32>) -> tensor<2x4x1x1xf32>
  // CHECK: nn.reduce %{{.*}} {axes = array<i64: 0>, keepdims = false, kind = #nn.reduce_kind<max>, nn.name = "maximum"} : (tensor<2x4x9x7xf32>) -> tensor<4x9x7xf32>
  %3 = nn.reduce %x {nn.name = "maximum", kind = #nn.reduce_kind<max>, axes = array<i64: 0>, keepdims = false} : (tensor<2x4x9x7xf32>) -> tensor<4x9x7xf32>
  // CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 9.99999974E-6 : f32, nn.name = "bn"} : tensor<2x4x9x7xf32>, tensor<4xf32>
  %4 = nn.batch_norm %x, %c, %c, %c, %c {nn.name = "bn", epsilon = 1.0e-05 : f32} : tensor<2x4x9x7xf32>, tensor<4xf32>
  // CHECK: nn.lrn %{{.*}} {alpha = 9.99999974E-5 : f32, beta = 7.500000e-01 : f32, bias = 1.000000e+00 : f32, nn.name = "lrn", size = 5 : i64} : tensor<2x4x9x7xf32>
  %5 = nn.lrn %x {nn.name = "lrn", size = 5 : i64, alpha = 1.0e-04 : f32, beta = 0.75 : f32, bias = 1.0 : f32} : tensor<2x4x9x7xf32>
  // CHECK: nn.softmax %{{.*}} {axis = 1 : i64, nn.name = "prob"} : tensor<2x4x9x7xf32>
  %6 = nn.softmax %x {nn.name = "prob", axis = 1 : i64} : tensor<2x4x9x7xf32>
  return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<8x1x5xf32>, %b: tensor<4x5xf32>, %x: tensor<8x4x5xf32>) {
  // CHECK: nn.add %{{.*}}, %{{.*}} {nn.name = "add"} : (tensor<8x1x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  %0 = nn.add %a, %b {nn.name = "add"} : (tensor<8x1x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.sub
  %1 = nn.sub %x, %b {nn.name = "sub"} : (tensor<8x4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.mul
  %2 = nn.mul %x, %b {nn.name = "mul"} : (tensor<8x4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.div
  %3 = nn.div %x, %b {nn.name = "div"} : (tensor<8x4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.max
  %4 = nn.max %x, %b {nn.name = "max"} : (tensor<8x4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.min
  %5 = nn.min %x, %b {nn.name = "min"} : (tensor<8x4x5xf32>, tensor<4x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: nn.relu %{{.*}} {nn.name = "relu"} : tensor<8x4x5xf32>
  %6 = nn.relu %x {nn.name = "relu"} : tensor<8x4x5xf32>
  // CHECK: nn.sigmoid %{{.*}} {nn.name = "sigmoid"} : tensor<8x4x5xf32>
  %7 = nn.sigmoid %x {nn.name = "sigmoid"} : tensor<8x4x5xf32>
  // CHECK: nn.tanh %{{.*}} {nn.name = "tanh"} : tensor<8x4x5xf32>
  %8 = nn.tanh %x {nn.name = "tanh"} : tensor<8x4x5xf32>
  // CHECK: nn.sqrt %{{.*}} {nn.name = "sqrt"} : tensor<8x4x5xf32>
  %9 = nn.sqrt %x {nn.name = "sqrt"} : tensor<8x4x5xf32>
  // CHECK: nn.clip %{{.*}} {max = 6.000000e+00 : f32, min = 0xFF800000 : f32, nn.name = "clip"} : tensor<8x4x5xf32>
  %10 = nn.clip %x {nn.name = "clip", min = 0xFF800000 : f32, max = 6.0 : f32} : tensor<8x4x5xf32>
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x4x6xf32>, %y: tensor<2x3x6xf32>) {
  // CHECK: nn.concat %{{.*}}, %{{.*}} {axis = 1 : i64, nn.name = "concat"} : (tensor<2x4x6xf32>, tensor<2x3x6xf32>) -> tensor<2x7x6xf32>
  %0 = nn.concat %x, %y {nn.name = "concat", axis = 1 : i64} : (tensor<2x4x6xf32>, tensor<2x3x6xf32>) -> tensor<2x7x6xf32>
  // CHECK: nn.slice %{{.*}} {nn.name = "slice", starts = array<i64: 0, 1, 5>, steps = array<i64: 1, 2, -3>} : (tensor<2x4x6xf32>) -> tensor<2x2x2xf32>
  %1 = nn.slice %x {nn.name = "slice", starts = array<i64: 0, 1, 5>, steps = array<i64: 1, 2, -3>} : (tensor<2x4x6xf32>) -> tensor<2x2x2xf32>
  // CHECK: nn.pad %{{.*}} {nn.name = "pad", pads_hi = array<i64: 0, 1, 0>, pads_lo = array<i64: 0, 0, 2>, value = -1.000000e+00 : f32} : (tensor<2x4x6xf32>) -> tensor<2x5x8xf32>
  %2 = nn.pad %x {nn.name = "pad", pads_lo = array<i64: 0, 0, 2>, pads_hi = array<i64: 0, 1, 0>, value = -1.0 : f32} : (tensor<2x4x6xf32>) -> tensor<2x5x8xf32>
  // CHECK: nn.reshape %{{.*}} {nn.name = "reshape"} : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %3 = nn.reshape %x {nn.name = "reshape"} : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  // CHECK: nn.transpose %{{.*}} {nn.name = "transpose", permutation = array<i64: 2, 0, 1>} : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
  %4 = nn.transpose %x {nn.name = "transpose", permutation = array<i64: 2, 0, 1>} : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
  return
}

// CHECK-LABEL: func.func @choices
func.func @choices(%a: tensor<8x1xi64>, %b: tensor<4xi64>, %m: tensor<8x4xi1>, %x: tensor<8x4xf32>, %s: tensor<f32>) {
  // CHECK: nn.compare %{{.*}}, %{{.*}} {nn.name = "less", predicate = #nn.predicate<lt>} : (tensor<8x1xi64>, tensor<4xi64>) -> tensor<8x4xi1>
  %0 = nn.compare %a, %b {nn.name = "less", predicate = #nn.predicate<lt>} : (tensor<8x1xi64>, tensor<4xi64>) -> tensor<8x4xi1>
  // CHECK: nn.where %{{.*}}, %{{.*}}, %{{.*}} {nn.name = "where"} : (tensor<8x4xi1>, tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.where %m, %s, %x {nn.name = "where"} : (tensor<8x4xi1>, tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.and %{{.*}}, %{{.*}} {nn.name = "and"} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
  %2 = nn.and %m, %m {nn.name = "and"} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
  // CHECK: nn.or
  %3 = nn.or %m, %m {nn.name = "or"} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
  // CHECK: nn.xor
  %4 = nn.xor %m, %m {nn.name = "xor"} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
  // CHECK: nn.not %{{.*}} {nn.name = "not"} : tensor<8x4xi1>
  %5 = nn.not %m {nn.name = "not"} : tensor<8x4xi1>
  // CHECK: nn.pow %{{.*}}, %{{.*}} {nn.name = "pow"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %6 = nn.pow %x, %s {nn.name = "pow"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // CHECK: nn.cast %{{.*}} {nn.name = "cast"} : (tensor<8x1xi64>) -> tensor<8x1xf32>
  %7 = nn.cast %a {nn.name = "cast"} : (tensor<8x1xi64>) -> tensor<8x1xf32>
  // CHECK: nn.expand %{{.*}} {nn.name = "expand"} : (tensor<8x1xi64>) -> tensor<3x8x4xi64>
  %8 = nn.expand %a {nn.name = "expand"} : (tensor<8x1xi64>) -> tensor<3x8x4xi64>
  return
}

// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<8x4xf32>, %i: tensor<8x4xi64>) {
  // CHECK: nn.exp %{{.*}} {nn.name = "exp"} : tensor<8x4xf32>
  %0 = nn.exp %x {nn.name = "exp"} : tensor<8x4xf32>
  // CHECK: nn.log
  %1 = nn.log %x {nn.name = "log"} : tensor<8x4xf32>
  // CHECK: nn.erf
  %2 = nn.erf %x {nn.name = "erf"} : tensor<8x4xf32>
  // CHECK: nn.sin
  %3 = nn.sin %x {nn.name = "sin"} : tensor<8x4xf32>
  // CHECK: nn.cos
  %4 = nn.cos %x {nn.name = "cos"} : tensor<8x4xf32>
  // CHECK: nn.reciprocal
  %5 = nn.reciprocal %x {nn.name = "reciprocal"} : tensor<8x4xf32>
  // CHECK: nn.floor
  %6 = nn.floor %x {nn.name = "floor"} : tensor<8x4xf32>
  // CHECK: nn.ceil
  %7 = nn.ceil %x {nn.name = "ceil"} : tensor<8x4xf32>
  // CHECK: nn.round
  %8 = nn.round %x {nn.name = "round"} : tensor<8x4xf32>
  // CHECK: nn.neg %{{.*}} {nn.name = "neg"} : tensor<8x4xi64>
  %9 = nn.neg %i {nn.name = "neg"} : tensor<8x4xi64>
  // CHECK: nn.abs
  %10 = nn.abs %x {nn.name = "abs"} : tensor<8x4xf32>
  // CHECK: nn.gelu %{{.*}} {approximate, nn.name = "gelu"} : tensor<8x4xf32>
  %11 = nn.gelu %x {nn.name = "gelu", approximate} : tensor<8x4xf32>
  // CHECK: nn.softmax %{{.*}} {axis = 1 : i64, log, nn.name = "log_softmax"} : tensor<8x4xf32>
  %12 = nn.softmax %x {nn.name = "log_softmax", axis = 1 : i64, log} : tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @lookups
func.func @lookups(%table: tensor<10x6xf32>, %i: tensor<2x3xi64>, %x: tensor<2x3x4xf32>, %s: tensor<4xf32>) {
  // CHECK: nn.gather %{{.*}}, %{{.*}} {axis = 0 : i64, nn.name = "gather"} : (tensor<10x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  %0 = nn.gather %table, %i {nn.name = "gather", axis = 0 : i64} : (tensor<10x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  // CHECK: nn.gather %{{.*}}, %{{.*}} {axis = 0 : i64, base = 5 : i64, nn.name = "part", table_size = 20 : i64}
  %1 = nn.gather %table, %i {nn.name = "part", axis = 0 : i64, base = 5 : i64, table_size = 20 : i64} : (tensor<10x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  // CHECK: nn.tile %{{.*}} {nn.name = "tile"} : (tensor<2x3x4xf32>) -> tensor<4x3x12xf32>
  %2 = nn.tile %x {nn.name = "tile"} : (tensor<2x3x4xf32>) -> tensor<4x3x12xf32>
  // CHECK: nn.resize %{{.*}} {denominators = array<i64: 1, 1, 4>, mode = #nn.resize_mode<linear>, nn.name = "resize", numerators = array<i64: 1, 1, 2>, offsets = array<i64: 0, 0, -1>} : (tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %3 = nn.resize %x {nn.name = "resize", mode = #nn.resize_mode<linear>, numerators = array<i64: 1, 1, 2>, offsets = array<i64: 0, 0, -1>, denominators = array<i64: 1, 1, 4>} : (tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} {axis = 2 : i64, epsilon = 9.99999974E-6 : f32, nn.name = "norm"} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %4 = nn.layer_norm %x, %s bias %s {nn.name = "norm", axis = 2 : i64, epsilon = 1.0e-05 : f32} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}} {axis = 2 : i64
  %5 = nn.layer_norm %x, %s {nn.name = "unbiased", axis = 2 : i64, epsilon = 1.0e-05 : f32} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>,
                  %dy: tensor<1x4x5x5xf32>, %k: tensor<4x3x2x2xf32>, %c: tensor<3xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = nn.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {nn.name = "lstm", reverse} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  %y, %last = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm", reverse} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  // CHECK: nn.conv_backward_data %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, nn.name = "up", pads_lo = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x5x5xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>) -> tensor<1x3x10x10xf32>
  %0 = nn.conv_backward_data %dy, %k bias %c {nn.name = "up", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>} : (tensor<1x4x5x5xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>) -> tensor<1x3x10x10xf32>
  return
}
