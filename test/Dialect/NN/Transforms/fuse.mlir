// RUN: soap-opt %s --nn-fuse --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-fuse --split-input-file | soap-opt --nn-fuse --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-fuse=max-parts=2 --split-input-file | FileCheck %s --check-prefix=PARTS
// RUN: soap-opt %s --nn-fuse=max-operands=2 --split-input-file | FileCheck %s --check-prefix=OPERANDS

// Tests that a chain behind a convolution becomes one operation with the name
// of the last, and takes the sum that is added; the convolution, whose channels
// may be split into parts of a sum, stays outside.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = nn.input
// CHECK: %[[C:.*]] = nn.conv
// CHECK-NEXT: %[[S:.*]] = nn.parameter {nn.name = "s"}
// CHECK-NEXT: %[[F:.*]] = nn.fused(%[[C]], %[[S]], %[[X]]) {nn.name = "relu"} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: {{.*}}, %[[V:.*]]: {{.*}}, %[[B:.*]]: tensor<1x4x8x8xf32>):
// CHECK-NEXT: %[[N:.*]] = nn.batch_norm %[[A]], %[[V]], %[[V]], %[[V]], %[[V]] {{.*}}nn.name = "bn"
// CHECK-NEXT: %[[P:.*]] = nn.add %[[N]], %[[B]] {nn.name = "add"}
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[P]] {nn.name = "relu"}
// CHECK-NEXT: nn.yield %[[R]]
// CHECK: nn.output %[[F]]

// PARTS-LABEL: func.func @main
// PARTS: nn.batch_norm
// PARTS: nn.fused
// PARTS-NEXT: ^bb0
// PARTS-NEXT: nn.add
// PARTS-NEXT: nn.relu

// OPERANDS-LABEL: func.func @main
// OPERANDS: nn.batch_norm
// OPERANDS: nn.fused
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x4x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x4x1x1xf32> from #nn.splat<1.0 : f32>
  %c = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %s = nn.parameter {nn.name = "s"} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %n = nn.batch_norm %c, %s, %s, %s, %s {nn.name = "bn", epsilon = 0.01 : f32} : tensor<1x4x8x8xf32>, tensor<4xf32>
  %a = nn.add %n, %x {nn.name = "add"} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %r = nn.relu %a {nn.name = "relu"} : tensor<1x4x8x8xf32>
  nn.output %r {nn.name = "y"} : tensor<1x4x8x8xf32>
  return
}

// -----

// Tests that several ways to the last operation are taken, also those that meet
// in a value that two of them read, and other element types; and that a value
// that others read stays one.

// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = nn.tanh
// CHECK-NOT: nn.fused
// CHECK: nn.softmax %[[T]]
// CHECK: nn.fused(%[[T]], %{{.*}}) {nn.name = "where"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.exp
// CHECK-NEXT: nn.sub
// CHECK-NEXT: nn.compare
// CHECK-NEXT: nn.where
// CHECK-NEXT: nn.yield
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %z = nn.constant dense<0.0> : tensor<f32> {nn.name = "z"}
  %t = nn.tanh %x {nn.name = "tanh"} : tensor<8x6xf32>
  %s = nn.softmax %t {nn.name = "softmax", axis = 1 : i64} : tensor<8x6xf32>
  %m = nn.mul %t, %t {nn.name = "mul"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %e = nn.exp %m {nn.name = "exp"} : tensor<8x6xf32>
  %d = nn.sub %m, %e {nn.name = "sub"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %c = nn.compare %d, %z {nn.name = "compare", predicate = #nn.predicate<lt>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xi1>
  %w = nn.where %c, %d, %z {nn.name = "where"} : (tensor<8x6xi1>, tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  nn.output %w {nn.name = "y"} : tensor<8x6xf32>
  nn.output %s {nn.name = "p"} : tensor<8x6xf32>
  return
}

// -----

// Tests what stays: an operation of another shape, one that is an output,
// vectors of a batch norm that are read as a row, too.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.fused
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3x3xf32>
  %b = nn.input {nn.name = "b"} : tensor<3xf32>
  %v = nn.relu %b {nn.name = "vector"} : tensor<3xf32>
  %a = nn.add %x, %v {nn.name = "add"} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  nn.output %a {nn.name = "y"} : tensor<3x3xf32>
  %t = nn.tanh %a {nn.name = "tanh"} : tensor<3x3xf32>
  nn.output %t {nn.name = "z"} : tensor<3x3xf32>
  %n = nn.batch_norm %x, %b, %b, %b, %b {nn.name = "norm", epsilon = 0.01 : f32} : tensor<3x3xf32>, tensor<3xf32>
  %m = nn.mul %n, %b {nn.name = "mul"} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  nn.output %m {nn.name = "u"} : tensor<3x3xf32>
  return
}

// -----

// Tests that a leader stays where a member of its group stands before the last
// operation.

// CHECK-LABEL: func.func @main
// CHECK: nn.tanh {{.*}} {nn.name = "lead"}
// CHECK: nn.fused({{.*}}) {nn.group = #nn.group<"lead", {d0 = "d0", d1 = "d1"}>, nn.name = "member"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.exp
// CHECK-NEXT: nn.relu
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %a = nn.tanh %x {nn.name = "lead"} : tensor<8x6xf32>
  %b = nn.exp %a {nn.name = "middle"} : tensor<8x6xf32>
  %c = nn.relu %b {nn.name = "member", nn.group = #nn.group<"lead">} : tensor<8x6xf32>
  nn.output %c {nn.name = "y"} : tensor<8x6xf32>
  return
}
