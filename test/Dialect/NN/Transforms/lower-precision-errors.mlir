// RUN: not soap-opt %s --nn-lower-precision=to=f8 2>&1 | FileCheck %s
// RUN: not soap-compile %s --precision=f8 -o %t.so 2>&1 | FileCheck %s --check-prefix=OPTION

// Tests that types that nobody multiplies are refused.

// CHECK: error: expected to=bf16 or f16, got: 'f8'
// OPTION: error: expected --precision=f32, bf16 or f16, got: 'f8'
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  nn.output %x {nn.name = "y"} : tensor<8x6xf32>
  return
}
