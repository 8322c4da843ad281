// RUN: soap-opt %s --nn-sparse-updates --split-input-file | FileCheck %s

// Tests that the update of a table is that of the slices that were looked up.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.scatter_nd
// CHECK: %[[N:.*]] = nn.sparse_sgd %[[W:.*]], %{{.*}}, %{{.*}}, %{{.*}} {nn.group = #nn.group<"look">, nn.name = "w.update"}
// CHECK-SAME: (tensor<9x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>, tensor<f32>) -> tensor<9x4xf32>
// CHECK: nn.write %[[N]], %[[W]] {nn.group = #nn.group<"look">, nn.name = "w.write", nn.update = "w.update"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<9x4xf32> from #nn.splat<1.0 : f32>
  %i = nn.input {nn.name = "i"} : tensor<3x1xi64>
  %dy = nn.input {nn.name = "dy"} : tensor<3x4xf32>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %y = nn.relu %w {nn.name = "look"} : tensor<9x4xf32>
  nn.output %y {nn.name = "y"} : tensor<9x4xf32>
  %g = nn.scatter_nd %i, %dy {nn.name = "g", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %n = nn.sgd %w, %g, %rate {nn.group = #nn.group<"look">, nn.name = "w.update"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %v = nn.write %n, %w {nn.group = #nn.group<"look">, nn.name = "w.write", nn.update = "w.update"} : tensor<9x4xf32>
  return
}

// -----

// Tests that a sum is taken apart: the gradient of a product, and slices of two
// look-ups, in the order in which they were added. All are one update.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.scatter_nd
// CHECK-NOT: nn.add
// CHECK: %[[D:.*]] = nn.tanh
// CHECK: %[[A:.*]] = nn.sgd %[[W:.*]], %[[D]], %{{.*}} {nn.group = #nn.group<"look">, nn.name = "w.update"}
// CHECK: %[[B:.*]] = nn.sparse_sgd %[[A]], %[[I:.*]], %{{.*}}, %{{.*}} {nn.group = #nn.group<"look">, nn.name = "w.update.slices", nn.update = "w.update"} : (tensor<9x4xf32>, tensor<3x1xi64>
// CHECK: %[[C:.*]] = nn.sparse_sgd %[[B]], %{{.*}}, %{{.*}}, %{{.*}} {nn.group = #nn.group<"look">, nn.name = "w.update.slices_1", nn.update = "w.update"} : (tensor<9x4xf32>, tensor<2x1xi64>
// CHECK: nn.write %[[C]], %[[W]]
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<9x4xf32> from #nn.splat<1.0 : f32>
  %i = nn.input {nn.name = "i"} : tensor<3x1xi64>
  %j = nn.input {nn.name = "j"} : tensor<2x1xi64>
  %dy = nn.input {nn.name = "dy"} : tensor<3x4xf32>
  %dz = nn.input {nn.name = "dz"} : tensor<2x4xf32>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %y = nn.relu %w {nn.name = "look"} : tensor<9x4xf32>
  nn.output %y {nn.name = "y"} : tensor<9x4xf32>
  %d = nn.tanh %y {nn.name = "d"} : tensor<9x4xf32>
  %g = nn.scatter_nd %i, %dy {nn.name = "g", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %h = nn.scatter_nd %j, %dz {nn.name = "h", reduction = #nn.reduce_kind<sum>} : (tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<9x4xf32>
  %s = nn.add %d, %g {nn.name = "s"} : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
  %t = nn.add %s, %h {nn.name = "t"} : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<9x4xf32>
  %n = nn.sgd %w, %t, %rate {nn.group = #nn.group<"look">, nn.name = "w.update"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %v = nn.write %n, %w {nn.group = #nn.group<"look">, nn.name = "w.write", nn.update = "w.update"} : tensor<9x4xf32>
  return
}

// -----

// Tests what stays: weight decay, a scale, a gradient that is read elsewhere,
// more slices than the table has, a store that adds nothing, and momentum.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.sparse_sgd
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<9x4xf32> from #nn.splat<1.0 : f32>
  %i = nn.input {nn.name = "i"} : tensor<3x1xi64>
  %j = nn.input {nn.name = "j"} : tensor<10x1xi64>
  %dy = nn.input {nn.name = "dy"} : tensor<3x4xf32>
  %dz = nn.input {nn.name = "dz"} : tensor<10x4xf32>
  %rate = nn.constant dense<0.5> : tensor<f32> {nn.name = "rate"}
  %a = nn.scatter_nd %i, %dy {nn.name = "a", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %0 = nn.sgd %w, %a, %rate {nn.name = "decays", weight_decay = 0.5 : f64} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %b = nn.scatter_nd %i, %dy {nn.name = "b", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %1 = nn.sgd %0, %b, %rate, %rate {nn.name = "scaled"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>, tensor<f32>) -> tensor<9x4xf32>
  %c = nn.scatter_nd %i, %dy {nn.name = "c", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %2 = nn.sgd %1, %c, %rate {nn.name = "read"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  nn.output %c {nn.name = "w.grad"} : tensor<9x4xf32>
  %d = nn.scatter_nd %j, %dz {nn.name = "d", reduction = #nn.reduce_kind<sum>} : (tensor<10x1xi64>, tensor<10x4xf32>) -> tensor<9x4xf32>
  %3 = nn.sgd %2, %d, %rate {nn.name = "many"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %e = nn.scatter_nd %i, %dy {nn.name = "e"} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %4 = nn.sgd %3, %e, %rate {nn.name = "stored"} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> tensor<9x4xf32>
  %f = nn.scatter_nd %i, %dy {nn.name = "f", reduction = #nn.reduce_kind<sum>} : (tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %5:2 = nn.momentum %4, %f, %w, %rate {nn.name = "momentum", momentum = 0.5 : f64} : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<f32>) -> (tensor<9x4xf32>, tensor<9x4xf32>)
  %v = nn.write %5#0, %w {nn.name = "w.write"} : tensor<9x4xf32>
  return
}
