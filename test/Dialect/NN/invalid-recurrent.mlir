// One case per constraint of recurrent layers.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that a GRU has three gates.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'input_weight' of shape [1, 3, 6, 3], got: [1, 4, 6, 3]}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that a GRU has three recurrent gates.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x5xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'recurrent_weight' of shape [1, 3, 6, 6], got: [1, 3, 6, 5]}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x5xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that a GRU has four biases.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x3x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'bias' of shape [1, 4, 6], got: [1, 3, 6]}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x3x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that there is a length per sample.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{expected 'lengths' of shape [2], got: [5]}}
  %0 = nn.gru %x, %w, %r, %b, %h lengths %n {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<5xi32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that lengths are integers.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{operand #5 must be static ranked tensor of indices}}
  %0 = nn.gru %x, %w, %r, %b, %h lengths %n {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<2xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that element types are equal.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf64>) {
  // expected-error @+1 {{expected the result's element type 'f32' in operand 4, got: 'f64'}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf64>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that hidden states have the shape of the layer.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'hidden' of shape [5, 1, 2, 6], got: [4, 1, 2, 6]}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<4x1x2x6xf32>
  return
}

// -----

// Tests that bounds are positive.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected a positive 'clip', got: 0}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a", clip = 0.0 : f32} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that there are two activations per direction of a GRU.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 2 activations, got: 1}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a", activations = [#nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that activations are such.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{attribute 'activations' failed to satisfy constraint: activations}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a", activations = [1 : i64]} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that only one direction is reversed.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<2x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'reverse' of one direction only, got: 2 directions}}
  %0 = nn.gru %x, %w, %r, %b, %h {nn.name = "a", reverse} : (tensor<5x2x3xf32>, tensor<2x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that a plain layer has one gate.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'input_weight' of shape [1, 1, 6, 3], got: [1, 3, 6, 3]}}
  %0 = nn.rnn %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that a plain layer has one activation per direction.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x1x6x3xf32>, %r: tensor<1x1x6x6xf32>, %b: tensor<1x1x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 1 activations, got: 2}}
  %0 = nn.rnn %x, %w, %r, %b, %h {nn.name = "a", activations = [#nn.activation<relu, 0.0, 0.0>, #nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that there are at most two directions.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<3x1x6x3xf32>, %r: tensor<1x1x6x6xf32>, %b: tensor<1x1x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected one or two directions, got: 3}}
  %0 = nn.rnn %x, %w, %r, %b, %h {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<3x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}

// -----

// Tests that a peephole has three rows.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %p: tensor<1x4x6xf32>) {
  // expected-error @+1 {{expected 'peephole' of shape [1, 3, 6], got: [1, 4, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c peephole %p {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x4x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that an LSTM has three activations per direction.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 3 activations, got: 1}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a", activations = [#nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that the numbers of an activation are finite.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x1x6x3xf32>, %r: tensor<1x1x6x6xf32>, %b: tensor<1x1x6xf32>, %h: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected finite numbers, got: INF, 0}}
  %0 = nn.rnn %x, %w, %r, %b, %h {nn.name = "a", activations = [#nn.activation<elu, 1.0e+999, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  return
}
