// RUN: soap-opt %s -convert-nn-to-linalg -split-input-file -verify-diagnostics

// Tests that a scaled sum of integers, which has no exact meaning, is refused.
func.func @mean(%x: tensor<4xi64>) -> tensor<i64> {
  // expected-error@+1 {{failed to legalize operation 'nn.reduce'}}
  %0 = nn.reduce %x {nn.name = "r", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false, scale = 0.25 : f32} : (tensor<4xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}
