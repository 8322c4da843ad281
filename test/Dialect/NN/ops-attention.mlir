// Tests that attention survives a round trip, in its own and in the generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x3xf32>, %k: tensor<2x7x3xf32>, %t: tensor<2x3x7xf32>, %v: tensor<2x7x4xf32>, %m: tensor<5x7xi1>, %a: tensor<7xf32>) {
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} {nn.name = "plain"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  %0 = nn.attention %q, %k, %v {nn.name = "plain"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {fill = -1.000000e+04 : f32, nn.name = "hidden", scale = 5.000000e-01 : f32, transposed_keys}
  %1 = nn.attention %q, %t, %v mask %m {nn.name = "hidden", scale = 0.5 : f32, fill = -1.0e+04 : f32, transposed_keys} : (tensor<2x5x3xf32>, tensor<2x3x7xf32>, tensor<2x7x4xf32>, tensor<5x7xi1>) -> tensor<2x5x4xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {fill = 0xFF800000 : f32, mask_keeps, nn.name = "kept"}
  %2 = nn.attention %q, %k, %v mask %m {nn.name = "kept", mask_keeps, fill = 0xFF800000 : f32} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>, tensor<5x7xi1>) -> tensor<2x5x4xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {nn.name = "added"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>, tensor<7xf32>) -> tensor<2x5x4xf32>
  %3 = nn.attention %q, %k, %v mask %a {nn.name = "added"} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>, tensor<2x7x4xf32>, tensor<7xf32>) -> tensor<2x5x4xf32>
  return
}
