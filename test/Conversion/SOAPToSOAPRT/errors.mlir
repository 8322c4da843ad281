// RUN: soap-opt %s --convert-soap-to-soaprt --split-input-file --verify-diagnostics

// Tests that there is something to lower.
// expected-error @+1 {{expected a function @main with soap ops}}
module {}

// -----

// Tests that a graph that was not partitioned is an error.
func.func @main() {
  // expected-error @+1 {{expected soap ops only; run soap-partition first}}
  %0 = nn.constant dense<0.0> : tensor<4xf32> {nn.name = "c"}
  return
}

// -----

// Tests that nothing reads a parameter behind the task that writes it.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  // expected-error @+1 {{expected to stand behind all that reads the parameter, got later: soap.task}}
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %late = soap.task "late" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"late":0, [0:32]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %late : !soap.shard<tensor<32xf32>, on 0>
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that nothing reads a view of it there.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %view = soap.task "view" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"view":0, [0:4, 0:8]>) {
    %0 = nn.reshape %a {nn.name = "view"} : (tensor<32xf32>) -> tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  // expected-error @+1 {{expected to stand behind all that reads the parameter, got later: soap.task}}
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %late = soap.task "late" 0 (%a = %view : !soap.shard<tensor<4x8xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"late":0, [0:4, 0:8]>) {
    %0 = nn.tanh %a {nn.name = "late"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  soap.discard %late : !soap.shard<tensor<4x8xf32>, on 0>
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that a parameter that is written is no output.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %d = soap.transfer %w action 0 phase drain : !soap.shard<tensor<32xf32>, on 0> -> (!soap.shard<tensor<32xf32>, on host> as #soap.box<"w":0, [0:32]>)
  soap.task "y" 0 (%a = %d : !soap.shard<tensor<32xf32>, on host>) -> () {
    nn.output %a {nn.name = "y"} : tensor<32xf32>
    soap.return
  }
  // expected-error @+1 {{expected no output that is the parameter 'w', which has its next value when outputs leave; give out the result of the write}}
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}

// -----

// Tests that a parameter is written where it lives.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %copy = soap.task "copy" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"copy":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "copy"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %new = soap.task "new" 0 (%a = %copy : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  // expected-error @+1 {{expected to write a parameter where it lives, got: a copy of it}}
  %w_write = soap.task "w.write" 0 (%a = %new : !soap.shard<tensor<32xf32>, on 0>, %c = %copy : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %c {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %w_write : !soap.shard<tensor<32xf32>, on 0>
  return
}
