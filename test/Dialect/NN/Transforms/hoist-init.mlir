// RUN: soap-opt %s --nn-hoist-init --split-input-file | FileCheck %s

// Tests that expressions over parameters move to @init with the parameters they
// read, and that @main reads their results. A parameter that both read is in
// both.

// CHECK: func.func private @init() -> tensor<4x3xf32> {
// CHECK-NEXT: %[[S:.*]] = nn.parameter {nn.name = "s"}
// CHECK-NEXT: %[[R:.*]] = nn.sqrt %[[S]]
// CHECK-NEXT: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK-NEXT: %[[W2:.*]] = nn.mul %[[W]], %[[R]] {nn.name = "w2"}
// CHECK-NEXT: return %[[W2]]
// CHECK: func.func @main() {
// CHECK-NEXT: %[[X:.*]] = nn.input
// CHECK-NEXT: %[[S2:.*]] = nn.parameter {nn.name = "s"}
// CHECK-NEXT: %[[Y:.*]] = nn.add %[[X]], %[[S2]]
// CHECK-NEXT: %[[P:.*]] = nn.parameter {nn.name = "w2"} : tensor<4x3xf32> from #nn.init<0>
// CHECK-NEXT: nn.matmul %[[Y]], %[[P]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %s = nn.parameter {nn.name = "s"} : tensor<4x1xf32> from #nn.file<"m", 48, 16>
  %t = nn.parameter {nn.name = "unused"} : tensor<4x1xf32> from #nn.file<"m", 64, 16>
  %r = nn.sqrt %s {nn.name = "r"} : tensor<4x1xf32>
  %w2 = nn.mul %w, %r {nn.name = "w2"} : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %y = nn.add %x, %s {nn.name = "y"} : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %z = nn.matmul %y, %w2 {nn.name = "z"} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  nn.output %z {nn.name = "out"} : tensor<4x3xf32>
  return
}

// -----

// Tests that a model without such expressions stays as it is.

// CHECK-NOT: @init
// CHECK: nn.parameter {nn.name = "w"}
// CHECK-NEXT: nn.add
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<2xf32> from #nn.splat<1.0 : f32>
  %y = nn.add %x, %w {nn.name = "y"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  nn.output %y {nn.name = "out"} : tensor<2xf32>
  return
}

// -----

// Tests that every result that is read becomes a parameter.

// CHECK: func.func private @init
// CHECK: %[[Y:.*]], %[[C:.*]] = nn.lstm
// CHECK: return %[[Y]], %[[C]]
// CHECK: func.func @main
// CHECK-DAG: nn.parameter {nn.name = "lstm"} : tensor<1x1x2x4xf32> from #nn.init<0>
// CHECK-DAG: nn.parameter {nn.name = "lstm.1"} : tensor<1x2x4xf32> from #nn.init<1>
func.func @main() {
  %x = nn.parameter {nn.name = "x"} : tensor<1x2x3xf32> from #nn.splat<1.0 : f32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x3xf32> from #nn.splat<1.0 : f32>
  %r = nn.parameter {nn.name = "r"} : tensor<1x4x4x4xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.splat<1.0 : f32>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm"} : (tensor<1x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %y {nn.name = "out"} : tensor<1x1x2x4xf32>
  nn.output %c {nn.name = "last"} : tensor<1x2x4xf32>
  return
}

// -----

// Tests that expressions over parameters that are written stay where they are.

// CHECK: func.func private @init() -> tensor<4xf32>
// CHECK-NEXT: nn.parameter {nn.name = "b"}
// CHECK-NEXT: nn.sqrt %{{.*}} {nn.name = "r"}
// CHECK: func.func @main
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK: %[[Q:.*]] = nn.sqrt %[[W]] {nn.name = "q"}
// CHECK: %[[S:.*]] = nn.add %[[Q]], %{{.*}} {nn.name = "s"}
// CHECK: nn.write %[[S]], %[[W]]
func.func @main() {
  %0 = nn.parameter {nn.name = "w"} : tensor<4xf32> from #nn.splat<4.0 : f32>
  %1 = nn.parameter {nn.name = "b"} : tensor<4xf32> from #nn.splat<4.0 : f32>
  %2 = nn.sqrt %0 {nn.name = "q"} : tensor<4xf32>
  %3 = nn.sqrt %1 {nn.name = "r"} : tensor<4xf32>
  %4 = nn.add %2, %3 {nn.name = "s"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.write %4, %0 {nn.name = "w.write"} : tensor<4xf32>
  nn.output %5 {nn.name = "out"} : tensor<4xf32>
  return
}
