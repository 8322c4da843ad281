// RUN: soap-opt %s --nn-fold-batch-norm --split-input-file | FileCheck %s

// Tests that a batch norm moves into weight and bias of its convolution, which
// keeps its name.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[X:.*]] = nn.input
// CHECK-DAG: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK-DAG: %[[SCALE:.*]] = nn.parameter {nn.name = "scale"}
// CHECK-DAG: %[[BIAS:.*]] = nn.parameter {nn.name = "bias"}
// CHECK-DAG: %[[MEAN:.*]] = nn.parameter {nn.name = "mean"}
// CHECK-DAG: %[[VAR:.*]] = nn.parameter {nn.name = "var"}
// CHECK: %[[EPS:.*]] = nn.constant dense<0.00999999977> : tensor<f32>
// CHECK: %[[V:.*]] = nn.add %[[VAR]], %[[EPS]]
// CHECK: %[[D:.*]] = nn.sqrt %[[V]]
// CHECK: %[[S:.*]] = nn.div %[[SCALE]], %[[D]]
// CHECK: %[[M:.*]] = nn.mul %[[MEAN]], %[[S]]
// CHECK: %[[SHIFT:.*]] = nn.sub %[[BIAS]], %[[M]]
// CHECK: %[[F:.*]] = nn.reshape %[[S]] {{.*}} -> tensor<4x1x1x1xf32>
// CHECK: %[[W2:.*]] = nn.mul %[[W]], %[[F]]
// CHECK: %[[Y:.*]] = nn.conv %[[X]], %[[W2]] bias %[[SHIFT]] {{.*}}nn.name = "conv"
// CHECK-NOT: nn.batch_norm
// CHECK: nn.output %[[Y]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x3x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3x3x3xf32> from #nn.file<"m", 0, 432>
  %y = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %s = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.file<"m", 432, 16>
  %b = nn.parameter {nn.name = "bias"} : tensor<4xf32> from #nn.file<"m", 448, 16>
  %m = nn.parameter {nn.name = "mean"} : tensor<4xf32> from #nn.file<"m", 464, 16>
  %v = nn.parameter {nn.name = "var"} : tensor<4xf32> from #nn.file<"m", 480, 16>
  %z = nn.batch_norm %y, %s, %b, %m, %v {nn.name = "bn", epsilon = 0.01 : f32} : tensor<1x4x8x8xf32>, tensor<4xf32>
  nn.output %z {nn.name = "out"} : tensor<1x4x8x8xf32>
  return
}

// -----

// Tests that an existing bias is scaled, a scale and a shift per channel follow
// the batch norm into a matrix product, and a transposed weight is scaled by
// rows.

// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = nn.reshape %{{.*}} -> tensor<4x1xf32>
// CHECK: nn.mul %{{.*}}, %[[F]] {nn.name = "mul_weight"} : (tensor<4x3xf32>, tensor<4x1xf32>)
// CHECK: %[[B:.*]] = nn.mul %{{.*}} {nn.name = "mul_scaled_bias"}
// CHECK: %[[B2:.*]] = nn.add %[[B]], %{{.*}} {nn.name = "add_bias"}
// CHECK: %[[Y:.*]] = nn.matmul %{{.*}} bias %[[B2]] {nn.name = "fc", transpose_b}
// CHECK-NEXT: nn.output %[[Y]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %b = nn.parameter {nn.name = "b"} : tensor<4xf32> from #nn.file<"m", 48, 16>
  %y = nn.matmul %x, %w bias %b {nn.name = "fc", transpose_b} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %s = nn.parameter {nn.name = "s"} : tensor<1x4xf32> from #nn.file<"m", 64, 16>
  %z = nn.mul %y, %s {nn.name = "mul"} : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %t = nn.parameter {nn.name = "t"} : tensor<4xf32> from #nn.file<"m", 80, 16>
  %u = nn.add %t, %z {nn.name = "add"} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  nn.output %u {nn.name = "out"} : tensor<2x4xf32>
  return
}

// -----

// Tests that a batch norm becomes a product and a sum where its producer has another
// reader, and where the producer has no weights; with statistics that are no
// parameters it stays.

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = nn.conv
// CHECK: %[[S:.*]] = nn.div %{{.*}} {nn.name = "bn_scale"}
// CHECK: %[[T:.*]] = nn.sub %{{.*}} {nn.name = "bn_shift"}
// CHECK: %[[S3:.*]] = nn.reshape %[[S]] {{.*}} -> tensor<3x1x1xf32>
// CHECK: %[[T3:.*]] = nn.reshape %[[T]] {{.*}} -> tensor<3x1x1xf32>
// CHECK: %[[P:.*]] = nn.mul %[[Y]], %[[S3]] {nn.name = "bn_product"}
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[P]], %[[T3]] {nn.name = "bn"}
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[Z]]
// CHECK: nn.mul %[[R]], %{{.*}} {nn.name = "bn2_product"}
// CHECK-NEXT: nn.add {{.*}} {nn.name = "bn2"}
// CHECK: nn.batch_norm {{.*}} nn.name = "bn3"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x1x1xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3x3x1x1xf32> from #nn.splat<1.0 : f32>
  %p = nn.parameter {nn.name = "p"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x3x1x1xf32>, tensor<3x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %z = nn.batch_norm %y, %p, %p, %p, %p {nn.name = "bn", epsilon = 0.01 : f32} : tensor<2x3x1x1xf32>, tensor<3xf32>
  %r = nn.relu %z {nn.name = "r"} : tensor<2x3x1x1xf32>
  %q = nn.batch_norm %r, %p, %p, %p, %p {nn.name = "bn2", epsilon = 0.01 : f32} : tensor<2x3x1x1xf32>, tensor<3xf32>
  %m = nn.input {nn.name = "m"} : tensor<3xf32>
  %t = nn.batch_norm %r, %p, %p, %m, %p {nn.name = "bn3", epsilon = 0.01 : f32} : tensor<2x3x1x1xf32>, tensor<3xf32>
  nn.output %q {nn.name = "out"} : tensor<2x3x1x1xf32>
  nn.output %y {nn.name = "out2"} : tensor<2x3x1x1xf32>
  nn.output %t {nn.name = "out3"} : tensor<2x3x1x1xf32>
  return
}

// -----

// Tests that a scale along another dimension than the channels stays.

// CHECK-LABEL: func.func @main
// CHECK: nn.mul {{.*}} {nn.name = "mul"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4x4x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4x1x1xf32> from #nn.splat<1.0 : f32>
  %p = nn.parameter {nn.name = "p"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<2x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x4x4xf32>
  %z = nn.mul %y, %p {nn.name = "mul"} : (tensor<2x4x4x4xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  nn.output %z {nn.name = "out"} : tensor<2x4x4x4xf32>
  return
}
