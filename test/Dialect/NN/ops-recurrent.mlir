// Tests that recurrent layers survive a round trip, in their own and in the
// generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @lstm
func.func @lstm(%x: tensor<5x2x3xf32>, %w: tensor<1x4x6x3xf32>, %r: tensor<1x4x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>,
                %n: tensor<2xi32>, %p: tensor<1x3x6xf32>) {
  // CHECK: nn.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} lengths %{{.*}} peephole %{{.*}} {clip = 5.000000e-01 : f32, input_forget, nn.name = "all", reverse}
  %0:2 = nn.lstm %x, %w, %r, %b, %s, %s lengths %n peephole %p {nn.name = "all", reverse, input_forget, clip = 0.5 : f32} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<2xi32>, tensor<1x3x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  // CHECK: nn.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} peephole %{{.*}} {activations = [#nn.activation<hard_sigmoid, 2.000000e-01, 5.000000e-01>, #nn.activation<relu, 0.000000e+00, 0.000000e+00>, #nn.activation<softsign, 0.000000e+00, 0.000000e+00>], nn.name = "peeps"}
  %1:2 = nn.lstm %x, %w, %r, %b, %s, %s peephole %p {nn.name = "peeps", activations = [#nn.activation<hard_sigmoid, 0.2, 0.5>, #nn.activation<relu, 0.0, 0.0>, #nn.activation<softsign, 0.0, 0.0>]} : (tensor<5x2x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x2x6xf32>, tensor<1x3x6xf32>) -> (tensor<5x1x2x6xf32>, tensor<1x2x6xf32>)
  return
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<5x2x3xf32>, %w: tensor<1x3x6x3xf32>, %r: tensor<1x3x6x6xf32>, %b: tensor<1x4x6xf32>, %s: tensor<1x2x6xf32>,
                  %n: tensor<2xi64>, %w1: tensor<1x1x6x3xf32>, %r1: tensor<1x1x6x6xf32>, %b1: tensor<1x1x6xf32>) {
  // CHECK: nn.gru %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {linear_before_reset, nn.name = "gru"} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  %0 = nn.gru %x, %w, %r, %b, %s {nn.name = "gru", linear_before_reset} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>) -> tensor<5x1x2x6xf32>
  // CHECK: nn.gru {{.*}} lengths %{{.*}} {nn.name = "short", reverse}
  %1 = nn.gru %x, %w, %r, %b, %s lengths %n {nn.name = "short", reverse} : (tensor<5x2x3xf32>, tensor<1x3x6x3xf32>, tensor<1x3x6x6xf32>, tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<2xi64>) -> tensor<5x1x2x6xf32>
  // CHECK: nn.rnn {{.*}} lengths %{{.*}} {clip = 1.000000e+00 : f32, nn.name = "rnn"} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>, tensor<2xi64>) -> tensor<5x1x2x6xf32>
  %2 = nn.rnn %x, %w1, %r1, %b1, %s lengths %n {nn.name = "rnn", clip = 1.0 : f32} : (tensor<5x2x3xf32>, tensor<1x1x6x3xf32>, tensor<1x1x6x6xf32>, tensor<1x1x6xf32>, tensor<1x2x6xf32>, tensor<2xi64>) -> tensor<5x1x2x6xf32>
  return
}
