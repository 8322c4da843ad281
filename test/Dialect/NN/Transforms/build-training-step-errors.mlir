// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error' --split-input-file --verify-diagnostics -o /dev/null

// Tests that all operations without a gradient are named at once.
// expected-error @+1 {{expected operations that have a gradient between parameters and the loss; freeze the parameters before them, or take another output; without a gradient:}}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %a = nn.cum_sum %w {nn.name = "sums", axis = 0 : i64} : tensor<4x3xf32>
  %b = nn.trilu %a {nn.name = "corner", upper} : tensor<4x3xf32>
  nn.output %b {nn.name = "y"} : tensor<4x3xf32>
  return
}

// -----

// Tests that one output has to be named if there are several.
// expected-error @+1 {{expected an output of the model (y, z) for the loss, got: ''; name one with 'output'}}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  nn.output %w {nn.name = "y"} : tensor<4x3xf32>
  nn.output %w {nn.name = "z"} : tensor<4x3xf32>
  return
}

// -----

// Tests that something is trained.
// expected-error @+1 {{expected a loss that depends on a parameter that is trained, got: none}}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  nn.output %x {nn.name = "y"} : tensor<4x3xf32>
  return
}

// -----

// Tests that a mode without a gradient says so.
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  // expected-error @+1 {{expected a sum, a maximum or a minimum for a gradient, got: a product}}
  %a = nn.reduce %w {nn.name = "a", kind = #nn.reduce_kind<prod>, axes = array<i64: 0>, keepdims = false} : (tensor<4x3xf32>) -> tensor<3xf32>
  nn.output %a {nn.name = "y"} : tensor<3xf32>
  return
}
