// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that lengths are split by samples and a peephole by directions, and that
// each direction keeps its own activations.
func.func @lstm(%x: tensor<5x4x3xf32>, %w: tensor<2x4x6x3xf32>, %r: tensor<2x4x6x6xf32>, %b: tensor<2x4x6xf32>, %s: tensor<2x4x6xf32>,
                %n: tensor<4xi32>, %p: tensor<2x3x6xf32>) {
  // CHECK-LABEL: lstm: nn.lstm
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK: operand 6: (n)
  // CHECK-NEXT: operand 7: (dir, [0,2], [0,5])
  // CHECK-NEXT: result 0: ([0,4], dir, n, [0,5])
  // CHECK: nn.lstm {{.*}}activations = [#nn.activation<relu, {{[^]]*}}#nn.activation<tanh, {{[^]]*}}#nn.activation<tanh, {{[^]]*}}], nn.name = "lstm"}
  // CHECK: nn.lstm {{.*}}activations = [#nn.activation<sigmoid, {{[^]]*}}#nn.activation<elu, {{[^]]*}}#nn.activation<elu, {{[^]]*}}], nn.name = "lstm", reverse}
  %0:2 = nn.lstm %x, %w, %r, %b, %s, %s lengths %n peephole %p {nn.name = "lstm", activations = [#nn.activation<relu, 0.0, 0.0>, #nn.activation<tanh, 0.0, 0.0>, #nn.activation<tanh, 0.0, 0.0>, #nn.activation<sigmoid, 0.0, 0.0>, #nn.activation<elu, 1.0, 0.0>, #nn.activation<elu, 1.0, 0.0>], test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<4xi32>, tensor<2x3x6xf32>) -> (tensor<5x2x4x6xf32>, tensor<2x4x6xf32>)
  return
}

// -----

// Tests that directions and samples of the other layers are split.
func.func @others(%x: tensor<5x4x3xf32>, %w: tensor<2x3x6x3xf32>, %r: tensor<2x3x6x6xf32>, %b: tensor<2x4x6xf32>, %s: tensor<2x4x6xf32>, %n: tensor<4xi64>,
                  %w1: tensor<2x1x6x3xf32>, %r1: tensor<2x1x6x6xf32>, %b1: tensor<2x1x6xf32>) {
  // CHECK-LABEL: gru: nn.gru
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK-NEXT: operand 0: ([0,4], n, [0,2])
  // CHECK-NEXT: operand 1: (dir, [0,2], [0,5], [0,2])
  // CHECK-NEXT: operand 2: (dir, [0,2], [0,5], [0,5])
  // CHECK-NEXT: operand 3: (dir, [0,3], [0,5])
  // CHECK-NEXT: operand 4: (dir, n, [0,5])
  // CHECK-NEXT: operand 5: (n)
  // CHECK-NEXT: result 0: ([0,4], dir, n, [0,5])
  // CHECK: nn.gru {{.*}} {nn.name = "gru"}
  // CHECK: nn.gru {{.*}} {nn.name = "gru", reverse}
  %0 = nn.gru %x, %w, %r, %b, %s lengths %n {nn.name = "gru", test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<4xi64>) -> tensor<5x2x4x6xf32>
  // CHECK-LABEL: rnn: nn.rnn
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK-NEXT: operand 0: ([0,4], n, [0,2])
  // CHECK-NEXT: operand 1: (dir, [0,0], [0,5], [0,2])
  // CHECK: result 0: ([0,4], dir, n, [0,5])
  // CHECK: nn.rnn {{.*}} {nn.name = "rnn", reverse}
  %1 = nn.rnn %x, %w1, %r1, %b1, %s {nn.name = "rnn", test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x4x6xf32>) -> tensor<5x2x4x6xf32>
  return
}
