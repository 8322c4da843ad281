// RUN: soap-opt %s --nn-unroll-rnn=chunk=2 --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-unroll-rnn --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: soap-opt %s --nn-unroll-rnn="chunk=2 only=first" --split-input-file | FileCheck %s --check-prefix=ONLY

// Tests that a layer becomes one operation per chunk, the last one shorter; that
// they hand on hidden and cell states and share the weights; and that a chunk of
// one step needs no slice of its states.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[X:.*]] = nn.input {nn.name = "x"}
// CHECK-DAG: %[[H:.*]] = nn.input {nn.name = "h"}
// CHECK-DAG: %[[C:.*]] = nn.input {nn.name = "c"}
// CHECK-DAG: %[[W:.*]] = nn.parameter {nn.name = "w"}
// CHECK-DAG: %[[R:.*]] = nn.parameter {nn.name = "r"}
// CHECK-DAG: %[[B:.*]] = nn.parameter {nn.name = "b"}
// CHECK: %[[X0:.*]] = nn.slice %[[X]] {nn.name = "lstm.step0-1.x", starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<2x2x3xf32>
// CHECK-NEXT: %[[Y0:.*]], %[[C0:.*]] = nn.lstm %[[X0]], %[[W]], %[[R]], %[[B]], %[[H]], %[[C]] {nn.name = "lstm.step0-1"}
// CHECK-SAME: -> (tensor<2x1x2x4xf32>, tensor<1x2x4xf32>)
// CHECK-NEXT: %[[L0:.*]] = nn.slice %[[Y0]] {nn.name = "lstm.step0-1.last", starts = array<i64: 1, 0, 0, 0>
// CHECK-NEXT: %[[H0:.*]] = nn.reshape %[[L0]] {nn.name = "lstm.step0-1.state"} : (tensor<1x1x2x4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: %[[X1:.*]] = nn.slice %[[X]] {nn.name = "lstm.step2-3.x", starts = array<i64: 2, 0, 0>
// CHECK-NEXT: %[[Y1:.*]], %[[C1:.*]] = nn.lstm %[[X1]], %[[W]], %[[R]], %[[B]], %[[H0]], %[[C0]] {nn.name = "lstm.step2-3"}
// CHECK-NEXT: %[[L1:.*]] = nn.slice %[[Y1]] {nn.name = "lstm.step2-3.last"
// CHECK-NEXT: %[[H1:.*]] = nn.reshape %[[L1]]
// CHECK-NEXT: %[[X2:.*]] = nn.slice %[[X]] {nn.name = "lstm.step4.x", starts = array<i64: 4, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<5x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %[[Y2:.*]], %[[C2:.*]] = nn.lstm %[[X2]], %[[W]], %[[R]], %[[B]], %[[H1]], %[[C1]] {nn.name = "lstm.step4"}
// CHECK-NEXT: %[[Y:.*]] = nn.concat %[[Y0]], %[[Y1]], %[[Y2]] {axis = 0 : i64, nn.name = "lstm"}
// CHECK-SAME: -> tensor<5x1x2x4xf32>
// CHECK-NEXT: nn.output %[[Y]]
// CHECK-NEXT: nn.output %[[C2]]

// ONE-LABEL: func.func @main
// ONE: %[[Y0:.*]], %[[C0:.*]] = nn.lstm {{.*}} {nn.name = "lstm.step0"}
// ONE-NEXT: %[[H0:.*]] = nn.reshape %[[Y0]] {nn.name = "lstm.step0.state"}
// ONE-NEXT: %[[X1:.*]] = nn.slice {{.*}} {nn.name = "lstm.step1.x"{{.*}} -> tensor<1x2x3xf32>
// ONE-NEXT: nn.lstm %[[X1]], %{{.*}}, %{{.*}}, %{{.*}}, %[[H0]], %[[C0]] {nn.name = "lstm.step1"}
// ONE-NOT: .last
// ONE: {nn.name = "lstm.step4"}
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<5x2x3xf32>
  %h = nn.input {nn.name = "h"} : tensor<1x2x4xf32>
  %c = nn.input {nn.name = "c"} : tensor<1x2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x3xf32> from #nn.file<"m", 0, 192>
  %r = nn.parameter {nn.name = "r"} : tensor<1x4x4x4xf32> from #nn.file<"m", 192, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 448, 64>
  %y, %last = nn.lstm %x, %w, %r, %b, %h, %c {nn.name = "lstm"} : (tensor<5x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %y {nn.name = "out"} : tensor<5x1x2x4xf32>
  nn.output %last {nn.name = "last"} : tensor<1x2x4xf32>
  return
}

