// RUN: not soap-opt %s --nn-lower-precision=to=f8 2>&1 | FileCheck %s
// RUN: not soap-compile %s --precision=f8 -o %t.so 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not soap-compile %s --precision=tf32 -o %t.so 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: soap-compile %s --precision=tf32 --emit=nn -o %t.mlir
// RUN: not soap-compile %t.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: sed 's/f32>/f64>/g' %t.mlir | not soap-opt 2>&1 | FileCheck %s --check-prefix=TYPE

// Tests that types that nobody multiplies are refused, and TF32 on a target without
// tensor cores, whether an option asks for it or the model.

// CHECK: error: expected to=tf32, bf16 or f16, got: 'f8'
// OPTION: error: expected --precision=f32, tf32, bf16 or f16, got: 'f8'
// CPU: error: expected products of f32, bf16 or f16 for target cpu, got: tf32, to which only tensor cores of GPUs round; use --precision=f32, or --target=cuda
// TYPE: error: 'nn.matmul' op expected operands of f32 with 'tf32', got: 'f64'
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x6xf32>
  %p = nn.matmul %x, %x {nn.name = "p", transpose_b} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x8xf32>
  nn.output %p {nn.name = "y"} : tensor<8x8xf32>
  return
}
