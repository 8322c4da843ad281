// Tests that optimizers, schedules, writes and dropout survive a round trip, in their
// own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main() {
  // CHECK: %[[W:[a-z0-9_]+]] = nn.parameter {nn.name = "w"}
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  // CHECK: %[[STEPS:.*]] = nn.input
  %steps = nn.input {nn.name = "steps"} : tensor<i64>
  // CHECK: %{{.*}}, %[[RATE:[a-z0-9_]+]], %{{.*}}, %{{.*}} = nn.schedule {kind = 2 : i32, nn.name = "schedule", period = 1000 : i64, rate = 1.000000e-01 : f64, warmup = 100 : i64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  %n, %rate, %c1, %c2 = nn.schedule {nn.name = "schedule", kind = 2 : i32, rate = 1.0e-01 : f64, warmup = 100 : i64, period = 1000 : i64} : () -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK: nn.schedule %[[STEPS]] {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, factor = 2.500000e-01 : f64, kind = 1 : i32, nn.name = "other", rate = 1.000000e-01 : f64} : (tensor<i64>) -> (tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>)
  %other:4 = nn.schedule %steps {nn.name = "other", kind = 1 : i32, rate = 1.0e-01 : f64, factor = 2.5e-01 : f64, beta1 = 5.0e-01 : f64, beta2 = 7.5e-01 : f64} : (tensor<i64>) -> (tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>)
  // CHECK: nn.sgd %[[W]], %[[W]], %[[RATE]] {nn.name = "sgd"} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %0 = nn.sgd %w, %w, %rate {nn.name = "sgd"} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  // CHECK: nn.sgd %{{.*}}, %{{.*}}, %[[RATE]], %[[RATE]] {nn.name = "scaled", weight_decay = 1.000000e-02 : f64}
  %1 = nn.sgd %0, %w, %rate, %rate {nn.name = "scaled", weight_decay = 1.0e-02 : f64} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  // CHECK: nn.sparse_sgd %[[W]], %{{.*}}, %{{.*}}, %[[RATE]] {bases = array<i64: 1>, nn.name = "sparse", table_sizes = array<i64: 9>} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %i = nn.input {nn.name = "i"} : tensor<2x1xi64>
  %slices = nn.input {nn.name = "slices"} : tensor<2x3xf32>
  %sparse = nn.sparse_sgd %w, %i, %slices, %rate {nn.name = "sparse", bases = array<i64: 1>, table_sizes = array<i64: 9>} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  // CHECK: nn.momentum %{{.*}}, %[[W]], %[[W]], %[[RATE]] {momentum = 9.000000e-01 : f64, nesterov, nn.name = "momentum"}
  %2, %v = nn.momentum %1, %w, %w, %rate {nn.name = "momentum", momentum = 9.0e-01 : f64, nesterov} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  // CHECK: nn.adam %{{.*}}, %[[W]], %{{.*}}, %{{.*}}, %[[RATE]], %{{.*}}, %{{.*}} {decoupled, epsilon = 2.500000e-01 : f64, nn.name = "adam"}
  %3:3 = nn.adam %2, %w, %v, %v, %rate, %c1, %c2 {nn.name = "adam", epsilon = 0.25 : f64, decoupled} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>)
  // CHECK: nn.write %{{.*}}, %[[W]] {nn.name = "w.write"} : tensor<4x3xf32>
  %4 = nn.write %3#0, %w {nn.name = "w.write"} : tensor<4x3xf32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}} {global_shape = array<i64: 8, 3>, nn.name = "drop", offsets = array<i64: 2, 0>, ratio = 5.000000e-01 : f64, seed = -7 : i64} : tensor<4x3xf32>, tensor<i64>
  %5 = nn.dropout %4, %n {nn.name = "drop", ratio = 0.5 : f64, seed = -7 : i64, offsets = array<i64: 2, 0>, global_shape = array<i64: 8, 3>} : tensor<4x3xf32>, tensor<i64>
  // CHECK: nn.dropout %{{.*}} {nn.name = "kept", ratio = 2.500000e-01 : f64} : tensor<4x3xf32>
  %6 = nn.dropout %5 {nn.name = "kept", ratio = 0.25 : f64} : tensor<4x3xf32>
  nn.output %6 {nn.name = "y"} : tensor<4x3xf32>
  return
}
