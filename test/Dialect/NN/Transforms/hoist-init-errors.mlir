// RUN: soap-opt %s --nn-hoist-init --split-input-file --verify-diagnostics

// Tests that a module without @main is refused.

// expected-error @+1 {{expected a function @main with a body, got: none; import a model first}}
module {}

// -----

// Tests that a second @init is refused.

// expected-note @+1 {{defined here}}
func.func private @init() {
  return
}
// expected-error @+1 {{expected no symbol @init in a module with parameter-only expressions in @main, got: one; run nn-hoist-init once}}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<2xf32> from #nn.splat<1.0 : f32>
  %r = nn.sqrt %w {nn.name = "r"} : tensor<2xf32>
  nn.output %r {nn.name = "out"} : tensor<2xf32>
  return
}
