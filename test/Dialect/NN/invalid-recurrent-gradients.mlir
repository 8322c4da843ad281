// One case per constraint of the gradients of recurrent layers.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that a layer has the shapes of its kind.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'input_weight' of shape [1, 4, 6, 3], got: [1, 3, 6, 3]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that hidden states are of all steps.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<4x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'hidden' of shape [5, 1, 2, 6], got: [4, 1, 2, 6]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<4x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that their gradients are, too.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<4x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'd_hidden' of shape [5, 1, 2, 6], got: [4, 1, 2, 6]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<4x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that there is a gradient per gate.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'gates' of shape [1, 2, 5, 4, 6], got: [1, 2, 5, 3, 6]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x3x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that there is a state per step.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'states' of shape [1, 2, 5, 6], got: [1, 2, 4, 6]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that the gradient of the first hidden state has its shape.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'd_first_hidden' of shape [1, 2, 6], got: [1, 2, 5]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x5xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that the first cell state has the shape of a state.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x5xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'first_cell' of shape [1, 2, 6], got: [1, 2, 5]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x5xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that the gradient of the first cell state has its shape.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'd_first_cell' of shape [1, 2, 6], got: [1, 2, 5]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x5xf32>)
  return
}

// -----

// Tests that the gradient of the last cell state has its shape.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x5xf32>) {
  // expected-error @+1 {{expected 'd_last_cell' of shape [1, 2, 6], got: [1, 2, 5]}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x5xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that a peephole has three rows.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>, %p: tensor<1x4x6xf32>) {
  // expected-error @+1 {{expected 'peephole' of shape [1, 3, 6], got: [1, 4, 6]}}
  %0:5 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc peephole %p {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x4x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>)
  return
}

// -----

// Tests that a peephole has a gradient.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>, %p: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected a gradient of the peephole if there is a peephole, got: none}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc peephole %p {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that no other gradient is one of a peephole.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected a gradient of the peephole if there is a peephole, got: one without it}}
  %0:5 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>)
  return
}

// -----

// Tests that the gradient of a peephole has its element type.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>, %p: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected a gradient of the peephole of element type 'f32', got: 'f64'}}
  %0:5 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc peephole %p {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf64>)
  return
}

// -----

// Tests that results have the element type of the layer.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected results of element type 'f32', got: 'f64'}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf64>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that operands have one element type.
func.func @main(%x: tensor<5x2x3xf64>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>, %dc: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected the result's element type 'f32' in operand 0, got: 'f64'}}
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %c, %y, %dy, %dc {nn.name = "a"} : (tensor<5x2x3xf64>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that only one direction is reversed.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<2x1x6x3xf32>, %r: tensor<2x1x6x6xf32>, %b: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>, %y: tensor<5x2x2x6xf32>, %dy: tensor<5x2x2x6xf32>) {
  // expected-error @+1 {{expected 'reverse' of one direction only, got: 2 directions}}
  %0:3 = nn.rnn_backward %x, %w, %r, %b, %s, %y, %dy {nn.name = "a", reverse} : (tensor<5x2x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x2x6xf32>, tensor<5x2x2x6xf32>, tensor<5x2x2x6xf32>) -> (tensor<2x2x5x1x6xf32>, tensor<2x2x5x6xf32>, tensor<2x2x6xf32>)
  return
}

// -----

// Tests that a bound is positive.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x1x6x3xf32>, %r: tensor<1x1x6x6xf32>, %b: tensor<1x1x6xf32>, %s: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>) {
  // expected-error @+1 {{expected a positive 'clip', got: 0.000000e+00}}
  %0:3 = nn.rnn_backward %x, %w, %r, %b, %s, %y, %dy {nn.name = "a", clip = 0.0 : f32} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>) -> (tensor<1x2x5x1x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that a GRU has two activations.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>) {
  // expected-error @+1 {{expected 2 activations, got: 1}}
  %0:4 = nn.gru_backward %x, %w, %r, %b, %s, %y, %dy {nn.name = "a", activations = [#nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>) -> (tensor<1x2x5x3x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that what the reset makes is of all steps.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>, %y: tensor<5x1x2x6xf32>, %dy: tensor<5x1x2x6xf32>) {
  // expected-error @+1 {{expected 'reset' of shape [1, 2, 5, 6], got: [1, 2, 4, 6]}}
  %0:4 = nn.gru_backward %x, %w, %r, %b, %s, %y, %dy {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>) -> (tensor<1x2x5x3x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x6xf32>)
  return
}
