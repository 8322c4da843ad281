// RUN: soap-opt %s --nn-remove-dropout | FileCheck %s

// Tests that an output that dropout makes of an input is a copy of it: outputs
// leave from devices.

// CHECK: %[[X:.*]] = nn.input {nn.name = "x"}
// CHECK: %[[Y:.*]] = nn.slice %[[X]] {nn.name = "a", starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
// CHECK: nn.output %[[Y]] {nn.name = "y"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %0 = nn.dropout %x {nn.name = "a", ratio = 0.5 : f64} : tensor<4x3xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x3xf32>
  return
}
