// RUN: soap-opt %s -split-input-file '-soap-schedule=policy=simulated' -verify-diagnostics | FileCheck %s

// Tests that operations stand in the order of their simulated start, and what has no time behind what it follows.
// CHECK-LABEL: @sorted
// CHECK: soap.task "w" 0 phase init
// CHECK: soap.task "b" 0
// CHECK: soap.discard
// CHECK: soap.task "a" 0
func.func @sorted() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"w":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "w"}
    soap.return %k : tensor<4xf32>
  }
  %a = soap.task "a" 0 (%k = %w : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) attributes {soap.start = 200} {
    %r = nn.relu %k {nn.name = "a"} : tensor<4xf32>
    soap.return %r : tensor<4xf32>
  }
  %b = soap.task "b" 0 (%k = %w : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"b":0, [0:4]>) attributes {soap.start = 100} {
    %r = nn.relu %k {nn.name = "b"} : tensor<4xf32>
    soap.return %r : tensor<4xf32>
  }
  soap.discard %b : !soap.shard<tensor<4xf32>, on 0>
  return
}

// -----

// Tests that the policy needs times.
// expected-error @below {{expected simulated times (soap.start), got none; run soap-simulate first or use policy=program}}
func.func @untimed() {
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}
