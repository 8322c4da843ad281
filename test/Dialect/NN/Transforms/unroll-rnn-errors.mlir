// RUN: soap-opt %s --nn-unroll-rnn=chunk=3 --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not soap-opt %s --nn-unroll-rnn=chunk=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: not soap-opt %s --nn-unroll-rnn="only=(" --split-input-file 2>&1 | FileCheck %s --check-prefix=ONLY

// CHUNK: nn-unroll-rnn: expected a chunk of at least 1 step, got: 0
// ONLY: nn-unroll-rnn: expected a regular expression in 'only', got: '('

// Tests that a layer without more steps than a chunk stays, and says so.

// CHECK-LABEL: func.func @main
// CHECK: nn.lstm {{.*}} {nn.name = "short"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<3x2x4xf32>
  // expected-remark @+1 {{'short' stays one operation: a chunk of 3 steps holds all 3}}
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "short"} : (tensor<3x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %y {nn.name = "out"} : tensor<3x1x2x4xf32>
  return
}

// -----

// Tests that a layer with a configuration stays, and says so; and that an
// operation with one is not split.

// CHECK-LABEL: func.func @main
// CHECK: nn.lstm {{.*}} {nn.name = "placed", soap.config =
// CHECK: nn.lstm {{.*}} {nn.name = "first.step0-2"}
// CHECK: %[[Y:.*]] = nn.concat {{.*}} {axis = 0 : i64, nn.name = "first"}
// CHECK: %[[Q:.*]] = nn.reshape %[[Y]] {nn.name = "squeeze", soap.config =
// CHECK: nn.slice %[[Q]] {nn.name = "second.step0-2.x"
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<4x2x4xf32>
  // expected-remark @+1 {{'placed' stays one operation: it has attributes besides its name, as a configuration; unroll before choosing a strategy}}
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "placed", soap.config = #soap.config<{} on [0]>} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %z, %d = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %z {nn.name = "squeeze", soap.config = #soap.config<{} on [0]>} : (tensor<4x1x2x4xf32>) -> tensor<4x2x4xf32>
  %v, %e = nn.lstm %q, %w, %w, %b, %s, %s {nn.name = "second"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %y {nn.name = "out"} : tensor<4x1x2x4xf32>
  nn.output %v {nn.name = "out2"} : tensor<4x1x2x4xf32>
  return
}
