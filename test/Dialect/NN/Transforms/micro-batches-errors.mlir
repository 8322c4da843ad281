// RUN: soap-opt %s --nn-build-training-step='loss=mean-squared-error accumulate=3 batch-norm=local batch-norm-parts=2' --split-input-file --verify-diagnostics -o /dev/null

// Tests that a batch is a multiple of the micro-batches.
// expected-error @+1 {{expected a batch that is a multiple of the 3 micro-batches, got: 4}}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x3xf32>
  return
}

// -----

// Tests that samples are computed each by itself.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<6x3xf32>, tensor<3xf32>) -> tensor<6x3xf32>
  // expected-error @+1 {{expected operations that compute every sample by itself for micro-batches, got: 'mean'; leave 'accumulate' out}}
  %1 = nn.reduce %0 {nn.name = "mean", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<6x3xf32>) -> tensor<3xf32>
  nn.output %1 {nn.name = "y"} : tensor<3xf32>
  return
}

// -----

// Tests that a shape with other samples than the batch's is refused: steps first.
func.func @main() {
  %x = nn.input {nn.name = "x", sample_dims = array<i64: 1>} : tensor<5x6x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<5x6x3xf32>, tensor<3xf32>) -> tensor<5x6x3xf32>
  // expected-error @+1 {{expected operations that compute every sample by itself for micro-batches, got: 'flat'; leave 'accumulate' out}}
  %1 = nn.reshape %0 {nn.name = "flat"} : (tensor<5x6x3xf32>) -> tensor<30x3xf32>
  nn.output %1 {nn.name = "y"} : tensor<30x3xf32>
  return
}

// -----

// Tests that what has as many rows as the batch has samples, but meets them along
// another dimension, is no batch.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6x6xf32>
  %m = nn.input {nn.name = "mask"} : tensor<6xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %0 = nn.mul %x, %w {nn.name = "scaled"} : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32>
  // expected-error @+1 {{expected operations that compute every sample by itself for micro-batches, got: 'masked'; leave 'accumulate' out}}
  %1 = nn.add %0, %m {nn.name = "masked"} : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32>
  nn.output %1 {nn.name = "y"} : tensor<6x6xf32>
  return
}

// -----

// Tests that a micro-batch can be split into the parts of local statistics.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<9x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<3xf32> from #nn.splat<1.0 : f32>
  // expected-error @+1 {{expected a batch that is a multiple of the 2 parts of batch-norm=local, got: 3}}
  %0 = nn.batch_norm %x, %w, %w, %w, %w {nn.name = "norm", epsilon = 1.0e-05 : f32} : tensor<9x3xf32>, tensor<3xf32>
  nn.output %0 {nn.name = "y"} : tensor<9x3xf32>
  return
}

// -----

// Tests that other operations than those of nn, and other blocks, are refused.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6x3xf32>
  // expected-error @+1 {{expected nn operations to split into micro-batches, got another one}}
  %z = arith.negf %x : tensor<6x3xf32>
  nn.output %z {nn.name = "y"} : tensor<6x3xf32>
  return
}

// -----

// expected-error @+1 {{expected one block to split into micro-batches, got: more}}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<6x3xf32>
  llvm.br ^bb1
^bb1:
  %y = nn.relu %x {nn.name = "r"} : tensor<6x3xf32>
  nn.output %y {nn.name = "y"} : tensor<6x3xf32>
  return
}
