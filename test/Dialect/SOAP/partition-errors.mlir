// RUN: soap-opt %s -split-input-file -soap-partition -verify-diagnostics

// Tests that every operation needs a configuration.
func.func @main() {
  // expected-error @below {{expected a soap.config, got none; run soap-init-strategy, soap-import-strategy or soap-search first}}
  %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "k"}
  return
}

// -----

// Tests that there is a function to partition.
// expected-error @below {{expected a function @main, got none; import a model first}}
module {}

// -----

// Tests that @main has no arguments.
// expected-error @below {{expected one block without arguments and results, got: '(tensor<4xf32>) -> ()'}}
func.func @main(%x: tensor<4xf32>) {
  return
}

// -----

// Tests that a function is partitioned once.
func.func @main() {
  // expected-error @below {{expected only nn operations in @main, got: soap.remote; partition a function once}}
  %a = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>)
  return
}

// -----

// Tests that a parameter's @init exists.
func.func @main() {
  // expected-error @below {{expected a function @init with a result 0, got none; run nn-hoist-init}}
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} on [0]>} : tensor<4xf32> from #nn.init<0>
  return
}

// -----

// Tests that @init is one block that makes a value of the parameter's type.
// expected-error @below {{expected @init to have one block that ends in func.return}}
func.func private @init() -> tensor<4xf32>
func.func @main() {
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} on [0]>} : tensor<4xf32> from #nn.init<0>
  nn.output %w {nn.name = "y"} : tensor<4xf32>
  return
}

// -----

func.func private @init() -> tensor<5xf32> {
  %raw = nn.parameter {nn.name = "raw"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  return %raw : tensor<5xf32>
}
func.func @main() {
  // expected-error @below {{expected result 0 of @init to be 'tensor<4xf32>', got: 'tensor<5xf32>'}}
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} on [0]>} : tensor<4xf32> from #nn.init<0>
  nn.output %w {nn.name = "y"} : tensor<4xf32>
  return
}
