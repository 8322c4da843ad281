// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error optimizer=sgd momentum=0.9 weight-decay=0.1 decay-vectors=false' --split-input-file | FileCheck %s

// Tests that a parameter that is a view of a tensor is trained as that tensor:
// under its name, in its shape, of which there is no decay, and where the
// operation is that reads it.

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "scale"} : tensor<3xf32>
// CHECK: %[[VIEW:.*]] = nn.reshape %[[W]] {nn.group = #nn.group<"scaled", {d1 = "d1"}>, nn.name = "unsqueezed"} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK: nn.mul %{{.*}}, %[[VIEW]] {nn.name = "scaled"}
// CHECK: %[[STATE:.*]] = nn.parameter {nn.name = "scale.velocity"} : tensor<3xf32>
// CHECK: nn.momentum %[[W]], {{.*}}, nn.name = "scale.update"} :
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x4xf32>
  %w = nn.parameter {nn.name = "unsqueezed", nn.view = {shape = array<i64: 3>, tensor = "scale"}} : tensor<1x3x1xf32> from #nn.file<"w.bin", 0, 12>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  nn.output %0 {nn.name = "y"} : tensor<2x3x4xf32>
  return
}

// -----

// Tests that a name that is taken, as by an equal tensor that is stored once,
// is not given twice.

// CHECK-LABEL: func.func @main
// CHECK-DAG: nn.parameter {nn.name = "scale"} : tensor<3xf32>
// CHECK-DAG: nn.parameter {nn.name = "second", nn.view = {{.*}}} : tensor<1x3x1xf32>
// CHECK: nn.momentum {{.*}}nn.name = "scale.update"
// CHECK: nn.momentum {{.*}}nn.name = "second.update"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x4xf32>
  %w = nn.parameter {nn.name = "first", nn.view = {shape = array<i64: 3>, tensor = "scale"}} : tensor<1x3x1xf32> from #nn.file<"w.bin", 0, 12>
  %v = nn.parameter {nn.name = "second", nn.view = {shape = array<i64: 3>, tensor = "scale"}} : tensor<1x3x1xf32> from #nn.file<"w.bin", 0, 12>
  %0 = nn.mul %x, %w {nn.name = "a"} : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  %1 = nn.mul %0, %v {nn.name = "b"} : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  nn.output %1 {nn.name = "y"} : tensor<2x3x4xf32>
  return
}

// -----

// Tests that a view of other sizes keeps them, so that it can be split, and gets
// the name.

// CHECK-LABEL: func.func @main
// CHECK: nn.parameter {nn.name = "table"} : tensor<2x3x4xf32>
// CHECK-NOT: nn.name = "reshaped"
// CHECK: nn.momentum {{.*}}nn.name = "table.update"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x4xf32>
  %w = nn.parameter {nn.name = "reshaped", nn.view = {shape = array<i64: 6, 4>, tensor = "table"}} : tensor<2x3x4xf32> from #nn.file<"w.bin", 0, 96>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  nn.output %0 {nn.name = "y"} : tensor<2x3x4xf32>
  return
}
