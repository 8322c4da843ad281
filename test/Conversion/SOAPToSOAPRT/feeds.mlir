// RUN: soap-opt %s --convert-soap-to-soaprt --soaprt-assign-streams | FileCheck %s

// Tests that an input that several devices read whole, a broadcast from the
// host, is fed to each of them.

// CHECK-LABEL: soaprt.device @d0 id 0
// CHECK: soaprt.feed "x" @in0 to({{.*}}) [#soaprt.box<[0] to [0] sizes [4]>] stream compute
// CHECK-LABEL: soaprt.device @d1 id 1
// CHECK: soaprt.feed "x" @in0 to({{.*}}) [#soaprt.box<[0] to [0] sizes [4]>] stream compute
func.func @main() {
  %x = soap.task "x" 0 () -> (!soap.shard<tensor<4xf32>, on host> as #soap.box<"x":0, [0:4]>) {
    %0 = nn.input {nn.name = "x"} : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  %f:2 = soap.broadcast %x over [host, 0, 1] action 0 phase feed : !soap.shard<tensor<4xf32>, on host>
    -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"x":0, [0:4]>, !soap.shard<tensor<4xf32>, on 1> as #soap.box<"x":0, [0:4]>)
  soap.discard %f#0, %f#1 : !soap.shard<tensor<4xf32>, on 0>, !soap.shard<tensor<4xf32>, on 1>
  return
}
