// RUN: soap-opt %s --split-input-file --test-partition-spec -o /dev/null | FileCheck %s

// Tests that attention is split by batch dimensions and rows, that every task
// reads all keys and values of its batch, and that a mask is read as it
// broadcasts.
func.func @attention(%k: tensor<2x3x8x7xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<2x1x6x7xi1>) {
  %q = nn.input {nn.name = "q"} : tensor<2x3x6x8xf32>
  // CHECK-LABEL: context: nn.attention
  // CHECK-NEXT: loops: b0=2 sample b1=3 attribute n=6 attribute
  // CHECK-NEXT: operand 0: (b0, b1, n, [0,7])
  // CHECK-NEXT: operand 1: (b0, b1, [0,7], [0,6])
  // CHECK-NEXT: operand 2: (b0, b1, [0,6], [0,3])
  // CHECK-NEXT: operand 3: (b0, [0,0], n, [0,6])
  // CHECK-NEXT: result 0: (b0, b1, n, [0,3])
  // CHECK: task 1: reads [0:2, 0:3, 3:6, 0:8] [0:2, 0:3, 0:8, 0:7] [0:2, 0:3, 0:7, 0:4] [0:2, 0:1, 3:6, 0:7] writes [0:2, 0:3, 3:6, 0:4] flops 3528
  // CHECK-NEXT: key nn.attention fill=-1.000000e+04 scale=5.000000e-01 transposed_keys=1 2x3x3x8xf32 2x3x8x7xf32 2x3x7x4xf32 2x1x3x7xi1 -> 2x3x3x4xf32
  %0 = nn.attention %q, %k, %v mask %m {nn.name = "context", transposed_keys, scale = 0.5 : f32, fill = -1.0e+04 : f32, test.degrees = {n = 2}} : (tensor<2x3x6x8xf32>, tensor<2x3x8x7xf32>, tensor<2x3x7x4xf32>, tensor<2x1x6x7xi1>) -> tensor<2x3x6x4xf32>
  return
}
