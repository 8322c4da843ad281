// RUN: soap-opt %s -split-input-file -soap-schedule -verify-diagnostics

// Tests that an order launches a node after its operands.
func.func @early() attributes {soap.order = ["b", "a"]} {
  // expected-note @below {{the operand would come later}}
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  // expected-error @below {{expected a launch order in which a node follows its operands; change soap.order}}
  %1 = soap.task "b" 0 (%k = %0 : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"b":0, [0:4]>) {
    %r = nn.relu %k {nn.name = "b"} : tensor<4xf32>
    soap.return %r : tensor<4xf32>
  }
  soap.discard %1 : !soap.shard<tensor<4xf32>, on 0>
  return
}

// -----

// Tests that an order names all compute nodes.
// expected-error @below {{expected all compute nodes in the launch order, got none called "a"; add it to soap.order}}
func.func @missing() attributes {soap.order = ["x"]} {
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}

// -----

// Tests that an order names a node once.
// expected-error @below {{expected every node once in the launch order, got: "a" twice}}
func.func @twice() attributes {soap.order = ["a", "a"]} {
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}
