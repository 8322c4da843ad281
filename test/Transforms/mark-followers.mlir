// RUN: soap-opt %s --split-input-file --soap-mark-followers=target=cpu | FileCheck %s
// RUN: soap-opt %s --split-input-file "--soap-mark-followers=target=cpu keep-nan=true" | FileCheck %s --check-prefix=NAN
// RUN: soap-opt %s --split-input-file --soap-mark-followers=target=cpu | soap-opt --split-input-file --soap-mark-followers=target=cuda | FileCheck %s --check-prefix=NONE
// RUN: not soap-opt %s --split-input-file --soap-mark-followers=target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET

// A library without followers takes marks away.
// NONE-NOT: soap.follows

// TARGET: error: {{.*}}abacus

// Tests that a chain behind a product follows it, and that nothing is marked
// which hands no NaN on where that is asked for, nor what follows that.
// CHECK-LABEL: func.func @main
// CHECK: nn.add {{.*}}nn.name = "bias", soap.follows = 0 : i64
// CHECK: nn.relu {{.*}}nn.name = "relu", soap.follows = 0 : i64
// CHECK: nn.mul {{.*}}nn.name = "scale", soap.follows = 1 : i64
// NAN-LABEL: func.func @main
// NAN: nn.add {{.*}}nn.name = "bias", soap.follows = 0 : i64
// NAN-NOT: soap.follows
// NAN: nn.output
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x8xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<8xf32> from #nn.splat<1.0 : f32>
  %0 = nn.matmul %x, %w {nn.name = "product"} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = nn.add %0, %b {nn.name = "bias"} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = nn.relu %1 {nn.name = "relu"} : tensor<2x8xf32>
  %3 = nn.mul %b, %2 {nn.name = "scale"} : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  nn.output %3 {nn.name = "y"} : tensor<2x8xf32>
  return
}

// -----

// Tests that nothing is marked whose operand is read elsewhere, or which needs
// something that is computed behind the library's operation; a sum of two
// products follows the later one.
// CHECK-LABEL: func.func @main
// CHECK: nn.name = "first"
// CHECK-NOT: soap.follows
// CHECK: nn.add {{.*}}nn.name = "sum", soap.follows = 1 : i64
// CHECK-NOT: soap.follows
// CHECK: nn.name = "y1"
// NAN: nn.add {{.*}}nn.name = "sum", soap.follows = 1 : i64
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x8xf32> from #nn.splat<1.0 : f32>
  %0 = nn.matmul %x, %w {nn.name = "first"} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = nn.matmul %x, %w {nn.name = "second"} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %2 = nn.add %0, %1 {nn.name = "sum"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = nn.matmul %x, %w {nn.name = "third"} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %4 = nn.softmax %2 {nn.name = "late", axis = 1 : i64} : tensor<2x8xf32>
  %5 = nn.mul %3, %4 {nn.name = "product"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %6 = nn.relu %4 {nn.name = "relu"} : tensor<2x8xf32>
  nn.output %5 {nn.name = "y1"} : tensor<2x8xf32>
  nn.output %6 {nn.name = "y2"} : tensor<2x8xf32>
  return
}
