// RUN: soap-opt %s --convert-soap-to-soaprt --split-input-file | FileCheck %s

// Tests that a parameter becomes a load of its box and a constant of the
// library kernel that reads it, and that an expression of parameters becomes
// rows of init whose result, but neither what they read nor their temporaries,
// is a parameter.

// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[W:.*]] = soaprt.buffer : <8x4xf32, parameters>
// CHECK: soaprt.load "w" from #nn.file<"m.onnx", 64, 256> of tensor<16x4xf32> at [8, 0] into %[[W]]
// CHECK: %[[S:.*]] = soaprt.buffer : <4xf32, activations>
// CHECK: soaprt.load "s" from #nn.splat<4.000000e+00 : f32> of tensor<4xf32> at [0] into %[[S]]
// CHECK: %[[R:.*]] = soaprt.buffer : <4xf32, activations>
// CHECK: %[[B:.*]] = soaprt.buffer : <4xf32, parameters>
// CHECK: %[[X:.*]] = soaprt.buffer : <2x8xf32, activations>
// CHECK: %[[Y:.*]] = soaprt.buffer : <2x4xf32, activations>
// CHECK: soaprt.init {
// CHECK-NEXT: soaprt.launch "b" @{{.*}}(%[[S]] : {{.*}}) to(%[[R]] :
// CHECK-NEXT: soaprt.launch "b" @{{.*}}(%[[R]], %[[R]] : {{.*}}) to(%[[B]] :
// CHECK: soaprt.main {
// CHECK: soaprt.launch "fc" @{{.*}}(%[[X]], %[[W]], %[[B]] : {{.*}}) to(%[[Y]] : {{.*}}) {constants = array<i64: 1, 2>, task = 0 : i64}
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x4xf32>, on 0> as #soap.box<"w":0, [8:16, 0:4]>) {
    %0 = nn.parameter {nn.name = "w", offsets = array<i64: 8, 0>, global_shape = array<i64: 16, 4>} : tensor<8x4xf32> from #nn.file<"m.onnx", 64, 256>
    soap.return %0 : tensor<8x4xf32>
  }
  %b = soap.task "b" 0 phase init () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"b":0, [0:4]>) {
    %0 = nn.parameter {nn.name = "s"} : tensor<4xf32> from #nn.splat<4.0 : f32>
    %1 = nn.sqrt %0 {nn.name = "t"} : tensor<4xf32>
    %2 = nn.mul %1, %1 {nn.name = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    soap.return %2 : tensor<4xf32>
  }
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<2x8xf32>, on host> as #soap.box<"x":0, [0:2, 0:8]>) {
    %0 = nn.input {nn.name = "x"} : tensor<2x8xf32>
    soap.return %0 : tensor<2x8xf32>
  }
  %f = soap.transfer %x action 0 phase feed : !soap.shard<tensor<2x8xf32>, on host> -> (!soap.shard<tensor<2x8xf32>, on 0> as #soap.box<"x":0, [0:2, 0:8]>)
  %y = soap.task "fc" 0 (%a = %f : !soap.shard<tensor<2x8xf32>, on 0>, %c = %w : !soap.shard<tensor<8x4xf32>, on 0>, %d = %b : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<2x4xf32>, on 0> as #soap.box<"fc":0, [0:2, 0:4]>) {
    %0 = nn.matmul %a, %c bias %d {nn.name = "fc"} : (tensor<2x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    soap.return %0 : tensor<2x4xf32>
  }
  soap.discard %y : !soap.shard<tensor<2x4xf32>, on 0>
  return
}

// -----

// Tests what is a view (reshape, aligned contiguous slice) and what is a copy
// (unaligned or strided slice, concat, pad), and that equal launches share a
// kernel.

// CHECK-LABEL: soaprt.kernel @k0
// CHECK-NOT: soaprt.kernel
// CHECK-LABEL: soaprt.device @d0
// CHECK: %[[X:.*]] = soaprt.buffer : <4x16xf32, activations>
// CHECK: %[[F:.*]] = soaprt.view %[[X]][0] : <4x16xf32, activations> -> <64xf32, activations>
// CHECK: %[[A:.*]] = soaprt.view %[[F]][16] : <64xf32, activations> -> <16xf32, activations>
// CHECK: %[[B:.*]] = soaprt.buffer : <16xf32, activations>
// CHECK: %[[RA:.*]] = soaprt.buffer : <16xf32, activations>
// CHECK: %[[RB:.*]] = soaprt.buffer : <16xf32, activations>
// CHECK: %[[C:.*]] = soaprt.buffer : <32xf32, activations>
// CHECK: %[[P:.*]] = soaprt.buffer : <35xf32, activations>
// CHECK: soaprt.main {
// CHECK: soaprt.copy "all"(%[[F]] : {{.*}}) to(%[[B]] : {{.*}}) [#soaprt.box<[15] to [0] sizes [16] steps [-1]>]
// CHECK: soaprt.launch "all" @k0(%[[A]] : {{.*}}) to(%[[RA]] :
// CHECK: soaprt.launch "all" @k0(%[[B]] : {{.*}}) to(%[[RB]] :
// CHECK: soaprt.copy "all"(%[[RA]], %[[RB]] : {{.*}}) to(%[[C]], %[[C]] : {{.*}}) [#soaprt.box<[0] to [0] sizes [16]>, #soaprt.box<[0] to [16] sizes [16]>]
// CHECK: soaprt.copy "all"(%[[C]] : {{.*}}) to(%[[P]] : {{.*}}) [#soaprt.box<[0] to [1] sizes [32]>] fill 5.000000e-01 : f32
func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<4x16xf32>, on host> as #soap.box<"x":0, [0:4, 0:16]>) {
    %0 = nn.input {nn.name = "x"} : tensor<4x16xf32>
    soap.return %0 : tensor<4x16xf32>
  }
  %f = soap.transfer %x action 0 phase feed : !soap.shard<tensor<4x16xf32>, on host> -> (!soap.shard<tensor<4x16xf32>, on 0> as #soap.box<"x":0, [0:4, 0:16]>)
  %y = soap.task "all" 0 (%a = %f : !soap.shard<tensor<4x16xf32>, on 0>) -> (!soap.shard<tensor<35xf32>, on 0> as #soap.box<"all":0, [0:35]>) {
    %0 = nn.reshape %a {nn.name = "flat"} : (tensor<4x16xf32>) -> tensor<64xf32>
    %1 = nn.slice %0 {nn.name = "aligned", starts = array<i64: 16>, steps = array<i64: 1>} : (tensor<64xf32>) -> tensor<16xf32>
    %2 = nn.slice %0 {nn.name = "backwards", starts = array<i64: 15>, steps = array<i64: -1>} : (tensor<64xf32>) -> tensor<16xf32>
    %3 = nn.relu %1 {nn.name = "r1"} : tensor<16xf32>
    %4 = nn.relu %2 {nn.name = "r2"} : tensor<16xf32>
    %5 = nn.concat %3, %4 {nn.name = "c", axis = 0 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
    %6 = nn.pad %5 {nn.name = "all", pads_lo = array<i64: 1>, pads_hi = array<i64: 2>, value = 0.5 : f32} : (tensor<32xf32>) -> tensor<35xf32>
    soap.return %6 : tensor<35xf32>
  }
  soap.discard %y : !soap.shard<tensor<35xf32>, on 0>
  return
}
