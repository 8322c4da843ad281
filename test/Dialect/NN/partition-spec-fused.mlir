// RUN: soap-opt %s --test-partition-spec -o /dev/null | FileCheck %s

// Tests that an operation of several has the loops of its result, reads each
// operand as its parts do, and that a tile is the same operation on tiles.
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x6x2xf32>
  %v = nn.parameter {nn.name = "v"} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %s = nn.parameter {nn.name = "s"} : tensor<4x1x1xf32> from #nn.splat<1.0 : f32>
  // CHECK-LABEL: relu: nn.fused
  // CHECK-NEXT: loops: d0=4 sample d1=6 parameter d2=2 attribute
  // CHECK-NEXT: operand 0: (d0, d1, d2)
  // CHECK-NEXT: operand 1: (d1)
  // CHECK-NEXT: operand 2: (d0, [0,0], [0,0])
  // CHECK-NEXT: result 0: (d0, d1, d2)
  // CHECK-NEXT: task 0 on 0: reads [0:2, 0:2, 0:2] [0:2] [0:2, 0:1, 0:1] writes [0:2, 0:2, 0:2] flops 32 bytes 80
  // CHECK-NEXT: key nn.fused {nn.batch_norm epsilon=0.00999999977 %0 %1 %1 %1 %1 f32; nn.mul %3 %2 f32; nn.relu %4 f32} 2x2x2xf32 2xf32 2x1x1xf32 -> 2x2x2xf32
  // CHECK-NEXT: nn.fused(%{{.*}}, %{{.*}}, %{{.*}}) {nn.name = "relu"} : (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2x1x1xf32>) -> tensor<2x2x2xf32> {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: nn.batch_norm
  // CHECK-NEXT: nn.mul %{{.*}} : (tensor<2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<2x2x2xf32>
  // CHECK-NEXT: nn.relu %{{.*}} : tensor<2x2x2xf32>
  // CHECK-NEXT: nn.yield
  // CHECK: task 5 on 5: reads [2:4, 4:6, 0:2] [4:6] [2:4, 0:1, 0:1] writes [2:4, 4:6, 0:2] flops 32 bytes 80
  %0 = nn.fused(%x, %v, %s) {nn.name = "relu", soap.config = #soap.config<{d0 = 2, d1 = 3} on [0, 1, 2, 3, 4, 5]>} : (tensor<4x6x2xf32>, tensor<6xf32>, tensor<4x1x1xf32>) -> tensor<4x6x2xf32> {
  ^bb0(%a: tensor<4x6x2xf32>, %b: tensor<6xf32>, %c: tensor<4x1x1xf32>):
    %1 = nn.batch_norm %a, %b, %b, %b, %b {nn.name = "norm", epsilon = 0.01 : f32} : tensor<4x6x2xf32>, tensor<6xf32>
    %2 = nn.mul %1, %c {nn.name = "scale"} : (tensor<4x6x2xf32>, tensor<4x1x1xf32>) -> tensor<4x6x2xf32>
    %3 = nn.relu %2 {nn.name = "relu"} : tensor<4x6x2xf32>
    nn.yield %3 : tensor<4x6x2xf32>
  }
  // A reduction sums what its operations make of a tile.
  // CHECK-LABEL: squares: nn.fused_reduce
  // CHECK-NEXT: loops: d0=4 {{.*}} d1=6 {{.*}} d2=2
  // CHECK-NEXT: operand 0: (d0, d1, d2)
  // CHECK-NEXT: operand 1: (d1, [0,0])
  // CHECK-NEXT: result 0: (d1) {{.*}}sum
  // CHECK-NEXT: task 0 on 0: reads [0:2, 0:2, 0:2] [0:2, 0:1] writes [0:2] flops 24
  // CHECK-NEXT: key nn.fused_reduce {nn.sub %0 %1 f32; nn.mul %2 %2 f32; nn.reduce {{.*}} %3 f32} 2x2x2xf32 2x1xf32 -> 2xf32
  // CHECK-NEXT: nn.fused_reduce(%{{.*}}, %{{.*}}) {nn.name = "squares"} : (tensor<2x2x2xf32>, tensor<2x1xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: nn.sub
  // CHECK-NEXT: nn.mul
  // CHECK-NEXT: nn.reduce %{{.*}}scale = 1.250000e-01 : f32} : (tensor<2x2x2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: nn.yield
  %m = nn.parameter {nn.name = "m"} : tensor<6x1xf32> from #nn.splat<1.0 : f32>
  %r = nn.fused_reduce(%0, %m) {nn.name = "squares", soap.config = #soap.config<{d0 = 2, d1 = 3} on [0, 1, 2, 3, 4, 5]>} : (tensor<4x6x2xf32>, tensor<6x1xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<4x6x2xf32>, %b: tensor<6x1xf32>):
    %1 = nn.sub %a, %b {nn.name = "centred"} : (tensor<4x6x2xf32>, tensor<6x1xf32>) -> tensor<4x6x2xf32>
    %2 = nn.mul %1, %1 {nn.name = "square"} : (tensor<4x6x2xf32>, tensor<4x6x2xf32>) -> tensor<4x6x2xf32>
    %3 = nn.reduce %2 {nn.name = "squares", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 2>, keepdims = false, scale = 0.125 : f32} : (tensor<4x6x2xf32>) -> tensor<6xf32>
    nn.yield %3 : tensor<6xf32>
  }
  nn.output %r {nn.name = "z"} : tensor<6xf32>
  nn.output %0 {nn.name = "y"} : tensor<4x6x2xf32>
  return
}
