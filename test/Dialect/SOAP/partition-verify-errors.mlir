// RUN: soap-opt %s -split-input-file -soap-verify-partition -verify-diagnostics

// Tests that the proof finds a tile that no task makes.
func.func @missing() {
  // expected-error @below {{expected tiles that cover [0:8] of value "a", got: 6 of 8 elements; a task is missing}}
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<2xf32>, on 0> as #soap.box<"a":0, [0:2]>) {
    %k = nn.constant dense<1.0> : tensor<2xf32> {nn.name = "a"}
    soap.return %k : tensor<2xf32>
  }
  %1 = soap.task "a" 2 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [4:8]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}

// -----

// Tests that the proof finds tiles that overlap.
func.func @overlap() {
  // expected-error @below {{expected disjoint tiles, got: [0:4] and [3:8]}}
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  %1 = soap.task "a" 1 () -> (!soap.shard<tensor<5xf32>, on 1> as #soap.box<"a":0, [3:8]>) {
    %k = nn.constant dense<1.0> : tensor<5xf32> {nn.name = "a"}
    soap.return %k : tensor<5xf32>
  }
  return
}

// -----

// Tests that the proof counts copies.
func.func @copies() {
  // expected-error @below {{expected equally many copies of all tiles, got: 2 of #soap.box<"a":0, [0:4]> and 1 of #soap.box<"a":0, [4:8]>}}
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  %1 = soap.task "a" 1 () -> (!soap.shard<tensor<4xf32>, on 1> as #soap.box<"a":0, [0:4]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  %2 = soap.task "a" 2 () -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [4:8]>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}

// -----

// Tests that the proof finds a part that no task makes.
func.func @parts() {
  // expected-error @below {{expected 2 parts of #soap.box<"a":0, [0:4]>, got: 1}}
  %0 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"a":0, [0:4], part 0 of 2>) {
    %k = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %k : tensor<4xf32>
  }
  return
}

// -----

// Tests that what is read comes with a box.
func.func @unknown(%x: !soap.shard<tensor<4xf32>, on 0>) {
  // expected-error @below {{expected operands that are made by an operation that says which box they hold, got: '!soap.shard<tensor<4xf32>, on 0>'}}
  %0 = soap.task "a" 0 (%k = %x : !soap.shard<tensor<4xf32>, on 0>) -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"a":0, [0:4]>) {
    %r = nn.relu %k {nn.name = "a"} : tensor<4xf32>
    soap.return %r : tensor<4xf32>
  }
  return
}

// -----

// Tests that all tasks of an operation take parts of a value, or none does.
func.func @main() {
  %a:2 = soap.task "a" 0 () -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"a":0, [0:4], part 0 of 2>, !soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"a":1, [0:4], part 0 of 2>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  %b:2 = soap.task "a" 1 () -> (!soap.shard<tensor<4xf32>, on 1, partial = sum> as #soap.box<"a":0, [0:4], part 1 of 2>, !soap.shard<tensor<4xf32>, on 1, partial = sum> as #soap.box<"a":1, [0:4], part 1 of 2>) {
    %0 = nn.constant dense<1.0> : tensor<4xf32> {nn.name = "a"}
    soap.return %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  // expected-error @below {{expected all tasks of "y" to take parts of "a", got: 1 of 2}}
  %y0 = soap.task "y" 0 (%x = %a#0 : !soap.shard<tensor<4xf32>, on 0, partial = sum>) -> (!soap.shard<tensor<4xf32>, on 0, partial = sum> as #soap.box<"y":0, [0:4], part 0 of 2>) {
    %0 = nn.neg %x {nn.name = "y"} : tensor<4xf32>
    soap.return %0 : tensor<4xf32>
  }
  %y1 = soap.task "y" 1 () -> (!soap.shard<tensor<4xf32>, on 1, partial = sum> as #soap.box<"y":0, [0:4], part 1 of 2>) {
    %0 = nn.constant dense<0.0> : tensor<4xf32> {nn.name = "y"}
    soap.return %0 : tensor<4xf32>
  }
  return
}
