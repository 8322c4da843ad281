// RUN: soap-opt %s --convert-soap-to-soaprt --split-input-file --verify-diagnostics

// Tests that there is something to lower.
// expected-error @+1 {{expected a function @main with soap ops}}
module {}

// -----

// Tests that a graph that was not partitioned is an error.
func.func @main() {
  // expected-error @+1 {{expected soap ops only; run soap-partition first}}
  %0 = nn.constant dense<0.0> : tensor<4xf32> {nn.name = "c"}
  return
}
