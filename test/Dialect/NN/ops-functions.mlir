// Tests that functions of one or two numbers survive a round trip, in their own and in the
// generic form.
// RUN: soap-opt %s | soap-opt | FileCheck %s
// RUN: soap-opt %s --mlir-print-op-generic | soap-opt | FileCheck %s

// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<8x4xf32>, %i: tensor<4xi64>) {
  // CHECK: nn.tan %{{.*}} {nn.name = "tan"} : tensor<8x4xf32>
  %0 = nn.tan %x {nn.name = "tan"} : tensor<8x4xf32>
  // CHECK: nn.asin %{{.*}} {nn.name = "asin"} : tensor<8x4xf32>
  %1 = nn.asin %x {nn.name = "asin"} : tensor<8x4xf32>
  // CHECK: nn.acos %{{.*}} {nn.name = "acos"} : tensor<8x4xf32>
  %2 = nn.acos %x {nn.name = "acos"} : tensor<8x4xf32>
  // CHECK: nn.atan %{{.*}} {nn.name = "atan"} : tensor<8x4xf32>
  %3 = nn.atan %x {nn.name = "atan"} : tensor<8x4xf32>
  // CHECK: nn.sinh %{{.*}} {nn.name = "sinh"} : tensor<8x4xf32>
  %4 = nn.sinh %x {nn.name = "sinh"} : tensor<8x4xf32>
  // CHECK: nn.cosh %{{.*}} {nn.name = "cosh"} : tensor<8x4xf32>
  %5 = nn.cosh %x {nn.name = "cosh"} : tensor<8x4xf32>
  // CHECK: nn.asinh %{{.*}} {nn.name = "asinh"} : tensor<8x4xf32>
  %6 = nn.asinh %x {nn.name = "asinh"} : tensor<8x4xf32>
  // CHECK: nn.acosh %{{.*}} {nn.name = "acosh"} : tensor<8x4xf32>
  %7 = nn.acosh %x {nn.name = "acosh"} : tensor<8x4xf32>
  // CHECK: nn.atanh %{{.*}} {nn.name = "atanh"} : tensor<8x4xf32>
  %8 = nn.atanh %x {nn.name = "atanh"} : tensor<8x4xf32>
  // CHECK: nn.sign %{{.*}} {nn.name = "sign"} : tensor<4xi64>
  %9 = nn.sign %i {nn.name = "sign"} : tensor<4xi64>
  // CHECK: nn.mod %{{.*}}, %{{.*}} {nn.name = "mod"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %10 = nn.mod %i, %i {nn.name = "mod"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: nn.mod %{{.*}}, %{{.*}} {nn.name = "fmod", truncate}
  %11 = nn.mod %x, %x {nn.name = "fmod", truncate} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.and {{.*}} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %12 = nn.and %i, %i {nn.name = "and"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: nn.not {{.*}} : tensor<4xi64>
  %13 = nn.not %i {nn.name = "not"} : tensor<4xi64>
  return
}
