// Tests that operations of gradients of recurrent layers survive a round trip,
// in their own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @lstm
func.func @lstm(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>,
                %y: tensor<5x1x2x6xf32>, %n: tensor<2xi32>, %p: tensor<1x3x6xf32>) {
  // CHECK: nn.lstm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {nn.name = "plain"} : (tensor<5x2x3xf32>, {{.*}}) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  %0:4 = nn.lstm_backward %x, %w, %r, %b, %s, %s, %y, %y, %s {nn.name = "plain"} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>)
  // CHECK: nn.lstm_backward {{.*}} lengths %{{.*}} peephole %{{.*}} {clip = 5.000000e-01 : f32, input_forget, nn.name = "full", reverse} : {{.*}}, tensor<1x3x6xf32>)
  %1:5 = nn.lstm_backward %x, %w, %r, %b, %s, %s, %y, %y, %s lengths %n peephole %p {nn.name = "full", reverse, input_forget, clip = 0.5 : f32} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<1x2x6xf32>, tensor<2xi32>, tensor<1x3x6xf32>) -> (tensor<1x2x5x4x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>)
  return
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>,
                  %y: tensor<5x1x2x6xf32>, %n: tensor<2xi32>, %w1: tensor<1x1x6x3xf32>, %r1: tensor<1x1x6x6xf32>, %b1: tensor<1x1x6xf32>) {
  // CHECK: nn.gru_backward {{.*}} lengths %{{.*}} {linear_before_reset, nn.name = "gru"} : {{.*}} -> (tensor<1x2x5x3x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  %0:4 = nn.gru_backward %x, %w, %r, %b, %s, %y, %y lengths %n {nn.name = "gru", linear_before_reset} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<2xi32>) -> (tensor<1x2x5x3x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  // CHECK: nn.rnn_backward {{.*}} {activations = [#nn.activation<relu, 0.000000e+00, 0.000000e+00>], nn.name = "rnn"} : {{.*}} -> (tensor<1x2x5x1x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  %1:3 = nn.rnn_backward %x, %w1, %r1, %b1, %s, %y, %y {nn.name = "rnn", activations = [#nn.activation<relu, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>, tensor<5x1x2x6xf32>, tensor<5x1x2x6xf32>) -> (tensor<1x2x5x1x6xf32>, tensor<1x2x5x6xf32>, tensor<1x2x6xf32>)
  return
}
