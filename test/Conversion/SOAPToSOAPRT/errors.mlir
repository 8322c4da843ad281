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

// -----

// Tests that what a step writes is read where it is, in the same tiles.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %c = soap.task "c" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"c":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "c"} : tensor<32xf32> from #nn.splat<5.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %n = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>, %b = %c : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.add %a, %b {nn.name = "new"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<32xf32>, on 0>, %b = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %b {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %v : !soap.shard<tensor<32xf32>, on 0>
  return
}
module @eval {
  func.func @main() {
    %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<16xf32>, on 0> as #soap.box<"w":0, [0:16]>) {
      // expected-error @+1 {{expected the tiles in which the step keeps what it writes, got: others; let the configuration of 'w' be that of the step}}
      %0 = nn.parameter {nn.name = "w"} : tensor<16xf32> from #nn.splat<4.0 : f32>
      soap.return %0 : tensor<16xf32>
    }
    soap.discard %w : !soap.shard<tensor<16xf32>, on 0>
    return
  }
}

// -----

// Tests that one program writes parameters.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %c = soap.task "c" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"c":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "c"} : tensor<32xf32> from #nn.splat<5.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %n = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>, %b = %c : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.add %a, %b {nn.name = "new"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<32xf32>, on 0>, %b = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %b {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %v : !soap.shard<tensor<32xf32>, on 0>
  return
}
module @eval {
  func.func @main() {
    %u = soap.task "u" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"u":0, [0:32]>) {
      %0 = nn.parameter {nn.name = "u"} : tensor<32xf32> from #nn.splat<4.0 : f32>
      soap.return %0 : tensor<32xf32>
    }
    %n = soap.task "new" 0 (%a = %u : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
      %0 = nn.relu %a {nn.name = "new"} : tensor<32xf32>
      soap.return %0 : tensor<32xf32>
    }
    // expected-error @+1 {{expected one program that writes parameters, got: 'train' and 'eval'}}
    %v = soap.task "u.write" 0 (%a = %n : !soap.shard<tensor<32xf32>, on 0>, %b = %u : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"u.write":0, [0:32]>) {
      %0 = nn.write %a, %b {nn.name = "u.write"} : tensor<32xf32>
      soap.return %0 : tensor<32xf32>
    }
    soap.discard %v : !soap.shard<tensor<32xf32>, on 0>
    return
  }
}

// -----

// Tests that a copy of a parameter that the step writes is made in every step.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"w":0, [0:4, 0:8]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<4x8xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<4x8xf32>
  }
  // expected-error @+1 {{expected, with 'init', a parameter that no program writes}}
  %s = soap.slice %w init : !soap.shard<tensor<4x8xf32>, on 0> -> (!soap.shard<tensor<4x4xf32>, on 0> as #soap.box<"w":0, [0:4, 0:4]>)
  soap.discard %s : !soap.shard<tensor<4x4xf32>, on 0>
  %n = soap.task "new" 0 (%a = %w : !soap.shard<tensor<4x8xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"new":0, [0:4, 0:8]>) {
    %0 = nn.relu %a {nn.name = "new"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<4x8xf32>, on 0>, %b = %w : !soap.shard<tensor<4x8xf32>, on 0>) -> (!soap.shard<tensor<4x8xf32>, on 0> as #soap.box<"w.write":0, [0:4, 0:8]>) {
    %0 = nn.write %a, %b {nn.name = "w.write"} : tensor<4x8xf32>
    soap.return %0 : tensor<4x8xf32>
  }
  soap.discard %v : !soap.shard<tensor<4x8xf32>, on 0>
  return
}

// -----

// Tests that a program beside the step has a @main.
func.func @main() {
  %w = soap.task "w" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "w"} : tensor<32xf32> from #nn.splat<4.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %c = soap.task "c" 0 phase init () -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"c":0, [0:32]>) {
    %0 = nn.parameter {nn.name = "c"} : tensor<32xf32> from #nn.splat<5.0 : f32>
    soap.return %0 : tensor<32xf32>
  }
  %n = soap.task "new" 0 (%a = %w : !soap.shard<tensor<32xf32>, on 0>, %b = %c : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"new":0, [0:32]>) {
    %0 = nn.add %a, %b {nn.name = "new"} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  %v = soap.task "w.write" 0 (%a = %n : !soap.shard<tensor<32xf32>, on 0>, %b = %w : !soap.shard<tensor<32xf32>, on 0>) -> (!soap.shard<tensor<32xf32>, on 0> as #soap.box<"w.write":0, [0:32]>) {
    %0 = nn.write %a, %b {nn.name = "w.write"} : tensor<32xf32>
    soap.return %0 : tensor<32xf32>
  }
  soap.discard %v : !soap.shard<tensor<32xf32>, on 0>
  return
}
// expected-error @+1 {{expected a function @main with soap ops}}
module @eval {}

// -----

// Tests that nothing is handed to @main.
// expected-error @+1 {{expected a function @main with soap ops, and without arguments}}
module {
  func.func @main(%p: !soap.shard<tensor<4xf32>, on 0>) {
    return
  }
}
