// RUN: soap-opt %s --nn-fold-constants --split-input-file | FileCheck %s

// Tests that element-wise operations on constants are computed, in order.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.constant dense<[6.000000e+00, 1.200000e+01]> : tensor<2xf32> {nn.name = "product"}
// CHECK-NEXT: nn.output
func.func @main() {
  %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {nn.name = "a"}
  %1 = nn.constant dense<2.0> : tensor<f32> {nn.name = "b"}
  %2 = nn.constant dense<3.0> : tensor<1xf32> {nn.name = "c"}
  %3 = nn.mul %0, %1 {nn.name = "double"} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = nn.mul %3, %2 {nn.name = "product"} : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  nn.output %4 {nn.name = "out"} : tensor<2xf32>
  return
}

// -----

// Tests that integers wrap around and that a division by zero stays.

// CHECK-LABEL: func.func @main
// CHECK: nn.constant dense<-2147483648> : tensor<i32> {nn.name = "sum"}
// CHECK: nn.div {{.*}} {nn.name = "quotient"}
func.func @main() {
  %0 = nn.constant dense<2147483647> : tensor<i32> {nn.name = "a"}
  %1 = nn.constant dense<1> : tensor<i32> {nn.name = "b"}
  %2 = nn.constant dense<0> : tensor<i32> {nn.name = "c"}
  %3 = nn.add %0, %1 {nn.name = "sum"} : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %4 = nn.div %0, %2 {nn.name = "quotient"} : (tensor<i32>, tensor<i32>) -> tensor<i32>
  nn.output %3 {nn.name = "out"} : tensor<i32>
  nn.output %4 {nn.name = "out2"} : tensor<i32>
  return
}

// -----

// Tests that transpose and slice move the elements of a constant.

// CHECK-LABEL: func.func @main
// CHECK: nn.constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64> {nn.name = "t"}
// CHECK: nn.constant dense<{{\[\[}}3, 1], [6, 4]]> : tensor<2x2xi64> {nn.name = "s"}
func.func @main() {
  %0 = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64> {nn.name = "a"}
  %1 = nn.transpose %0 {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  %2 = nn.slice %0 {nn.name = "s", starts = array<i64: 0, 2>, steps = array<i64: 1, -2>} : (tensor<2x3xi64>) -> tensor<2x2xi64>
  nn.output %1 {nn.name = "o1"} : tensor<3x2xi64>
  nn.output %2 {nn.name = "o2"} : tensor<2x2xi64>
  return
}

// -----

// Tests that a splat parameter stays a parameter, in its new shape.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.parameter {nn.name = "r"} : tensor<64x1x1xf32> from #nn.splat<2.000000e+00 : f32>
// CHECK-NEXT: nn.output
func.func @main() {
  %0 = nn.parameter {nn.name = "w"} : tensor<64xf32> from #nn.splat<4.0 : f32>
  %1 = nn.sqrt %0 {nn.name = "q"} : tensor<64xf32>
  %2 = nn.reshape %1 {nn.name = "r"} : (tensor<64xf32>) -> tensor<64x1x1xf32>
  nn.output %2 {nn.name = "out"} : tensor<64x1x1xf32>
  return
}

// -----

// Tests that weights in files and inputs are left alone.

// CHECK-LABEL: func.func @main
// CHECK: nn.sqrt
// CHECK: nn.relu
func.func @main() {
  %0 = nn.input {nn.name = "x"} : tensor<2xf32>
  %1 = nn.parameter {nn.name = "w"} : tensor<2xf32> from #nn.file<"m.onnx", 0, 8>
  %2 = nn.sqrt %1 {nn.name = "q"} : tensor<2xf32>
  %3 = nn.relu %0 {nn.name = "r"} : tensor<2xf32>
  nn.output %2 {nn.name = "o1"} : tensor<2xf32>
  nn.output %3 {nn.name = "o2"} : tensor<2xf32>
  return
}

// -----

// Tests that a splat parameter that is written is no constant.

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.parameter {nn.name = "w"} : tensor<64xf32> from #nn.splat<4.000000e+00 : f32>
// CHECK: %[[Q:.*]] = nn.sqrt %[[W]] {nn.name = "q"}
// CHECK: nn.write %[[Q]], %[[W]]
func.func @main() {
  %0 = nn.parameter {nn.name = "w"} : tensor<64xf32> from #nn.splat<4.0 : f32>
  %1 = nn.sqrt %0 {nn.name = "q"} : tensor<64xf32>
  nn.output %1 {nn.name = "out"} : tensor<64xf32>
  %2 = nn.write %1, %0 {nn.name = "w.write"} : tensor<64xf32>
  return
}