// -----

// Tests that a reverse layer starts with the last chunk, that a chunk ends with
// its first step, and that a single step is not reverse.

// CHECK-LABEL: func.func @main
// CHECK: %[[X1:.*]] = nn.slice {{.*}} {nn.name = "lstm.step2.x"
// CHECK-NEXT: %[[Y1:.*]], %[[C1:.*]] = nn.lstm %[[X1]], %{{.*}} {nn.name = "lstm.step2"}
// CHECK-NEXT: %[[H1:.*]] = nn.reshape %[[Y1]] {nn.name = "lstm.step2.state"}
// CHECK-NEXT: %[[X0:.*]] = nn.slice {{.*}} {nn.name = "lstm.step0-1.x"
// CHECK-NEXT: %[[Y0:.*]], %[[C0:.*]] = nn.lstm %[[X0]], {{.*}}, %[[H1]], %[[C1]] {nn.name = "lstm.step0-1", reverse}
// CHECK-NEXT: %[[L0:.*]] = nn.slice %[[Y0]] {nn.name = "hidden", starts = array<i64: 0, 0, 0, 0>
// CHECK-NEXT: %[[Y:.*]] = nn.concat %[[Y0]], %[[Y1]]
// CHECK-NEXT: nn.output %[[Y]]
// CHECK-NEXT: nn.output %[[L0]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3x2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x3xf32> from #nn.file<"m", 0, 192>
  %r = nn.parameter {nn.name = "r"} : tensor<1x4x4x4xf32> from #nn.file<"m", 192, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 448, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %y, %last = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "lstm", reverse} : (tensor<3x2x3xf32>, tensor<1x4x4x3xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>)
  %hidden = nn.slice %y {nn.name = "hidden", starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<3x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  nn.output %y {nn.name = "out"} : tensor<3x1x2x4xf32>
  nn.output %hidden {nn.name = "first"} : tensor<1x1x2x4xf32>
  return
}

// -----

// Tests that two directions are split, with a slice of every weight for each
// direction that its chunks share, and joined again.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[X0:.*]] = nn.slice {{.*}} {nn.name = "lstm.step0-1.x"
// CHECK-DAG: %[[X1:.*]] = nn.slice {{.*}} {nn.name = "lstm.step2-3.x"
// CHECK-DAG: %[[WF:.*]] = nn.slice {{.*}} {nn.name = "lstm.forward.input_weight", starts = array<i64: 0, 0, 0, 0>, {{.*}} -> tensor<1x4x4x3xf32>
// CHECK-DAG: %[[WR:.*]] = nn.slice {{.*}} {nn.name = "lstm.reverse.input_weight", starts = array<i64: 1, 0, 0, 0>, {{.*}} -> tensor<1x4x4x3xf32>
// CHECK-DAG: nn.slice {{.*}} {nn.name = "lstm.reverse.recurrent_weight", starts = array<i64: 1, 0, 0, 0>, {{.*}} -> tensor<1x4x4x4xf32>
// CHECK-DAG: nn.slice {{.*}} {nn.name = "lstm.reverse.bias", starts = array<i64: 1, 0, 0>, {{.*}} -> tensor<1x4x4xf32>
// CHECK-DAG: nn.slice {{.*}} {nn.name = "lstm.reverse.first_hidden", starts = array<i64: 1, 0, 0>, {{.*}} -> tensor<1x2x4xf32>
// CHECK-DAG: nn.slice {{.*}} {nn.name = "lstm.reverse.first_cell", starts = array<i64: 1, 0, 0>, {{.*}} -> tensor<1x2x4xf32>
// CHECK-DAG: %[[F0:.*]], %{{.*}} = nn.lstm %[[X0]], %[[WF]], {{.*}} {nn.name = "lstm.forward.step0-1"}
// CHECK-DAG: %[[F1:.*]], %[[CF:.*]] = nn.lstm %[[X1]], %[[WF]], {{.*}} {nn.name = "lstm.forward.step2-3"}
// CHECK-DAG: %[[R1:.*]], %{{.*}} = nn.lstm %[[X1]], %[[WR]], {{.*}} {nn.name = "lstm.reverse.step2-3", reverse}
// CHECK-DAG: %[[R0:.*]], %[[CR:.*]] = nn.lstm %[[X0]], %[[WR]], {{.*}} {nn.name = "lstm.reverse.step0-1", reverse}
// CHECK-DAG: %[[Y0:.*]] = nn.concat %[[F0]], %[[R0]] {axis = 1 : i64, nn.name = "lstm.step0-1"}
// CHECK-DAG: %[[Y1:.*]] = nn.concat %[[F1]], %[[R1]] {axis = 1 : i64, nn.name = "lstm.step2-3"}
// CHECK-DAG: %[[C:.*]] = nn.concat %[[CF]], %[[CR]] {axis = 0 : i64, nn.name = "lstm.cell"}
// CHECK: %[[Y:.*]] = nn.concat %[[Y0]], %[[Y1]] {axis = 0 : i64, nn.name = "lstm"}
// CHECK-NEXT: nn.output %[[Y]]
// CHECK-NEXT: nn.output %[[C]]
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x2x3xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<2x4x4x3xf32> from #nn.file<"m", 0, 384>
  %r = nn.parameter {nn.name = "r"} : tensor<2x4x4x4xf32> from #nn.file<"m", 384, 512>
  %b = nn.parameter {nn.name = "b"} : tensor<2x4x4xf32> from #nn.file<"m", 896, 128>
  %s = nn.parameter {nn.name = "s"} : tensor<2x2x4xf32> from #nn.splat<0.0 : f32>
  %t = nn.parameter {nn.name = "t"} : tensor<2x2x4xf32> from #nn.splat<1.0 : f32>
  %y, %last = nn.lstm %x, %w, %r, %b, %s, %t {nn.name = "lstm"} : (tensor<4x2x3xf32>, tensor<2x4x4x3xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> (tensor<4x2x2x4xf32>, tensor<2x2x4xf32>)
  nn.output %y {nn.name = "out"} : tensor<4x2x2x4xf32>
  nn.output %last {nn.name = "last"} : tensor<2x2x4xf32>
  return
}

