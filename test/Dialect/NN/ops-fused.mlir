// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// Tests that operations of several survive a round trip.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %s: tensor<f32>) {
  // CHECK: nn.fused(%{{.*}}, %{{.*}}, %{{.*}}) {nn.name = "relu"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x3x4xf32>, %[[C:.*]]: tensor<3xf32>, %[[S:.*]]: tensor<f32>):
  // CHECK-NEXT: %[[N:.*]] = nn.batch_norm %[[X]], %[[C]], %[[C]], %[[C]], %[[C]] {{.*}}nn.name = "norm"
  // CHECK-NEXT: %[[M:.*]] = nn.mul %[[N]], %[[S]] {nn.name = "scale"}
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[M]] {nn.name = "relu"}
  // CHECK-NEXT: nn.yield %[[R]] : tensor<2x3x4xf32>
  // CHECK-NEXT: }
  %0 = nn.fused(%x, %c, %s) {nn.name = "relu"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3x4xf32> {
  ^bb0(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %f: tensor<f32>):
    %1 = nn.batch_norm %a, %b, %b, %b, %b {nn.name = "norm", epsilon = 0.01 : f32} : tensor<2x3x4xf32>, tensor<3xf32>
    %2 = nn.mul %1, %f {nn.name = "scale"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %3 = nn.relu %2 {nn.name = "relu"} : tensor<2x3x4xf32>
    nn.yield %3 : tensor<2x3x4xf32>
  }

  // CHECK: nn.fused_reduce(%{{.*}}, %{{.*}}) {nn.name = "squares"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32> {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x3x4xf32>, %[[S:.*]]: tensor<f32>):
  // CHECK-NEXT: %[[D:.*]] = nn.sub %[[X]], %[[S]] {nn.name = "centred"}
  // CHECK-NEXT: %[[M:.*]] = nn.mul %[[D]], %[[D]] {nn.name = "square"}
  // CHECK-NEXT: %[[R:.*]] = nn.reduce %[[M]] {axes = array<i64: 0, 2>, keepdims = false, kind = #nn.reduce_kind<sum>, nn.name = "squares", scale = 1.250000e-01 : f32}
  // CHECK-NEXT: nn.yield %[[R]] : tensor<3xf32>
  // CHECK-NEXT: }
  %4 = nn.fused_reduce(%x, %s) {nn.name = "squares"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<2x3x4xf32>, %f: tensor<f32>):
    %1 = nn.sub %a, %f {nn.name = "centred"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %2 = nn.mul %1, %1 {nn.name = "square"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %3 = nn.reduce %2 {nn.name = "squares", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2>, keepdims = false, scale = 0.125 : f32} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    nn.yield %3 : tensor<3xf32>
  }
  return
}
