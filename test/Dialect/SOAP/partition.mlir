// RUN: soap-opt %s -split-input-file -soap-partition | FileCheck %s
// RUN: soap-opt %s -split-input-file -soap-partition -o %t.before
// RUN: soap-opt %s -split-input-file -soap-partition -cse -canonicalize -o %t.after
// RUN: diff %t.before %t.after
// RUN: soap-opt %t.before -split-input-file -soap-verify-partition -soap-schedule -o %t.scheduled
// RUN: diff %t.before %t.scheduled
// The last two prove every case again on printed IR, and that CSE,
// canonicalization and scheduling by the default order change nothing.

// Tests that data parallelism with replicated parameters moves nothing in the step.
// CHECK-LABEL: module
// CHECK: soap.task "w" 0 phase init () -> (!soap.shard<tensor<8x3x3x3xf32>, on 0>
// CHECK: soap.task "w" 1 phase init () -> (!soap.shard<tensor<8x3x3x3xf32>, on 1>
// CHECK: soap.slice {{.*}} on host> as #soap.box<"x":0, [0:2, 0:3, 0:8, 0:8]>
// CHECK: soap.slice {{.*}} on host> as #soap.box<"x":0, [2:4, 0:3, 0:8, 0:8]>
// CHECK: soap.transfer {{.*}} action 0 phase feed
// CHECK: soap.task "y" 0 {{.*}} -> (!soap.shard<tensor<2x8x8x8xf32>, on 0> as #soap.box<"y":0, [0:2, 0:8, 0:8, 0:8]>)
// CHECK: soap.task "y" 1 {{.*}} -> (!soap.shard<tensor<2x8x8x8xf32>, on 1> as #soap.box<"y":0, [2:4, 0:8, 0:8, 0:8]>)
// CHECK-NEXT: nn.conv
// CHECK-NOT: soap.{{all|reduce|broadcast}}
// CHECK: soap.transfer {{.*}} action 0 phase drain
// CHECK: soap.assemble {{.*}} on host> as #soap.box<"y":0, [0:4, 0:8, 0:8, 0:8]>
// CHECK-NEXT: soap.task "out" 0
func.func @main() {
  %x = nn.input {nn.name = "x", soap.config = #soap.config<{} on [host]>} : tensor<4x3x8x8xf32>
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8x3x3x3xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "y", soap.config = #soap.config<{n = 2} on [0, 1]>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<4x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<4x8x8x8xf32>
  nn.output %y {nn.name = "out", soap.config = #soap.config<{} on [host]>} : tensor<4x8x8x8xf32>
  return
}

// -----

// Tests tensor parallelism: a column-split matmul feeds a row-split one, whose parts are summed in one all_reduce; only the first part adds the bias.
// CHECK-LABEL: module
// CHECK: soap.transfer {{.*}} action 0 phase feed
// CHECK: soap.task "a" 1 {{.*}} on 1> as #soap.box<"a":0, [0:4, 8:16]>
// CHECK-NOT: action
// CHECK: soap.task "b" 0 ({{.*}} = {{.*}}, {{.*}} = {{.*}}, {{.*}} = {{.*}}) -> (!soap.shard<tensor<4x6xf32>, on 0, partial = sum> as #soap.box<"b":0, [0:4, 0:6], part 0 of 2>)
// CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} bias %{{.*}} {
// CHECK: soap.task "b" 1 ({{.*}}) -> (!soap.shard<tensor<4x6xf32>, on 1, partial = sum> as #soap.box<"b":0, [0:4, 0:6], part 1 of 2>)
// CHECK-NEXT: nn.matmul %{{[^ ]*}}, %{{[^ ]*}} {
// CHECK: soap.all_reduce {{.*}} over [0, 1] action 0 : !soap.shard<tensor<4x6xf32>, on 0, partial = sum>, !soap.shard<tensor<4x6xf32>, on 1, partial = sum>
// CHECK: soap.task "r" 0
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xf32>
  %v = nn.parameter {nn.name = "v", soap.config = #soap.config<{d1 = 2} on [0, 1]>} : tensor<8x16xf32> from #nn.splat<1.0 : f32>
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<16x6xf32> from #nn.splat<1.0 : f32>
  %c = nn.parameter {nn.name = "c", soap.config = #soap.config<{} on [0]>} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %a = nn.matmul %x, %v {nn.name = "a", soap.config = #soap.config<{f = 2} on [0, 1]>} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = nn.matmul %a, %w bias %c {nn.name = "b", soap.config = #soap.config<{k = 2} on [0, 1]>} : (tensor<4x16xf32>, tensor<16x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %r = nn.relu %b {nn.name = "r", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<4x6xf32>
  nn.output %r {nn.name = "out"} : tensor<4x6xf32>
  return
}

// -----

// Tests that an uneven spatial split exchanges halos, and that pads are local: the interior side of each tile has none.
// CHECK-LABEL: module
// CHECK: soap.task "a" 0 {{.*}} #soap.box<"a":0, [0:1, 0:2, 0:3, 0:8]>
// CHECK: soap.task "a" 1 {{.*}} #soap.box<"a":0, [0:1, 0:2, 3:7, 0:8]>
// CHECK: soap.slice {{.*}} #soap.box<"a":0, [0:1, 0:2, 2:3, 0:8]>
// CHECK: soap.slice {{.*}} #soap.box<"a":0, [0:1, 0:2, 3:4, 0:8]>
// CHECK: soap.transfer {{.*}} halo action 0 :
// CHECK: soap.assemble %{{.*}}[0:1, 0:2, 0:3, 0:8], %{{.*}}[0:1, 0:2, 3:4, 0:8] : {{.*}} #soap.box<"a":0, [0:1, 0:2, 0:4, 0:8]>
// CHECK: soap.assemble %{{.*}}[0:1, 0:2, 2:3, 0:8], %{{.*}}[0:1, 0:2, 3:7, 0:8] : {{.*}} #soap.box<"a":0, [0:1, 0:2, 2:7, 0:8]>
// CHECK: soap.task "y" 0
// CHECK-NEXT: nn.conv {{.*}} pads_hi = array<i64: 0, 1>, pads_lo = array<i64: 1, 1>
// CHECK: soap.task "y" 1
// CHECK-NEXT: nn.conv {{.*}} pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 0, 1>
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x2x7x8xf32>
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<2x2x3x3xf32> from #nn.splat<1.0 : f32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{d2 = 2} on [0, 1]>} : tensor<1x2x7x8xf32>
  %y = nn.conv %a, %w {nn.name = "y", soap.config = #soap.config<{h = 2} on [0, 1]>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>} : (tensor<1x2x7x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x7x8xf32>
  nn.output %y {nn.name = "out"} : tensor<1x2x7x8xf32>
  return
}

// -----

// Tests that splitting a convolution's input channels makes parts, which are scattered to a consumer that is split.
// CHECK-LABEL: module
// CHECK: soap.task "y" 0 {{.*}} partial = sum> as #soap.box<"y":0, [0:2, 0:4, 0:4], part 0 of 2>
// CHECK: soap.task "y" 1 {{.*}} partial = sum> as #soap.box<"y":0, [0:2, 0:4, 0:4], part 1 of 2>
// CHECK: soap.reduce_scatter {{.*}} over [0, 1] action 0 : {{.*}} -> (!soap.shard<tensor<2x2x4xf32>, on 0> as #soap.box<"y":0, [0:2, 0:2, 0:4]>, !soap.shard<tensor<2x2x4xf32>, on 1> as #soap.box<"y":0, [0:2, 2:4, 0:4]>)
// CHECK: soap.task "r" 0
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x6x4xf32>
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d1 = 2} on [0, 1]>} : tensor<4x6x1xf32> from #nn.splat<1.0 : f32>
  %y = nn.conv %x, %w {nn.name = "y", soap.config = #soap.config<{c = 2} on [0, 1]>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x6x1xf32>) -> tensor<2x4x4xf32>
  %r = nn.relu %y {nn.name = "r", soap.config = #soap.config<{d1 = 2} on [0, 1]>} : tensor<2x4x4xf32>
  nn.output %r {nn.name = "out"} : tensor<2x4x4xf32>
  return
}

// -----

// Tests that parts on one device are joined there, before the rest is reduced.
// CHECK-LABEL: module
// CHECK: soap.task "y" 0 reduce (%[[A:arg[0-9]+]] = {{.*}}, %[[B:arg[0-9]+]] = {{.*}}) -> (!soap.shard<tensor<2xf32>, on 0, partial = max> as #soap.box<"y":0, [0:2], parts [0, 1] of 4>)
// CHECK-NEXT: nn.max %[[A]], %[[B]]
// CHECK: soap.task "y" 1 reduce {{.*}} on 1, partial = max> as #soap.box<"y":0, [0:2], parts [2, 3] of 4>
// CHECK: soap.all_reduce {{.*}} over [0, 1] action 0
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x8xf32>
  %y = nn.reduce %x {nn.name = "y", kind = #nn.reduce_kind<max>, axes = array<i64: 1>, keepdims = false, soap.config = #soap.config<{d1 = 4} on [0, 0, 1, 1]>} : (tensor<2x8xf32>) -> tensor<2xf32>
  %r = nn.relu %y {nn.name = "r", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<2xf32>
  nn.output %r {nn.name = "out"} : tensor<2xf32>
  return
}

// -----

// Tests operator parallelism: branches run on different devices, values are transferred.
// CHECK-LABEL: module
// CHECK: soap.task "a" 0 {{.*}} on 0> as
// CHECK: soap.transfer {{.*}} action 0 : !soap.shard<tensor<8xf32>, on 0> -> (!soap.shard<tensor<8xf32>, on 1> as #soap.box<"a":0, [0:8]>)
// CHECK: soap.task "b" 0 {{.*}} on 0> as
// CHECK: soap.task "c" 0 {{.*}} on 1> as
// CHECK: soap.transfer {{.*}} action 0 : !soap.shard<tensor<8xf32>, on 1> -> (!soap.shard<tensor<8xf32>, on 0> as #soap.box<"c":0, [0:8]>)
// CHECK: soap.task "d" 0
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8xf32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{} on [0]>} : tensor<8xf32>
  %b = nn.relu %a {nn.name = "b", soap.config = #soap.config<{} on [0]>} : tensor<8xf32>
  %c = nn.tanh %a {nn.name = "c", soap.config = #soap.config<{} on [1]>} : tensor<8xf32>
  %d = nn.add %b, %c {nn.name = "d", soap.config = #soap.config<{} on [0]>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  nn.output %d {nn.name = "out"} : tensor<8xf32>
  return
}

// -----

// Tests that equal needs share one gather, that regather asks for another one, and that CSE keeps both.
// CHECK-LABEL: module
// CHECK: soap.all_gather {{.*}} over [0, 1] action 0
// CHECK: soap.all_gather {{.*}} over [0, 1] action 1
// CHECK-NOT: soap.all_gather
// CHECK: soap.task "d" 1
func.func @main() {
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<8xf32> from #nn.splat<1.0 : f32>
  %b = nn.relu %w {nn.name = "b", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  %c = nn.tanh %w {nn.name = "c", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  %d = nn.sigmoid %w {nn.name = "d", soap.config = #soap.config<{} replicate = 2 on [0, 1] regather [0]>} : tensor<8xf32>
  nn.output %b {nn.name = "out0"} : tensor<8xf32>
  nn.output %c {nn.name = "out1"} : tensor<8xf32>
  nn.output %d {nn.name = "out2"} : tensor<8xf32>
  return
}

// -----

// Tests that a parameter is moved one node before its first consumer.
// CHECK-LABEL: module
// CHECK: soap.task "a" 0
// CHECK: soap.all_gather {{.*}} action 0 {{.*}} #soap.box<"w":0, [0:8]>
// CHECK: soap.task "b" 0
// CHECK: soap.task "c" 0
func.func @main() {
  %w = nn.parameter {nn.name = "w", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<8xf32> from #nn.splat<1.0 : f32>
  %x = nn.input {nn.name = "x"} : tensor<8xf32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  %b = nn.relu %a {nn.name = "b", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  %c = nn.add %b, %w {nn.name = "c", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  nn.output %c {nn.name = "out"} : tensor<8xf32>
  return
}

// -----

// Tests that what nobody reads is kept: the odd rows that a strided slice skips.
// CHECK-LABEL: module
// CHECK: %[[ODD:.*]] = soap.task "a" 1 {{.*}} #soap.box<"a":0, [1:2, 0:2]>
// CHECK: soap.discard %[[ODD]] : !soap.shard<tensor<1x2xf32>, on 1>
// CHECK-NOT: soap.discard
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<3x2xf32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{d0 = 3} on [0, 1, 2]>} : tensor<3x2xf32>
  %s = nn.slice %a {nn.name = "s", starts = array<i64: 0, 0>, steps = array<i64: 2, 1>, soap.config = #soap.config<{d0 = 2} on [0, 2]>} : (tensor<3x2xf32>) -> tensor<2x2xf32>
  nn.output %s {nn.name = "out"} : tensor<2x2xf32>
  return
}

// -----

// Tests that a task that needs no operand of a concat does not read it.
// CHECK-LABEL: module
// CHECK: soap.task "y" 0 (%{{[^,]*}} = %{{[^,]*}}: !soap.shard<tensor<2x2xf32>, on 0>) -> (!soap.shard<tensor<2x2xf32>, on 0> as #soap.box<"y":0, [0:2, 0:2]>)
// CHECK: soap.task "y" 1 (%{{[^,]*}} = %{{[^,]*}}: !soap.shard<tensor<2x2xf32>, on 1>) -> (!soap.shard<tensor<2x2xf32>, on 1> as #soap.box<"y":0, [0:2, 2:4]>)
func.func @main() {
  %a = nn.parameter {nn.name = "a", soap.config = #soap.config<{} on [0]>} : tensor<2x2xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b", soap.config = #soap.config<{} on [1]>} : tensor<2x2xf32> from #nn.splat<2.0 : f32>
  %y = nn.concat %a, %b {nn.name = "y", axis = 1 : i64, soap.config = #soap.config<{d1 = 2} on [0, 1]>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  nn.output %y {nn.name = "out"} : tensor<2x4xf32>
  return
}

// -----

// Tests that a shard that two operands read is an input once, and that constants and parameters record their box.
// CHECK-LABEL: module
// CHECK: soap.task "k" 1 phase init () {{.*}} #soap.box<"k":0, [2:4]>
// CHECK-NEXT: nn.constant dense<[3.000000e+00, 4.000000e+00]>
// CHECK: soap.task "p" 1 phase init () {{.*}} #soap.box<"p":0, [2:4]>
// CHECK-NEXT: nn.parameter {{.*}}offsets = array<i64: 2>{{.*}} : tensor<2xf32>
// CHECK: soap.task "s" 0 (%[[S:arg[0-9]+]] = %{{[0-9]+}} : !soap.shard<tensor<2xf32>, on 0>) ->
// CHECK-NEXT: nn.add %[[S]], %[[S]]
func.func @main() {
  %k = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> {nn.name = "k", soap.config = #soap.config<{d0 = 2} on [0, 1]>}
  %p = nn.parameter {nn.name = "p", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<4xf32> from #nn.splat<1.0 : f32>
  %s = nn.add %k, %k {nn.name = "s", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = nn.mul %s, %p {nn.name = "t", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  nn.output %t {nn.name = "out"} : tensor<4xf32>
  return
}

// -----

// Tests that a sum takes parts of an operand as they are where its tasks find
// them, and that of one whose parts are elsewhere its first task takes all, the
// others zeros; its own parts are reduced once.
// CHECK-LABEL: module
// CHECK: %[[G0:[0-9]+]] = soap.task "g" 0
// CHECK: %[[G1:[0-9]+]] = soap.task "g" 1
// CHECK-NOT: reduce_scatter
// CHECK: soap.task "h" 1
// CHECK: soap.reduce_scatter {{.*}} over [1, 2] action 0
// CHECK: soap.transfer {{.*}} action 1 :
// CHECK: %[[H:[0-9]+]] = soap.assemble
// CHECK-NEXT: soap.task "s" 0 (%{{.*}} = %[[G0]] : {{.*}} partial = sum>, %{{.*}} = %[[H]] : {{.*}}) -> ({{.*}} partial = sum> as #soap.box<"s":0, [0:4, 0:4], part 0 of 2>)
// CHECK-NEXT: nn.add
// CHECK: soap.task "s" 1 (%[[PART:.*]] = %[[G1]] : {{.*}} partial = sum>) -> ({{.*}} as #soap.box<"s":0, [0:4, 0:4], part 1 of 2>)
// CHECK-NEXT: %[[ZERO:[0-9]+]] = nn.constant dense<0.000000e+00>
// CHECK-NEXT: nn.add %[[PART]], %[[ZERO]]
// CHECK: soap.reduce_scatter {{.*}} over [0, 1] action 0
// CHECK-NOT: reduce_scatter
func.func @main() {
  %x = nn.input {nn.name = "x", soap.config = #soap.config<{} on [host]>} : tensor<8x4xf32>
  %g = nn.matmul %x, %x {nn.name = "g", transpose_a, soap.config = #soap.config<{k = 2} on [0, 1]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %h = nn.matmul %x, %x {nn.name = "h", transpose_a, soap.config = #soap.config<{k = 2} on [1, 2]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %s = nn.add %g, %h {nn.name = "s", nn.parts = array<i64: 8>, soap.config = #soap.config<{part0 = 2} on [0, 1]>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  nn.output %s {nn.name = "out", soap.config = #soap.config<{} on [host]>} : tensor<4x4xf32>
  return
}
