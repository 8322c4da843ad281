// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that integers with a sign are not shifted.
func.func @main(%x: tensor<4xi8>) {
  // expected-error @+1 {{static ranked tensor of integers without a sign}}
  %0 = nn.shift_left %x, %x {nn.name = "a"} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return
}

// -----

// Tests that shifts have one element type.
func.func @main(%x: tensor<4xui8>, %y: tensor<4xui16>) {
  // expected-error @+1 {{element type}}
  %0 = nn.shift_right %x, %y {nn.name = "a"} : (tensor<4xui8>, tensor<4xui16>) -> tensor<4xui8>
  return
}

// -----

// Tests that the shapes of shifts broadcast.
func.func @main(%x: tensor<4xui8>, %y: tensor<3xui8>) {
  // expected-error @+1 {{expected operands that broadcast to one shape}}
  %0 = nn.shift_left %x, %y {nn.name = "a"} : (tensor<4xui8>, tensor<3xui8>) -> tensor<4xui8>
  return
}

// -----

// Tests that the number of bits stays.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected element types of as many bits, got: 'f32' and 'i64'; nn.cast converts}}
  %0 = nn.bit_cast %x {nn.name = "a"} : (tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

// Tests that a boolean is a byte, not one of fewer bits.
func.func @main(%x: tensor<4xi1>) {
  // expected-error @+1 {{expected element types of as many bits, got: 'i1' and 'i4'}}
  %0 = nn.bit_cast %x {nn.name = "a"} : (tensor<4xi1>) -> tensor<4xi4>
  return
}

// -----

// Tests that the shape of bits stays.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of shape [4], got: [2, 2]}}
  %0 = nn.bit_cast %x {nn.name = "a"} : (tensor<4xf32>) -> tensor<2x2xi32>
  return
}

// -----

// Tests that boxes and scores have one element type.
func.func @main(%b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf64>) {
  // expected-error @+1 {{expected boxes and scores of one element type, got: 'f32', 'f64'; cast one of them}}
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0.5 : f32} : (tensor<1x6x4xf32>, tensor<1x3x6xf64>) -> tensor<1x3x2xi64>
  return
}

// -----

// Tests that boxes are selected by their indices.
func.func @main(%b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected a result of indices (i64), got: 'i32'}}
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0.5 : f32} : (tensor<1x6x4xf32>, tensor<1x3x6xf32>) -> tensor<1x3x2xi32>
  return
}

// -----

// Tests that every box has a score.
func.func @main(%b: tensor<1x6x4xf32>, %s: tensor<1x3x5xf32>) {
  // expected-error @+1 {{expected boxes of shape (n, N, 4) and scores of shape (n, c, N), got: [1, 6, 4], [1, 3, 5]}}
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0.5 : f32} : (tensor<1x6x4xf32>, tensor<1x3x5xf32>) -> tensor<1x3x2xi64>
  return
}

// -----

// Tests that there is a result for each class.
func.func @main(%b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected a result of shape [1, 3, K], got: [1, 2, 2]}}
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0.5 : f32} : (tensor<1x6x4xf32>, tensor<1x3x6xf32>) -> tensor<1x2x2xi64>
  return
}

// -----

// Tests that thresholds are numbers.
func.func @main(%b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf32>) {
  // expected-error @+1 {{expected thresholds that are numbers, got: NaN}}
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0x7FC00000 : f32} : (tensor<1x6x4xf32>, tensor<1x3x6xf32>) -> tensor<1x3x2xi64>
  return
}

// -----

// Tests that what has elements is an operation of its own.
// expected-error @+1 {{expected 'nn.empty_outputs' on a module, with names and types of tensors without elements, got: {y = tensor<2x1xf32>}}}
module attributes {nn.empty_outputs = {y = tensor<2x1xf32>}} {
}
