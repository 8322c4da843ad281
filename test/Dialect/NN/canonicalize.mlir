// RUN: soap-opt %s --split-input-file --canonicalize --cse | FileCheck %s

// Tests that a reshape and a transpose that change nothing disappear, and that
// others stay.
// CHECK-LABEL: func.func @identities
func.func @identities(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>, tensor<8xf32>) {
  // CHECK-NOT: "same"
  %0 = nn.reshape %x {nn.name = "same"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.transpose %0 {nn.name = "same too", permutation = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[T:.*]] = nn.transpose %arg0
  %2 = nn.transpose %1 {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // CHECK: %[[R:.*]] = nn.reshape %arg0
  %3 = nn.reshape %1 {nn.name = "r"} : (tensor<2x4xf32>) -> tensor<8xf32>
  // CHECK: return %arg0, %[[T]], %[[R]]
  return %1, %2, %3 : tensor<2x4xf32>, tensor<4x2xf32>, tensor<8xf32>
}

// -----

// Tests that inputs and outputs stay, that an operation without uses goes, and
// that equal operations with different names stay apart.
// CHECK-LABEL: func.func @effects
func.func @effects() {
  // CHECK-NEXT: nn.input {nn.name = "unused"}
  %0 = nn.input {nn.name = "unused"} : tensor<2xf32>
  // CHECK-NEXT: %[[X:.*]] = nn.input {nn.name = "x"}
  %1 = nn.input {nn.name = "x"} : tensor<2xf32>
  %2 = nn.relu %1 {nn.name = "dead"} : tensor<2xf32>
  // CHECK-NEXT: nn.tanh %[[X]] {nn.name = "t0"}
  // CHECK-NEXT: nn.tanh %[[X]] {nn.name = "t1"}
  %3 = nn.tanh %1 {nn.name = "t0"} : tensor<2xf32>
  %4 = nn.tanh %1 {nn.name = "t1"} : tensor<2xf32>
  // CHECK-NEXT: nn.output
  // CHECK-NEXT: nn.output
  nn.output %3 {nn.name = "y0"} : tensor<2xf32>
  nn.output %4 {nn.name = "y1"} : tensor<2xf32>
  return
}