// -----

// Tests that a chunk of the second layer reads the chunk of the first layer, through
// the reshape between them, which is split and stands right behind the chunk; that
// chunks stand along the diagonal; and that `only` leaves the other layer whole.

// CHECK-LABEL: func.func @main
// CHECK: %[[A0:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.step0-1"}
// CHECK-NEXT: %[[S0:.*]] = nn.reshape %[[A0]] {nn.name = "squeeze.step0-1"} : (tensor<2x1x2x4xf32>) -> tensor<2x2x4xf32>
// CHECK-NOT: nn.lstm
// CHECK: %[[A1:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.step2-3"}
// CHECK-NEXT: %[[S1:.*]] = nn.reshape %[[A1]] {nn.name = "squeeze.step2-3"}
// CHECK-NOT: nn.concat
// CHECK: nn.lstm %[[S0]], {{.*}} {nn.name = "second.step0-1"}
// CHECK-NOT: nn.concat
// CHECK: nn.lstm %[[S1]], {{.*}} {nn.name = "second.step2-3"}
// CHECK: nn.concat {{.*}} {axis = 0 : i64, nn.name = "second"}

// ONLY-LABEL: nn.input {nn.name = "x4"}
// ONLY: {nn.name = "first.step0-1"}
// ONLY: {nn.name = "first.step2-3"}
// ONLY: %[[Y:.*]] = nn.concat {{.*}} {axis = 0 : i64, nn.name = "first"}
// ONLY-NEXT: %[[S:.*]] = nn.reshape %[[Y]] {nn.name = "squeeze"}
// ONLY-NEXT: nn.lstm %[[S]], {{.*}} {nn.name = "second"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x4"} : tensor<4x2x4xf32>
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %y {nn.name = "squeeze"} : (tensor<4x1x2x4xf32>) -> tensor<4x2x4xf32>
  %z, %d = nn.lstm %q, %w, %w, %b, %s, %s {nn.name = "second"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %z {nn.name = "out"} : tensor<4x1x2x4xf32>
  return
}

// -----

// Tests that the first steps of the second layer depend on no later step of the
// first: where nothing else is read, nothing else is left.

