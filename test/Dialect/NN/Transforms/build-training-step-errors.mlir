// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error' --split-input-file --verify-diagnostics -o /dev/null

// Tests that all operations without a gradient are named at once.
// expected-error @+1 {{expected operations that have a gradient between parameters and the loss; freeze the parameters before them, or take another output; without a gradient:}}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %a = nn.mod %w, %w {nn.name = "rest", truncate} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = nn.mod %a, %w {nn.name = "again", truncate} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  nn.output %b {nn.name = "y"} : tensor<4x3xf32>
  return
}

// -----

// Tests that one output has to be named if there are several.
// expected-error @+1 {{expected an output of the model (y, z) for the loss, got: ''; name one with 'output' (soap-compile --loss-input)}}
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
  %i = nn.constant dense<0> : tensor<2x3xi64> {nn.name = "i"}
  %u = nn.constant dense<2.0> : tensor<2x3xf32> {nn.name = "u"}
  // expected-error @+1 {{expected stored or added updates for a gradient, got: another reduction}}
  %a = nn.scatter_elements %i, %u into %w {nn.name = "a", axis = 0 : i64, reduction = #nn.reduce_kind<prod>} : (tensor<2x3xi64>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  nn.output %a {nn.name = "y"} : tensor<4x3xf32>
  return
}

// -----

// Tests that a step is built once.
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<4x3xf32> from #nn.file<"m", 0, 48>
  %0 = nn.relu %w {nn.name = "new"} : tensor<4x3xf32>
  // expected-error @+1 {{expected a model that is not a training step already}}
  %1 = nn.write %0, %w {nn.name = "write"} : tensor<4x3xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x3xf32>
  return
}
