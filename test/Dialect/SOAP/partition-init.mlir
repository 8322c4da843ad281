// RUN: soap-opt %s -split-input-file -soap-partition | FileCheck %s
// RUN: soap-opt %s -split-input-file -soap-partition -o %t.before
// RUN: soap-opt %s -split-input-file -soap-partition -cse -canonicalize -o %t.after
// RUN: diff %t.before %t.after

// Tests that a folded weight is computed by the device that needs it, only the box that it needs, from the files on and without communication.
// CHECK-NOT: @init
// CHECK: soap.task "w" 0 phase init () -> (!soap.shard<tensor<2x3x1xf32>, on 0> as #soap.box<"w":0, [0:2, 0:3, 0:1]>) {
// CHECK-DAG: nn.parameter {global_shape = array<i64: 4, 3, 1>, nn.name = "raw", offsets = array<i64: 0, 0, 0>} : tensor<2x3x1xf32> from #nn.file<"m.onnx", 64, 48>
// CHECK-DAG: nn.parameter {global_shape = array<i64: 4>, nn.name = "scale", offsets = array<i64: 0>} : tensor<2xf32> from #nn.random
// CHECK: nn.reshape
// CHECK: %[[M:.*]] = nn.mul
// CHECK-NEXT: soap.return %[[M]] : tensor<2x3x1xf32>
// CHECK: soap.task "w" 1 phase init () -> (!soap.shard<tensor<2x3x1xf32>, on 1> as #soap.box<"w":0, [2:4, 0:3, 0:1]>) {
// CHECK-DAG: nn.parameter {global_shape = array<i64: 4, 3, 1>, nn.name = "raw", offsets = array<i64: 2, 0, 0>} : tensor<2x3x1xf32> from #nn.file<"m.onnx", 64, 48>
// CHECK-DAG: nn.parameter {global_shape = array<i64: 4>, nn.name = "scale", offsets = array<i64: 2>} : tensor<2xf32>
// CHECK-NOT: soap.{{transfer|broadcast|all}}
// CHECK: soap.task "y" 0
func.func private @init() -> tensor<4x3x1xf32> {
  %raw = nn.parameter {nn.name = "raw"} : tensor<4x3x1xf32> from #nn.file<"m.onnx", 64, 48>
  %scale = nn.parameter {nn.name = "scale"} : tensor<4xf32> from #nn.random<1, "scale", uniform, 0.5, 1.5>
  %column = nn.reshape %scale {nn.name = "column"} : (tensor<4xf32>) -> tensor<4x1x1xf32>
  %w = nn.mul %raw, %column {nn.name = "folded"} : (tensor<4x3x1xf32>, tensor<4x1x1xf32>) -> tensor<4x3x1xf32>
  return %w : tensor<4x3x1xf32>
}
func.func @main() {
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<4x3x1xf32> from #nn.init<0>
  %x = nn.parameter {nn.name = "x", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<1x3x5xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "y", soap.config = #soap.config<{f = 2} on [0, 1]>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<1x3x5xf32>, tensor<4x3x1xf32>) -> tensor<1x4x5xf32>
  nn.output %y {nn.name = "out"} : tensor<1x4x5xf32>
  return
}

// -----

// Tests that a reshape whose units are larger than the box is cropped.
// CHECK: soap.task "w" 1 phase init () -> (!soap.shard<tensor<1x4xf32>, on 1> as #soap.box<"w":0, [1:2, 0:4]>) {
// CHECK: nn.parameter {nn.name = "raw"} : tensor<2x6xf32>
// CHECK: nn.reshape {{.*}} -> tensor<3x4xf32>
// CHECK-NEXT: %[[C:.*]] = nn.slice {{.*}}{nn.name = "reshaped.crop", starts = array<i64: 1, 0>
// CHECK-NEXT: soap.return %[[C]] : tensor<1x4xf32>
func.func private @init() -> tensor<3x4xf32> {
  %raw = nn.parameter {nn.name = "raw"} : tensor<2x6xf32> from #nn.splat<1.0 : f32>
  %w = nn.reshape %raw {nn.name = "reshaped"} : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return %w : tensor<3x4xf32>
}
func.func @main() {
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 3} on [0, 1, 2]>} : tensor<3x4xf32> from #nn.init<0>
  %y = nn.relu %w {nn.name = "y", soap.config = #soap.config<{d0 = 3} on [0, 1, 2]>} : tensor<3x4xf32>
  nn.output %y {nn.name = "out"} : tensor<3x4xf32>
  return
}
