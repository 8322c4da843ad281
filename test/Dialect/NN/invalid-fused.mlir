// One case per constraint of nn.fused and nn.fused_reduce.
// RUN: soap-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Tests that the region takes the operands.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected the types of the operands as those of the region's arguments}}
  %0 = nn.fused(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf64>):
    %1 = nn.cast %a {nn.name = "f"} : (tensor<4xf64>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// Tests that operands are read.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected arguments that are read, got: argument 1, which nobody reads; leave out the operand}}
  %0 = nn.fused(%x, %x) {nn.name = "f"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = nn.relu %a {nn.name = "f"} : tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// Tests that the region has operations.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected operations and nn.yield in the region}}
  %0 = nn.fused(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

// Tests that operations of the region are per element.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected operations per element with operands and one result in the region, got: nn.softmax}}
  %0 = nn.fused(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.softmax %a {nn.name = "f", axis = 0 : i64} : tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// Tests that results in the region have the shape of the result.
func.func @main(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @+1 {{'nn.fused' op expected results of the shape [4] in the region, got: 'tensor<1xf32>' of nn.relu}}
  %0 = nn.fused(%x, %y) {nn.name = "f"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<1xf32>):
    %1 = nn.relu %b {nn.name = "narrow"} : tensor<1xf32>
    %2 = nn.add %a, %1 {nn.name = "f"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return
}

// -----

// Tests that results in the region are read.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected results that are read, got: nn.tanh, whose result nobody reads; leave it out of the region}}
  %0 = nn.fused(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.tanh %a {nn.name = "idle"} : tensor<4xf32>
    %2 = nn.relu %a {nn.name = "f"} : tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return
}

// -----

// Tests that the last result leaves the region.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected nn.yield to hand on the last result of the region, of type 'tensor<4xf32>', got: 'tensor<4xf64>'}}
  %0 = nn.fused(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.cast %a {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf64>
    nn.yield %1 : tensor<4xf64>
  }
  return
}

// -----

// Tests that an argument is read in one way.
func.func @main(%x: tensor<3x4x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused' op expected argument 1 to be read in one way, got: two along other dimensions; hand it over twice}}
  %0 = nn.fused(%x, %c) {nn.name = "f"} : (tensor<3x4x4xf32>, tensor<4xf32>) -> tensor<3x4x4xf32> {
  ^bb0(%a: tensor<3x4x4xf32>, %b: tensor<4xf32>):
    %1 = nn.batch_norm %a, %b, %b, %b, %b {nn.name = "norm", epsilon = 0.01 : f32} : tensor<3x4x4xf32>, tensor<4xf32>
    %2 = nn.add %1, %b {nn.name = "f"} : (tensor<3x4x4xf32>, tensor<4xf32>) -> tensor<3x4x4xf32>
    nn.yield %2 : tensor<3x4x4xf32>
  }
  return
}

// -----

// Tests that nn.yield stands in an nn.fused.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.yield' op expects parent op to be one of 'nn.fused, nn.fused_reduce'}}
  nn.yield %x : tensor<4xf32>
}

// -----

// Tests that a reduction stands at the end of the region.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused_reduce' op expected an nn.reduce of the result before it, of f32 or f64, at the end of the region}}
  %0 = nn.fused_reduce(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.relu %a {nn.name = "r"} : tensor<4xf32>
    %2 = nn.tanh %1 {nn.name = "f"} : tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return
}

// -----

// Tests that the reduction reads what the operations before it compute.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused_reduce' op expected an nn.reduce of the result before it, of f32 or f64, at the end of the region}}
  %0 = nn.fused_reduce(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<1xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.relu %a {nn.name = "r"} : tensor<4xf32>
    %2 = nn.reduce %a {nn.name = "f", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = true} : (tensor<4xf32>) -> tensor<1xf32>
    nn.yield %2 : tensor<1xf32>
  }
  return
}

// -----

// Tests that there is something to reduce.
func.func @main(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.fused_reduce' op expected operations and nn.yield in the region}}
  %0 = nn.fused_reduce(%x) {nn.name = "f"} : (tensor<4xf32>) -> tensor<1xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.reduce %a {nn.name = "f", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = true} : (tensor<4xf32>) -> tensor<1xf32>
    nn.yield %1 : tensor<1xf32>
  }
  return
}

// -----

// Tests that operations of a reduction have one shape.
func.func @main(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @+1 {{'nn.fused_reduce' op expected results of the shape [4] in the region, got: 'tensor<1xf32>' of nn.relu}}
  %0 = nn.fused_reduce(%x, %y) {nn.name = "f"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<1xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<1xf32>):
    %1 = nn.relu %b {nn.name = "narrow"} : tensor<1xf32>
    %2 = nn.add %a, %1 {nn.name = "add"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    %3 = nn.reduce %2 {nn.name = "f", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = true} : (tensor<4xf32>) -> tensor<1xf32>
    nn.yield %3 : tensor<1xf32>
  }
  return
}

// -----

// Tests that the region hands something on, and that an argument which nobody reads is an error where the operation
// leads others, too.
func.func @main(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.fused' op expected operations and nn.yield in the region}}
  %0 = "nn.fused"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    %1 = "nn.neg"(%a) {nn.name = "neg"} : (tensor<8xf32>) -> tensor<8xf32>
    "nn.yield"() : () -> ()
  }) {nn.name = "f"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>) {
  // expected-error @+1 {{'nn.fused' op expected arguments that are read, got: argument 0, which nobody reads; leave out the operand}}
  %0 = "nn.fused"(%z, %x) ({
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %1 = "nn.neg"(%b) {nn.name = "mul"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "nn.neg"(%1) {nn.name = "neg"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "nn.yield"(%2) : (tensor<8x8xf32>) -> ()
  }) {nn.name = "f"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = nn.transpose %0 {permutation = array<i64: 1, 0>, nn.name = "turned", nn.group = #nn.group<"f", {d0 = "d1", d1 = "d0"}>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