// CHECK-LABEL: func.func @main
// CHECK: {nn.name = "first.step0-1"}
// CHECK-NOT: nn.lstm
// CHECK: %[[Z:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "second.step0-1"}
// CHECK-NEXT: nn.output %[[Z]]
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<4x2x4xf32>
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %y {nn.name = "squeeze"} : (tensor<4x1x2x4xf32>) -> tensor<4x2x4xf32>
  %z, %d = nn.lstm %q, %w, %w, %b, %s, %s {nn.name = "second"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %f = nn.slice %z {nn.name = "beginning", starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x1x2x4xf32>) -> tensor<2x1x2x4xf32>
  nn.output %f {nn.name = "out"} : tensor<2x1x2x4xf32>
  return
}

// -----

// Tests that both directions reach the next layer through a transpose, a
// reshape and a sum, each split.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[F0:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.forward.step0-1"}
// CHECK-DAG: %[[R0:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.reverse.step0-1", reverse}
// CHECK-DAG: %[[Y0:.*]] = nn.concat %[[F0]], %[[R0]] {axis = 1 : i64, nn.name = "first.step0-1"}
// CHECK-DAG: %[[T0:.*]] = nn.transpose %[[Y0]] {nn.name = "batch_first.step0-1",
// CHECK-DAG: %[[Q0:.*]] = nn.reshape %[[T0]] {nn.name = "joint.step0-1"}
// CHECK-DAG: %[[X0:.*]] = nn.slice {{.*}} {nn.name = "first.step0-1.x"
// CHECK-DAG: %[[A0:.*]] = nn.add %[[Q0]], %[[X0]] {nn.name = "residual.step0-1"}
// CHECK: nn.lstm %[[A0]], {{.*}} {nn.name = "second.step0-1"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<2x4x4x8xf32> from #nn.file<"m", 0, 1024>
  %r = nn.parameter {nn.name = "r"} : tensor<2x4x4x4xf32> from #nn.file<"m", 1024, 512>
  %b = nn.parameter {nn.name = "b"} : tensor<2x4x4xf32> from #nn.file<"m", 1536, 128>
  %s = nn.parameter {nn.name = "s"} : tensor<2x2x4xf32> from #nn.splat<0.0 : f32>
  %v = nn.parameter {nn.name = "v"} : tensor<1x4x8x8xf32> from #nn.file<"m", 2048, 1024>
  %a = nn.parameter {nn.name = "a"} : tensor<1x4x8xf32> from #nn.file<"m", 4096, 128>
  %i = nn.parameter {nn.name = "i"} : tensor<1x2x8xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<4x2x8xf32>
  %y, %c = nn.lstm %x, %w, %r, %b, %s, %s {nn.name = "first"} : (tensor<4x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> (tensor<4x2x2x4xf32>, tensor<2x2x4xf32>)
  %t = nn.transpose %y {nn.name = "batch_first", permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x2x2x4xf32>) -> tensor<4x2x2x4xf32>
  %q = nn.reshape %t {nn.name = "joint"} : (tensor<4x2x2x4xf32>) -> tensor<4x2x8xf32>
  %u = nn.add %q, %x {nn.name = "residual"} : (tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  %z, %d = nn.lstm %u, %v, %v, %a, %i, %i {nn.name = "second"} : (tensor<4x2x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<4x1x2x8xf32>, tensor<1x2x8xf32>)
  nn.output %z {nn.name = "out"} : tensor<4x1x2x8xf32>
  return
}

// -----

// Tests that what else reads all steps between two layers reads the concatenation
// of the parts, under the old name: nothing is computed twice.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[T0:.*]] = nn.tanh {{.*}} {nn.name = "tanh.step0-1"}
// CHECK-DAG: %[[T1:.*]] = nn.tanh {{.*}} {nn.name = "tanh.step2-3"}
// CHECK-DAG: %[[T:.*]] = nn.concat %[[T0]], %[[T1]] {axis = 0 : i64, nn.name = "tanh"}
// CHECK-DAG: nn.lstm %[[T0]], {{.*}} {nn.name = "second.step0-1"}
// CHECK-DAG: nn.lstm %[[T1]], {{.*}} {nn.name = "second.step2-3"}
// CHECK-NOT: nn.tanh
// CHECK: nn.output %[[T]] {nn.name = "all"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<4x2x4xf32>
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %y {nn.name = "squeeze"} : (tensor<4x1x2x4xf32>) -> tensor<4x2x4xf32>
  %t = nn.tanh %q {nn.name = "tanh"} : tensor<4x2x4xf32>
  %z, %d = nn.lstm %t, %w, %w, %b, %s, %s {nn.name = "second"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  nn.output %t {nn.name = "all"} : tensor<4x2x4xf32>
  nn.output %z {nn.name = "out"} : tensor<4x1x2x4xf32>
  return
}

// -----

// Tests that inputs and outputs keep their order, whatever is read first.

// CHECK-LABEL: func.func @main
// CHECK: nn.input {nn.name = "late"}
// CHECK-NEXT: nn.input {nn.name = "early"}
// CHECK: nn.output {{.*}} {nn.name = "last"}
// CHECK-NEXT: nn.output {{.*}} {nn.name = "first"}
func.func @main() {
  %late = nn.input {nn.name = "late"} : tensor<4x1x2x4xf32>
  %early = nn.input {nn.name = "early"} : tensor<4x2x4xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %y, %c = nn.lstm %early, %w, %w, %b, %s, %s {nn.name = "lstm"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %a = nn.add %y, %late {nn.name = "sum"} : (tensor<4x1x2x4xf32>, tensor<4x1x2x4xf32>) -> tensor<4x1x2x4xf32>
  %t = nn.tanh %early {nn.name = "tanh"} : tensor<4x2x4xf32>
  nn.output %a {nn.name = "last"} : tensor<4x1x2x4xf32>
  nn.output %t {nn.name = "first"} : tensor<4x2x4xf32>
  return
}

// -----

// Tests that an operation that needs all steps stays whole, and so does what no
// layer reads: a softmax over the steps, a projection behind the last layer.

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = nn.concat {{.*}} {axis = 0 : i64, nn.name = "first"}
// CHECK: %[[Q:.*]] = nn.reshape %[[Y]] {nn.name = "squeeze"}
// CHECK-NEXT: %[[P:.*]] = nn.softmax %[[Q]] {axis = 0 : i64, nn.name = "over_steps"}
// CHECK: nn.slice %[[P]] {nn.name = "second.step0-1.x"
// CHECK: %[[Z:.*]] = nn.concat {{.*}} {axis = 0 : i64, nn.name = "second"}
// CHECK-NEXT: nn.tanh %[[Z]] {nn.name = "tanh"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<4x2x4xf32>
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %y {nn.name = "squeeze"} : (tensor<4x1x2x4xf32>) -> tensor<4x2x4xf32>
  %t = nn.softmax %q {nn.name = "over_steps", axis = 0 : i64} : tensor<4x2x4xf32>
  %z, %d = nn.lstm %t, %w, %w, %b, %s, %s {nn.name = "second"} : (tensor<4x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<4x1x2x4xf32>, tensor<1x2x4xf32>)
  %u = nn.tanh %z {nn.name = "tanh"} : tensor<4x1x2x4xf32>
  nn.output %u {nn.name = "out"} : tensor<4x1x2x4xf32>
  return
}

// -----

// Tests that a layer of other steps of the same values reads those steps: a slice
// across two chunks becomes a concatenation of their parts.

// CHECK-LABEL: func.func @main
// CHECK: %[[Y0:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.step0-1"}
// CHECK: %[[A:.*]] = nn.slice %[[Y0]] {nn.name = "{{.*}}", starts = array<i64: 1, 0, 0, 0>
// CHECK: %[[Y1:.*]], %{{.*}} = nn.lstm {{.*}} {nn.name = "first.step2"}
// CHECK: %[[P:.*]] = nn.concat %[[A]], %[[Y1]] {axis = 0 : i64
// CHECK: %[[Q:.*]] = nn.reshape %[[P]]
// CHECK: nn.output %[[Q]] {nn.name = "out"}
func.func @main() {
  %w = nn.parameter {nn.name = "w"} : tensor<1x4x4x4xf32> from #nn.file<"m", 0, 256>
  %b = nn.parameter {nn.name = "b"} : tensor<1x4x4xf32> from #nn.file<"m", 256, 64>
  %s = nn.parameter {nn.name = "s"} : tensor<1x2x4xf32> from #nn.splat<0.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<3x2x4xf32>
  %y, %c = nn.lstm %x, %w, %w, %b, %s, %s {nn.name = "first"} : (tensor<3x2x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<3x1x2x4xf32>, tensor<1x2x4xf32>)
  %q = nn.reshape %y {nn.name = "squeeze"} : (tensor<3x1x2x4xf32>) -> tensor<3x2x4xf32>
  %t = nn.slice %q {nn.name = "later", starts = array<i64: 1, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<3x2x4xf32>) -> tensor<2x2x4xf32>
  nn.output %t {nn.name = "out"} : tensor<2x2x4xf32>
  return
}
