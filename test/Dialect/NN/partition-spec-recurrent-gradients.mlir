// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that the gradients within an LSTM are split by samples, over which parts
// of the peephole's gradient are summed, and by directions.
func.func @lstm(%x: tensor<5x4x3xf32>, %w: tensor<2x4x6x3xf32>, %r: tensor<2x4x6x6xf32>, %b: tensor<2x4x6xf32>, %s: tensor<2x4x6xf32>,
                %y: tensor<5x2x4x6xf32>, %n: tensor<4xi32>, %p: tensor<2x3x6xf32>) {
  // CHECK-LABEL: lstm: nn.lstm_backward
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK-NEXT: operand 0: ([0,4], n, [0,2])
  // CHECK: operand 6: ([0,4], dir, n, [0,5])
  // CHECK-NEXT: operand 7: ([0,4], dir, n, [0,5])
  // CHECK-NEXT: operand 8: (dir, n, [0,5])
  // CHECK-NEXT: operand 9: (n)
  // CHECK-NEXT: operand 10: (dir, [0,2], [0,5])
  // CHECK-NEXT: result 0: (dir, n, [0,4], [0,3], [0,5])
  // CHECK-NEXT: result 1: (dir, n, [0,4], [0,5])
  // CHECK-NEXT: result 2: (dir, n, [0,5])
  // CHECK-NEXT: result 3: (dir, n, [0,5])
  // CHECK-NEXT: result 4: (dir, [0,2], [0,5]) sum
  // CHECK: nn.lstm_backward {{.*}} {nn.name = "lstm"} {{.*}} -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>)
  // CHECK: nn.lstm_backward {{.*}} {nn.name = "lstm", reverse}
  %0:5 = nn.lstm_backward %x, %w, %r, %b, %s, %s, %y, %y, %s lengths %n peephole %p {nn.name = "lstm", test.degrees = {dir = 2, n = 2}} : (tensor<5x4x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<5x2x4x6xf32>, tensor<5x2x4x6xf32>, tensor<2x4x6xf32>, tensor<4xi32>, tensor<2x3x6xf32>) -> (tensor<2x4x5x4x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x3x6xf32>)
  return
}

// -----

// Tests that directions and samples of the others are split, too.
func.func @others(%x: tensor<5x4x3xf32>, %w: tensor<2x3x6x3xf32>, %r: tensor<2x3x6x6xf32>, %b: tensor<2x4x6xf32>, %s: tensor<2x4x6xf32>,
                  %y: tensor<5x2x4x6xf32>, %n: tensor<4xi64>, %w1: tensor<2x1x6x3xf32>, %r1: tensor<2x1x6x6xf32>, %b1: tensor<2x1x6xf32>) {
  // CHECK-LABEL: gru: nn.gru_backward
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK: operand 7: (n)
  // CHECK-NEXT: result 0: (dir, n, [0,4], [0,2], [0,5])
  // CHECK-NEXT: result 1: (dir, n, [0,4], [0,5])
  // CHECK-NEXT: result 2: (dir, n, [0,4], [0,5])
  // CHECK-NEXT: result 3: (dir, n, [0,5])
  // CHECK: nn.gru_backward {{.*}} {nn.name = "gru"}
  // CHECK: nn.gru_backward {{.*}} {nn.name = "gru", reverse}
  %0:4 = nn.gru_backward %x, %w, %r, %b, %s, %y, %y lengths %n {nn.name = "gru", test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<5x2x4x6xf32>, tensor<5x2x4x6xf32>, tensor<4xi64>) -> (tensor<2x4x5x3x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x6xf32>)
  // CHECK-LABEL: rnn: nn.rnn_backward
  // CHECK-NEXT: loops: dir=2 attribute n=4 attribute
  // CHECK: result 0: (dir, n, [0,4], [0,0], [0,5])
  // CHECK: nn.rnn_backward {{.*}} {nn.name = "rnn", reverse}
  %1:3 = nn.rnn_backward %x, %w1, %r1, %b1, %s, %y, %y {nn.name = "rnn", test.degrees = {dir = 2}} : (tensor<5x4x3xf32>, tensor<2x1x6x3xf32>, tensor<2x1x6x6xf32>, tensor<2x1x6xf32>, tensor<2x4x6xf32>, tensor<5x2x4x6xf32>, tensor<5x2x4x6xf32>) -> (tensor<2x4x5x1x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x6xf32>)
  return
}
