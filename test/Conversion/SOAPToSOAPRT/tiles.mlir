// RUN: soap-opt %s --convert-soap-to-soaprt | FileCheck %s

// Tests that every buffer says which part of which value it holds: fed boxes,
// loads, partial results, what a reduction makes of them; but once only, if a
// slice is a view of the whole. The shape is that of the whole value.

// CHECK-LABEL: soaprt.device @d0
// CHECK: soaprt.main {
// CHECK: soaprt.tile "w" : 0 of tensor<6x4xf32> at [0, 0] in %[[W:.*]] : <3x4xf32, parameters>
// CHECK-NEXT: soaprt.tile "x" : 0 of tensor<2x6xf32> at [0, 0] in %{{.*}} : <2x3xf32, activations>
// CHECK-NEXT: soaprt.tile "fc" : 0 of tensor<2x4xf32> at [0, 0] parts [0] of 2 summed in %{{.*}} : <2x4xf32, activations>
// CHECK-NEXT: soaprt.tile "fc" : 0 of tensor<2x4xf32> at [0, 0] in %{{.*}} : <2x4xf32, activations>
// CHECK-NOT: soaprt.tile
// CHECK-LABEL: soaprt.device @d1
// CHECK: soaprt.tile "w" : 0 of tensor<6x4xf32> at [3, 0] in
// CHECK-NEXT: soaprt.tile "x" : 0 of tensor<2x6xf32> at [0, 3] in
// CHECK-NEXT: soaprt.tile "fc" : 0 of tensor<2x4xf32> at [0, 0] parts [1] of 2 summed in
// CHECK-NEXT: soaprt.tile "fc" : 0 of tensor<2x4xf32> at [0, 0] in
// CHECK-NOT: soaprt.tile
func.func @main() {
  %w0 = soap.task "w" 0 phase init () -> (!soap.shard<tensor<3x4xf32>, on 0> as #soap.box<"w":0, [0:3, 0:4]>) {
    %0 = nn.parameter {nn.name = "w", offsets = array<i64: 0, 0>, global_shape = array<i64: 6, 4>} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %w1 = soap.task "w" 1 phase init () -> (!soap.shard<tensor<3x4xf32>, on 1> as #soap.box<"w":0, [3:6, 0:4]>) {
    %0 = nn.parameter {nn.name = "w", offsets = array<i64: 3, 0>, global_shape = array<i64: 6, 4>} : tensor<3x4xf32> from #nn.splat<1.0 : f32>
    soap.return %0 : tensor<3x4xf32>
  }
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<2x6xf32>, on host> as #soap.box<"x":0, [0:2, 0:6]>) {
    %0 = nn.input {nn.name = "x"} : tensor<2x6xf32>
    soap.return %0 : tensor<2x6xf32>
  }
  %s0 = soap.slice %x : !soap.shard<tensor<2x6xf32>, on host> -> (!soap.shard<tensor<2x3xf32>, on host> as #soap.box<"x":0, [0:2, 0:3]>)
  %s1 = soap.slice %x : !soap.shard<tensor<2x6xf32>, on host> -> (!soap.shard<tensor<2x3xf32>, on host> as #soap.box<"x":0, [0:2, 3:6]>)
  %f:2 = soap.transfer %s0, %s1 action 0 phase feed : !soap.shard<tensor<2x3xf32>, on host>, !soap.shard<tensor<2x3xf32>, on host>
    -> (!soap.shard<tensor<2x3xf32>, on 0> as #soap.box<"x":0, [0:2, 0:3]>, !soap.shard<tensor<2x3xf32>, on 1> as #soap.box<"x":0, [0:2, 3:6]>)
  %whole = soap.slice %f#0 : !soap.shard<tensor<2x3xf32>, on 0> -> (!soap.shard<tensor<2x3xf32>, on 0> as #soap.box<"x":0, [0:2, 0:3]>)
  %p0 = soap.task "fc" 0 (%a = %whole : !soap.shard<tensor<2x3xf32>, on 0>, %b = %w0 : !soap.shard<tensor<3x4xf32>, on 0>) -> (!soap.shard<tensor<2x4xf32>, on 0, partial = sum> as #soap.box<"fc":0, [0:2, 0:4], part 0 of 2>) {
    %0 = nn.matmul %a, %b {nn.name = "fc"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    soap.return %0 : tensor<2x4xf32>
  }
  %p1 = soap.task "fc" 1 (%a = %f#1 : !soap.shard<tensor<2x3xf32>, on 1>, %b = %w1 : !soap.shard<tensor<3x4xf32>, on 1>) -> (!soap.shard<tensor<2x4xf32>, on 1, partial = sum> as #soap.box<"fc":0, [0:2, 0:4], part 1 of 2>) {
    %0 = nn.matmul %a, %b {nn.name = "fc"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    soap.return %0 : tensor<2x4xf32>
  }
  %r:2 = soap.all_reduce %p0, %p1 over [0, 1] action 0 : !soap.shard<tensor<2x4xf32>, on 0, partial = sum>, !soap.shard<tensor<2x4xf32>, on 1, partial = sum>
    -> (!soap.shard<tensor<2x4xf32>, on 0> as #soap.box<"fc":0, [0:2, 0:4]>, !soap.shard<tensor<2x4xf32>, on 1> as #soap.box<"fc":0, [0:2, 0:4]>)
  soap.discard %r#0, %r#1 : !soap.shard<tensor<2x4xf32>, on 0>, !soap.shard<tensor<2x4xf32>, on 1>
  return
}
