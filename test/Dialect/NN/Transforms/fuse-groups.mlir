// RUN: soap-opt %s --nn-fuse --split-input-file | FileCheck %s

// Tests that members of a group become one if they run along the same loops of
// its leader, that a reduction takes what it reduces, and that one in no group
// does not.

// CHECK-LABEL: func.func @main
// CHECK: nn.matmul
// CHECK: nn.fused_reduce({{.*}}) {nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>, nn.name = "sum"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.sub {{.*}}{nn.name = "sub"}
// CHECK-NEXT: nn.mul {{.*}}{nn.name = "mul"}
// CHECK-NEXT: nn.reduce {{.*}}{axes = array<i64: 0>, {{.*}}nn.name = "sum"}
// CHECK: nn.exp {{.*}}nn.name = "other"
// CHECK: nn.tanh {{.*}}nn.name = "turned"
// CHECK: nn.add {{.*}}nn.name = "both"
// CHECK: nn.relu
// CHECK-NEXT: nn.reduce
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8xf32> from #nn.splat<1.0 : f32>
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = nn.sub %y, %x {nn.name = "sub", nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = nn.mul %s, %s {nn.name = "mul", nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = nn.reduce %m {nn.name = "sum", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false, nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>} : (tensor<8x8xf32>) -> tensor<8xf32>
  // Others: of no loop, and of another one.
  %o = nn.exp %y {nn.name = "other", nn.group = #nn.group<"fc", {d0 = "n"}>} : tensor<8x8xf32>
  %t = nn.tanh %y {nn.name = "turned", nn.group = #nn.group<"fc", {d0 = "f", d1 = "n"}>} : tensor<8x8xf32>
  %b = nn.add %o, %t {nn.name = "both", nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = nn.relu %x {nn.name = "relu"} : tensor<8x8xf32>
  %c = nn.reduce %a {nn.name = "alone", kind = #nn.reduce_kind<sum>, axes = array<i64: 0>, keepdims = false} : (tensor<8x8xf32>) -> tensor<8xf32>
  nn.output %r {nn.name = "out"} : tensor<8xf32>
  nn.output %b {nn.name = "out2"} : tensor<8x8xf32>
  nn.output %c {nn.name = "out3"} : tensor<8xf32>
  return
}

// -----

// Tests that the members of a group follow another one if its leader becomes a
// part of a member, and that what leads no group joins it.

// CHECK-LABEL: func.func @main
// CHECK: nn.matmul
// CHECK: nn.fused({{.*}}) {nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>, nn.name = "relu"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.neg
// CHECK-NEXT: nn.relu
// CHECK: nn.transpose {{.*}}nn.group = #nn.group<"fc", {d0 = "f", d1 = "n"}>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<8x8xf32> from #nn.splat<1.0 : f32>
  %y = nn.matmul %x, %w {nn.name = "fc"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = nn.mul %y, %x {nn.name = "mul", nn.group = #nn.group<"fc", {d0 = "n", d1 = "f"}>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = nn.neg %m {nn.name = "neg"} : tensor<8x8xf32>
  %r = nn.relu %n {nn.name = "relu"} : tensor<8x8xf32>
  %t = nn.transpose %r {nn.name = "turned", permutation = array<i64: 1, 0>, nn.group = #nn.group<"relu", {d0 = "d1", d1 = "d0"}>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.output %t {nn.name = "out"} : tensor<8x8xf32>
  return
}

// -----

// Tests that what is in no group does not join one where it could be split
// along fewer loops.

// CHECK-LABEL: func.func @main
// CHECK: nn.exp {{.*}}nn.name = "member"
// CHECK: nn.relu {{.*}}{nn.name = "free"}
// CHECK-NOT: nn.fused
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8x8xf32>
  %y = nn.softmax %x {nn.name = "lead", axis = 1 : i64} : tensor<8x8xf32>
  %e = nn.exp %y {nn.name = "member", nn.group = #nn.group<"lead", {d0 = "d0"}>} : tensor<8x8xf32>
  %r = nn.relu %e {nn.name = "free"} : tensor<8x8xf32>
  nn.output %r {nn.name = "out"} : tensor<8x8xf32>
  return
}
