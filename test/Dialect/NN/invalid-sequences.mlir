// One case per constraint of operations for recurrent and transformer networks.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that compared operands have one element type.
func.func @main(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @+1 {{expected operands of one element type, got: 'f32', 'i64'; cast one of them}}
  %0 = nn.compare %a, %b {nn.name = "a", predicate = #nn.predicate<lt>} : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xi1>
  return
}

// -----

// Tests that a comparison gives booleans.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of booleans (i1), got: 'f32'}}
  %0 = nn.compare %a, %a {nn.name = "a", predicate = #nn.predicate<lt>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that compared operands broadcast.
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{expected operands that broadcast to one shape, got: [2], [3]; sizes must be equal or 1, aligned on the right}}
  %0 = nn.compare %a, %b {nn.name = "a", predicate = #nn.predicate<lt>} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

// Tests that both values of a choice have the result's element type.
func.func @main(%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @+1 {{expected the result's element type 'f32' in both values, got: 'i64'}}
  %0 = nn.where %c, %a, %b {nn.name = "a"} : (tensor<2xi1>, tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// Tests that all three operands of a choice broadcast.
func.func @main(%c: tensor<2x1xi1>, %a: tensor<3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{expected operands that broadcast to one shape, got: [2, 1], [3], [2]}}
  %0 = nn.where %c, %a, %b {nn.name = "a"} : (tensor<2x1xi1>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that a condition is of booleans.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be static ranked tensor of booleans}}
  %0 = nn.where %a, %a, %a {nn.name = "a"} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a cast keeps the shape.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of shape [2], got: [3]}}
  %0 = nn.cast %a {nn.name = "a"} : (tensor<2xf32>) -> tensor<3xi64>
  return
}

// -----

// Tests that an expanded operand broadcasts to the result.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected an operand that broadcasts to [4], got: [2]}}
  %0 = nn.expand %a {nn.name = "a"} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// Tests that expansion keeps the element type.
func.func @main(%a: tensor<1xf32>) {
  // expected-error @+1 {{expected the result's element type 'i64' in operand 0, got: 'f32'}}
  %0 = nn.expand %a {nn.name = "a"} : (tensor<1xf32>) -> tensor<4xi64>
  return
}

// -----

// Tests that an expansion drops no dimension.
func.func @main(%a: tensor<1x2xf32>) {
  // expected-error @+1 {{expected an operand that broadcasts to [2], got: [1, 2]}}
  %0 = nn.expand %a {nn.name = "a"} : (tensor<1x2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that a look-up keeps the element type.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected a result of the data's element type 'f32', got: 'i64'}}
  %0 = nn.gather %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xi64>
  return
}

// -----

// Tests that the axis of a look-up is inside the rank.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.gather %d, %i {nn.name = "a", axis = 2 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that rows lie inside of their table.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected rows inside of a table of 4, got: rows 1 to 5}}
  %0 = nn.gather %d, %i {nn.name = "a", axis = 0 : i64, base = 1 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that the base of a table is not negative.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected rows inside of a table of 9, got: rows -1 to 3}}
  %0 = nn.gather %d, %i {nn.name = "a", axis = 0 : i64, base = -1 : i64, table_size = 9 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that indices stand in place of the axis.
func.func @main(%d: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected a result of shape [2, 3], got: [3, 2]}}
  %0 = nn.gather %d, %i {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

// Tests that indices are i32 or i64.
func.func @main(%d: tensor<4x3xf32>) {
  // expected-error @+1 {{operand #1 must be static ranked tensor of indices (i32 or i64)}}
  %0 = nn.gather %d, %d {nn.name = "a", axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

// Tests that repetition gives multiples.
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sizes that are multiples of [2, 3], got: [4, 4]}}
  %0 = nn.tile %a {nn.name = "a"} : (tensor<2x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Tests that repetition keeps the rank.
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{expected sizes that are multiples of [2, 3], got: [6]}}
  %0 = nn.tile %a {nn.name = "a"} : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

// Tests that a resize keeps the rank.
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result of rank 2, got: 1}}
  %0 = nn.resize %a {nn.name = "a", mode = #nn.resize_mode<nearest>, numerators = array<i64: 1, 1>, offsets = array<i64: 0, 0>, denominators = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

// Tests that a resize has one rational per dimension.
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{expected 2 entries in 'offsets', got: 1}}
  %0 = nn.resize %a {nn.name = "a", mode = #nn.resize_mode<nearest>, numerators = array<i64: 1, 1>, offsets = array<i64: 0>, denominators = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that numerators of a resize are positive.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'numerators', got: [0]}}
  %0 = nn.resize %a {nn.name = "a", mode = #nn.resize_mode<nearest>, numerators = array<i64: 0>, offsets = array<i64: 0>, denominators = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that denominators of a resize are positive.
func.func @main(%a: tensor<2xf32>) {
  // expected-error @+1 {{expected entries of 1 or more in 'denominators', got: [0]}}
  %0 = nn.resize %a {nn.name = "a", mode = #nn.resize_mode<nearest>, numerators = array<i64: 1>, offsets = array<i64: 0>, denominators = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Tests that the axis of a layer norm is inside the rank.
func.func @main(%a: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{expected an axis in [0, 2), got: 2}}
  %0 = nn.layer_norm %a, %s {nn.name = "a", axis = 2 : i64, epsilon = 0.0 : f32} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that the scale of a layer norm has the normalised shape.
func.func @main(%a: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{expected scale and bias of shape [3], got: [2]}}
  %0 = nn.layer_norm %a, %s {nn.name = "a", axis = 1 : i64, epsilon = 0.0 : f32} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Tests that dy has spatial dimensions.
func.func @main(%dy: tensor<1x2xf32>, %w: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a dy of rank 3 to 5, got: 2}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

// Tests that weight and result have the rank of dy.
func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3xf32>) {
  // expected-error @+1 {{expected weight and result of rank 3, got: 2 and 3}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x3xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

// Tests that there is one stride per spatial dimension.
func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x1xf32>) {
  // expected-error @+1 {{expected 1 entries in 'strides', got: 2}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x3x1xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

// Tests that groups divide the channels of dy and result.
func.func @main(%dy: tensor<1x3x4xf32>, %w: tensor<3x1x1xf32>) {
  // expected-error @+1 {{expected 'groups' to divide 3 channels of dy and 2 of the result, got: 2}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, groups = 2 : i64} : (tensor<1x3x4xf32>, tensor<3x1x1xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

// Tests that the weight fits dy and result.
func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x1xf32>) {
  // expected-error @+1 {{expected a weight with [2, 4] channels, got: [2, 3]}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x3x1xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

// Tests that dy and result have one batch size.
func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x1xf32>) {
  // expected-error @+1 {{expected a result of batch size 1, got: 2}}
  %0 = nn.conv_backward_data %dy, %w {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

// Tests that the bias has one element per channel of the result.
func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x1xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{expected a bias of shape [3], got: [2]}}
  %0 = nn.conv_backward_data %dy, %w bias %b {nn.name = "a", strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x3x1xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

// Tests that an LSTM reads steps, samples and inputs.
func.func @main(%x: tensor<5x2xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected an input of rank 3 and a weight of rank 4, got: [5, 2], [1, 4, 6, 3]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that there are at most two directions.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<3x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected one or two directions, got: 3}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<3x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that only one direction can be reverse.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<2x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'reverse' of one direction only, got: 2 directions}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a", reverse} : (tensor<5x2x3xf32>, tensor<2x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that there are four gates.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'input_weight' of shape [1, 4, 6, 3], got: [1, 3, 6, 3]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that recurrent weights are square.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x5xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'recurrent_weight' of shape [1, 4, 6, 6], got: [1, 4, 6, 5]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x5xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that every gate has a bias.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x8x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'bias' of shape [1, 4, 6], got: [1, 8, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x8x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that first states have one row per sample.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x3x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'first_hidden' of shape [1, 2, 6], got: [1, 3, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x3x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that so have cell states.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected 'first_cell' of shape [1, 2, 6], got: [1, 3, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that there is one hidden state per step.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'hidden' of shape [5, 1, 2, 6], got: [4, 1, 2, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<4x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// -----

// Tests that the last cell state has one row per sample.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected 'last_cell' of shape [1, 2, 6], got: [1, 3, 6]}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x3x6xf32>)
  return
}

// -----

// Tests that both results have one element type.
func.func @main(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %h: tensor<1x2x6xf32>, %c: tensor<1x2x6xf32>) {
  // expected-error @+1 {{expected results of one element type, got: 'f32', 'f64'}}
  %0:2 = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "a"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf64>)
  return
}
