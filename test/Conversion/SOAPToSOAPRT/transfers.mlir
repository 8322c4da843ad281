// RUN: soap-opt %s --convert-soap-to-soaprt --soaprt-assign-streams --soaprt-plan-memory | FileCheck %s

// Tests that an operation that is split over two devices is fed, gathered on one
// device by a transfer, and drained from there; each device has its own rows.

// CHECK-DAG: soaprt.input @in0 "x" : tensor<4x16xf32>
// CHECK-DAG: soaprt.output @out0 "y" : tensor<4x16xf32>
// CHECK: soaprt.kernel @k0 "{{.*}}nn.relu{{.*}}" native @kernels::@{{.*}} index 0 sizes [32]
// CHECK: soaprt.kernel @k1 "{{.*}}nn.softmax{{.*}}" (
// CHECK-NOT: soaprt.kernel

// CHECK: soaprt.device @d0 id 0
// CHECK:   %[[X:.*]] = soaprt.buffer at {{.*}} : <2x16xf32, activations>
// CHECK:   %[[R:.*]] = soaprt.buffer at {{.*}} : <2x16xf32, activations>
// CHECK:   %[[T:.*]] = soaprt.buffer at {{.*}} : <2x16xf32, activations>
// CHECK:   %[[A:.*]] = soaprt.buffer at {{.*}} : <4x16xf32, activations>
// CHECK:   %[[Y:.*]] = soaprt.buffer at {{.*}} : <4x16xf32, activations>
// CHECK:   soaprt.main
// CHECK:     soaprt.feed "x" @in0 to(%[[X]] : {{.*}}) [#soaprt.box<[0, 0] to [0, 0] sizes [2, 16]>] stream compute
// CHECK:     soaprt.launch "relu" @k0(%[[X]] : {{.*}}) to(%[[R]] : {{.*}}) stream compute {task = 0 : i64}
// CHECK:     %[[E:.*]] = soaprt.exchange "relu.transfer" tag 0 send() to [] receive(%[[T]] : {{.*}}) from [1] stream communication
// CHECK:     soaprt.copy "relu.assemble"(%[[R]], %[[T]] : {{.*}}) to(%[[A]], %[[A]] : {{.*}}) [#soaprt.box<[0, 0] to [0, 0] sizes [2, 16]>, #soaprt.box<[0, 0] to [2, 0] sizes [2, 16]>] waits(%[[E]]) stream compute
// CHECK:     soaprt.launch "y0" @k1(%[[A]] : {{.*}}) to(%[[Y]] : {{.*}}) stream compute {task = 0 : i64}
// CHECK:     soaprt.drain "y" @out0 from(%[[Y]] : {{.*}}) [#soaprt.box<[0, 0] to [0, 0] sizes [4, 16]>] stream compute

// CHECK: soaprt.device @d1 id 1
// CHECK:     soaprt.feed "x" @in0 to({{.*}}) [#soaprt.box<[2, 0] to [0, 0] sizes [2, 16]>] stream compute
// CHECK:     %[[L:.*]] = soaprt.launch "relu" @k0({{.*}}) to({{.*}}) stream compute {task = 1 : i64}
// CHECK:     soaprt.exchange "relu.transfer" tag 0 send({{.*}}) to [0] receive() from [] waits(%[[L]]) stream communication
// CHECK-NOT: soaprt.drain
// CHECK-NOT: func.func @main

func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<4x16xf32>, on host> as #soap.box<"x":0, [0:4, 0:16]>) {
    %0 = nn.input {nn.name = "x"} : tensor<4x16xf32>
    soap.return %0 : tensor<4x16xf32>
  }
  %s0 = soap.slice %x : !soap.shard<tensor<4x16xf32>, on host> -> (!soap.shard<tensor<2x16xf32>, on host> as #soap.box<"x":0, [0:2, 0:16]>)
  %s1 = soap.slice %x : !soap.shard<tensor<4x16xf32>, on host> -> (!soap.shard<tensor<2x16xf32>, on host> as #soap.box<"x":0, [2:4, 0:16]>)
  %f:2 = soap.transfer %s0, %s1 action 0 phase feed : !soap.shard<tensor<2x16xf32>, on host>, !soap.shard<tensor<2x16xf32>, on host>
    -> (!soap.shard<tensor<2x16xf32>, on 0> as #soap.box<"x":0, [0:2, 0:16]>, !soap.shard<tensor<2x16xf32>, on 1> as #soap.box<"x":0, [2:4, 0:16]>)
  %r0 = soap.task "relu" 0 (%a = %f#0 : !soap.shard<tensor<2x16xf32>, on 0>) -> (!soap.shard<tensor<2x16xf32>, on 0> as #soap.box<"relu":0, [0:2, 0:16]>) {
    %0 = nn.relu %a {nn.name = "relu"} : tensor<2x16xf32>
    soap.return %0 : tensor<2x16xf32>
  }
  %r1 = soap.task "relu" 1 (%a = %f#1 : !soap.shard<tensor<2x16xf32>, on 1>) -> (!soap.shard<tensor<2x16xf32>, on 1> as #soap.box<"relu":0, [2:4, 0:16]>) {
    %0 = nn.relu %a {nn.name = "relu"} : tensor<2x16xf32>
    soap.return %0 : tensor<2x16xf32>
  }
  %t = soap.transfer %r1 action 0 : !soap.shard<tensor<2x16xf32>, on 1> -> (!soap.shard<tensor<2x16xf32>, on 0> as #soap.box<"relu":0, [2:4, 0:16]>)
  %b = soap.assemble %r0[0:2, 0:16], %t[2:4, 0:16] : !soap.shard<tensor<2x16xf32>, on 0>, !soap.shard<tensor<2x16xf32>, on 0>
    -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"relu":0, [0:4, 0:16]>)
  %y = soap.task "y0" 0 (%a = %b : !soap.shard<tensor<4x16xf32>, on 0>) -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"y0":0, [0:4, 0:16]>) {
    %0 = nn.softmax %a {nn.name = "y0", axis = 1 : i64} : tensor<4x16xf32>
    soap.return %0 : tensor<4x16xf32>
  }
  %h = soap.transfer %y action 0 phase drain : !soap.shard<tensor<4x16xf32>, on 0> -> (!soap.shard<tensor<4x16xf32>, on host> as #soap.box<"y0":0, [0:4, 0:16]>)
  soap.task "y" 0 (%a = %h : !soap.shard<tensor<4x16xf32>, on host>) -> () {
    nn.output %a {nn.name = "y"} : tensor<4x16xf32>
    soap.return
  }
  return
}
