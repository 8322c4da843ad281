// RUN: soap-opt %s --convert-soap-to-soaprt --split-input-file | FileCheck %s

// Tests that an all_gather along rows receives right into its result, and that
// a reduce_scatter along columns packs the shares of the members.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[X:.*]] = soaprt.buffer : <2x4xf32, activations>
// CHECK: %[[G:.*]] = soaprt.buffer : <4x4xf32, activations>
// CHECK: %[[G0:.*]] = soaprt.view %[[G]][0] : <4x4xf32, activations> -> <2x4xf32, activations>
// CHECK: %[[G1:.*]] = soaprt.view %[[G]][8] : <4x4xf32, activations> -> <2x4xf32, activations>
// CHECK: %[[P:.*]] = soaprt.buffer : <4x4xf32, activations>
// CHECK: %[[S0:.*]] = soaprt.buffer : <4x2xf32, activations>
// CHECK: %[[S1:.*]] = soaprt.buffer : <4x2xf32, activations>
// CHECK: %[[R:.*]] = soaprt.buffer : <4x2xf32, activations>
// CHECK: soaprt.collective "x.all_gather" all_gather over [0, 1] member 0 tag 0 send(%[[X]] : {{.*}}) receive(%[[G0]], %[[G1]] :
// CHECK: soaprt.launch "p" @k0(%[[G]] :
// CHECK: soaprt.copy "p.reduce_scatter"(%[[P]], %[[P]] : {{.*}}) to(%[[S0]], %[[S1]] : {{.*}}) [#soaprt.box<[0, 0] to [0, 0] sizes [4, 2]>, #soaprt.box<[0, 2] to [0, 0] sizes [4, 2]>]
// CHECK: soaprt.collective "p.reduce_scatter" reduce_scatter over [0, 1] member 0 tag 1 combine sum algorithm ring send(%[[S0]], %[[S1]] : {{.*}}) receive(%[[R]] :
// CHECK-LABEL: soaprt.device @d1
// CHECK: soaprt.collective "x.all_gather" all_gather over [0, 1] member 1 tag 0
func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<4x4xf32>, on host> as #soap.box<"x":0, [0:4, 0:4]>) {
    %0 = nn.input {nn.name = "x"} : tensor<4x4xf32>
    soap.return %0 : tensor<4x4xf32>
  }
  %s0 = soap.slice %x : !soap.shard<tensor<4x4xf32>, on host> -> (!soap.shard<tensor<2x4xf32>, on host> as #soap.box<"x":0, [0:2, 0:4]>)
  %s1 = soap.slice %x : !soap.shard<tensor<4x4xf32>, on host> -> (!soap.shard<tensor<2x4xf32>, on host> as #soap.box<"x":0, [2:4, 0:4]>)
  %f:2 = soap.transfer %s0, %s1 action 0 phase feed : !soap.shard<tensor<2x4xf32>, on host>, !soap.shard<tensor<2x4xf32>, on host>
    -> (!soap.shard<tensor<2x4xf32>, on 0> as #soap.box<"x":0, [0:2, 0:4]>, !soap.shard<tensor<2x4xf32>, on 1> as #soap.box<"x":0, [2:4, 0:4]>)
  %g:2 = soap.all_gather %f#0, %f#1 over [0, 1] action 1 : !soap.shard<tensor<2x4xf32>, on 0>, !soap.shard<tensor<2x4xf32>, on 1>
    -> (!soap.shard<tensor<4x4xf32>, on 0> as #soap.box<"x":0, [0:4, 0:4]>, !soap.shard<tensor<4x4xf32>, on 1> as #soap.box<"x":0, [0:4, 0:4]>)
  %p0 = soap.task "p" 0 (%a = %g#0 : !soap.shard<tensor<4x4xf32>, on 0>) -> (!soap.shard<tensor<4x4xf32>, on 0, partial = sum> as #soap.box<"p":0, [0:4, 0:4], part 0 of 2>) {
    %0 = nn.relu %a {nn.name = "p"} : tensor<4x4xf32>
    soap.return %0 : tensor<4x4xf32>
  }
  %p1 = soap.task "p" 1 (%a = %g#1 : !soap.shard<tensor<4x4xf32>, on 1>) -> (!soap.shard<tensor<4x4xf32>, on 1, partial = sum> as #soap.box<"p":0, [0:4, 0:4], part 1 of 2>) {
    %0 = nn.relu %a {nn.name = "p"} : tensor<4x4xf32>
    soap.return %0 : tensor<4x4xf32>
  }
  %r:2 = soap.reduce_scatter %p0, %p1 over [0, 1] algorithm ring action 0 : !soap.shard<tensor<4x4xf32>, on 0, partial = sum>, !soap.shard<tensor<4x4xf32>, on 1, partial = sum>
    -> (!soap.shard<tensor<4x2xf32>, on 0> as #soap.box<"p":0, [0:4, 0:2]>, !soap.shard<tensor<4x2xf32>, on 1> as #soap.box<"p":0, [0:4, 2:4]>)
  soap.discard %r#0, %r#1 : !soap.shard<tensor<4x2xf32>, on 0>, !soap.shard<tensor<4x2xf32>, on 1>
  return
}
