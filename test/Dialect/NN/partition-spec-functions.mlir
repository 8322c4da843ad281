// RUN: soap-opt %s --test-partition-spec -o /dev/null | FileCheck %s

// Tests that functions of one or two numbers have the loops of their result.
func.func @functions(%x: tensor<4x3xf32>, %i: tensor<4x3xi64>, %c: tensor<3xi64>) {
  // CHECK-LABEL: tan: nn.tan
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %0 = nn.tan %x {nn.name = "tan"} : tensor<4x3xf32>
  // CHECK-LABEL: asin: nn.asin
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %1 = nn.asin %x {nn.name = "asin"} : tensor<4x3xf32>
  // CHECK-LABEL: acos: nn.acos
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %2 = nn.acos %x {nn.name = "acos"} : tensor<4x3xf32>
  // CHECK-LABEL: atan: nn.atan
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %3 = nn.atan %x {nn.name = "atan"} : tensor<4x3xf32>
  // CHECK-LABEL: sinh: nn.sinh
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %4 = nn.sinh %x {nn.name = "sinh"} : tensor<4x3xf32>
  // CHECK-LABEL: cosh: nn.cosh
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %5 = nn.cosh %x {nn.name = "cosh"} : tensor<4x3xf32>
  // CHECK-LABEL: asinh: nn.asinh
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %6 = nn.asinh %x {nn.name = "asinh"} : tensor<4x3xf32>
  // CHECK-LABEL: acosh: nn.acosh
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %7 = nn.acosh %x {nn.name = "acosh"} : tensor<4x3xf32>
  // CHECK-LABEL: atanh: nn.atanh
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  %8 = nn.atanh %x {nn.name = "atanh"} : tensor<4x3xf32>
  // CHECK-LABEL: sign: nn.sign
  // CHECK: result 0: (d0, d1)
  %9 = nn.sign %i {nn.name = "sign"} : tensor<4x3xi64>
  // CHECK-LABEL: mod: nn.mod
  // CHECK-NEXT: loops: d0=4 attribute d1=3 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK: key nn.mod truncate=1 2x3xi64 3xi64 -> 2x3xi64
  %10 = nn.mod %i, %c {nn.name = "mod", truncate, test.degrees = {d0 = 2}} : (tensor<4x3xi64>, tensor<3xi64>) -> tensor<4x3xi64>
  return
}
