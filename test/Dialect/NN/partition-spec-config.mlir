// RUN: soap-opt %s --test-partition-spec -o /dev/null | FileCheck %s
// RUN: %python %S/Inputs/every_op.py %root/include/soap/Dialect/NN/IR %S/partition-spec*.mlir

// Tests operations with a configuration: boxes and the device of every task,
// tasks in the declared order of loops whatever the order of degrees, copies
// innermost.
func.func @main() {
  // CHECK-LABEL: x: nn.input
  // CHECK-NEXT: loops: d0=4 sample d1=6 attribute
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on host: reads writes [0:4, 0:6] flops 0
  %x = nn.input {nn.name = "x", soap.config = #soap.config<{} on [host]>} : tensor<4x6xf32>
  // CHECK-LABEL: p: nn.parameter
  // CHECK-NEXT: loops: d0=5 parameter d1=6 parameter
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 3: reads writes [0:2, 0:6] flops 0
  // CHECK: task 1 on 0: reads writes [0:2, 0:6] flops 0
  // CHECK: task 2 on 2: reads writes [2:5, 0:6] flops 0
  // CHECK: task 3 on 1: reads writes [2:5, 0:6] flops 0
  %p = nn.parameter {nn.name = "p", soap.config = #soap.config<{d0 = 2} replicate = 2 on [3, 0, 2, 1]>} : tensor<5x6xf32> from #nn.splat<1.0 : f32>
  // CHECK-LABEL: w: nn.parameter
  // CHECK-NEXT: loops: d0=6 parameter d1=5 parameter
  // CHECK-NEXT: result 0: (d0, d1)
  %w = nn.parameter {nn.name = "w"} : tensor<6x5xf32> from #nn.splat<1.0 : f32>
  // CHECK-LABEL: b: nn.parameter
  // CHECK-NEXT: loops: d0=5 parameter
  // CHECK-NEXT: result 0: (d0)
  %b = nn.parameter {nn.name = "b"} : tensor<5xf32> from #nn.splat<1.0 : f32>
  // CHECK-LABEL: fc: nn.matmul
  // CHECK-NEXT: loops: n=4 sample f=5 parameter k=6 parameter reduction
  // CHECK-NEXT: operand 0: (n, k)
  // CHECK-NEXT: operand 1: (k, f)
  // CHECK-NEXT: operand 2: (f) first only
  // CHECK-NEXT: result 0: (n, f) sum
  // CHECK-NEXT: task 0 on 0: reads [0:2, 0:3] [0:3, 0:5] [0:5] writes [0:2, 0:5] flops 60
  // CHECK: task 1 on 1: reads [0:2, 3:6] [3:6, 0:5] none writes [0:2, 0:5] flops 60
  // CHECK: task 2 on 2: reads [2:4, 0:3] [0:3, 0:5] [0:5] writes [2:4, 0:5] flops 60
  // CHECK: task 3 on 3: reads [2:4, 3:6] [3:6, 0:5] none writes [2:4, 0:5] flops 60
  %fc = nn.matmul %x, %w bias %b {nn.name = "fc", soap.config = #soap.config<{k = 2, n = 2} on [0, 1, 2, 3]>} : (tensor<4x6xf32>, tensor<6x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: sub: nn.sub
  // CHECK-NEXT: loops: d0=4 sample d1=5 parameter
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 1: reads [0:4, 0:2] [0:2] writes [0:4, 0:2] flops 8
  // CHECK: task 1 on 0: reads [0:4, 2:5] [2:5] writes [0:4, 2:5] flops 12
  %sub = nn.sub %fc, %b {nn.name = "sub", soap.config = #soap.config<{d1 = 2} on [1, 0]>} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: mul: nn.mul
  // CHECK-NEXT: loops: d0=4 sample d1=5 parameter
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 0: reads [0:2, 0:2] [0:2] writes [0:2, 0:2] flops 4
  // CHECK: task 1 on 0: reads [0:2, 2:5] [2:5] writes [0:2, 2:5] flops 6
  // CHECK: task 2 on 1: reads [2:4, 0:2] [0:2] writes [2:4, 0:2] flops 4
  // CHECK: task 3 on 1: reads [2:4, 2:5] [2:5] writes [2:4, 2:5] flops 6
  %mul = nn.mul %sub, %b {nn.name = "mul", soap.config = #soap.config<{d1 = 2, d0 = 2} on [0, 0, 1, 1]>} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: div: nn.div
  // CHECK-NEXT: loops: d0=4 sample d1=5 parameter
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 2: reads [0:1, 0:5] [0:5] writes [0:1, 0:5] flops 5
  // CHECK: task 1 on 1: reads [1:2, 0:5] [0:5] writes [1:2, 0:5] flops 5
  // CHECK: task 2 on 0: reads [2:4, 0:5] [0:5] writes [2:4, 0:5] flops 10
  %div = nn.div %mul, %b {nn.name = "div", soap.config = #soap.config<{d0 = 3} on [2, 1, 0]>} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: max: nn.max
  // CHECK-NEXT: loops: d0=4 sample d1=5 parameter
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 0: reads [0:4, 0:1] [0:1] writes [0:4, 0:1] flops 4
  // CHECK: task 1 on 1: reads [0:4, 1:2] [1:2] writes [0:4, 1:2] flops 4
  // CHECK: task 2 on 2: reads [0:4, 2:3] [2:3] writes [0:4, 2:3] flops 4
  // CHECK: task 3 on 3: reads [0:4, 3:4] [3:4] writes [0:4, 3:4] flops 4
  // CHECK: task 4 on 4: reads [0:4, 4:5] [4:5] writes [0:4, 4:5] flops 4
  %max = nn.max %div, %b {nn.name = "max", soap.config = #soap.config<{d1 = 5} on [0 to 4]>} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: min: nn.min
  // CHECK-NEXT: loops: d0=4 sample d1=5 parameter
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 0: reads [0:4, 0:5] [0:5] writes [0:4, 0:5] flops 20
  // CHECK: task 1 on 1: reads [0:4, 0:5] [0:5] writes [0:4, 0:5] flops 20
  %min = nn.min %max, %b {nn.name = "min", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-LABEL: sigmoid: nn.sigmoid
  // CHECK-NEXT: loops: d0=4 sample d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 5: reads [0:2, 0:5] writes [0:2, 0:5] flops 10
  // CHECK: task 1 on 4: reads [2:4, 0:5] writes [2:4, 0:5] flops 10
  %sigmoid = nn.sigmoid %min {nn.name = "sigmoid", soap.config = #soap.config<{d0 = 2} on [5, 4]>} : tensor<4x5xf32>
  // CHECK-LABEL: tanh: nn.tanh
  // CHECK-NEXT: loops: d0=4 sample d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 0: reads [0:4, 0:1] writes [0:4, 0:1] flops 4
  // CHECK: task 1 on 1: reads [0:4, 1:3] writes [0:4, 1:3] flops 8
  // CHECK: task 2 on 0: reads [0:4, 3:5] writes [0:4, 3:5] flops 8
  %tanh = nn.tanh %sigmoid {nn.name = "tanh", soap.config = #soap.config<{d1 = 3} on [0, 1, 0]>} : tensor<4x5xf32>
  // CHECK-LABEL: sqrt: nn.sqrt
  // CHECK-NEXT: loops: d0=4 sample d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 0: reads [0:1, 0:5] writes [0:1, 0:5] flops 5
  // CHECK: task 1 on 0: reads [1:2, 0:5] writes [1:2, 0:5] flops 5
  // CHECK: task 2 on 0: reads [2:3, 0:5] writes [2:3, 0:5] flops 5
  // CHECK: task 3 on 0: reads [3:4, 0:5] writes [3:4, 0:5] flops 5
  %sqrt = nn.sqrt %tanh {nn.name = "sqrt", soap.config = #soap.config<{d0 = 4} on [0, 0, 0, 0]>} : tensor<4x5xf32>
  // CHECK-LABEL: clip: nn.clip
  // CHECK-NEXT: loops: d0=4 sample d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: result 0: (d0, d1)
  // CHECK-NEXT: task 0 on 1: reads [0:2, 0:5] writes [0:2, 0:5] flops 10
  // CHECK: task 1 on 0: reads [2:4, 0:5] writes [2:4, 0:5] flops 10
  %clip = nn.clip %sqrt {nn.name = "clip", soap.config = #soap.config<{d0 = 2} on [1, 0]>, min = 0.0 : f32, max = 6.0 : f32} : tensor<4x5xf32>
  // CHECK-LABEL: y: nn.output
  // CHECK-NEXT: loops: d0=4 sample d1=5 attribute
  // CHECK-NEXT: operand 0: (d0, d1)
  // CHECK-NEXT: task 0 on host: reads [0:4, 0:5] writes flops 0
  nn.output %clip {nn.name = "y", soap.config = #soap.config<{} on [host]>} : tensor<4x5xf32>
  return
}
