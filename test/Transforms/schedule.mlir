// RUN: soap-opt %s -soap-partition -soap-schedule | FileCheck %s --check-prefix=ORDER
// RUN: soap-opt %s -soap-partition '-soap-verify-partition=report' '-soap-schedule=policy=program report' 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: soap-opt %s -soap-partition -soap-schedule -soap-print-movements -o /dev/null | FileCheck %s --check-prefix=MOVES

// Tests that the order of soap.order becomes block order, that packs, moves and unpacks follow their nodes, and what moves.
// ORDER: soap.task "x" 0
// ORDER-NEXT: nn.input
// ORDER: soap.transfer {{.*}} phase feed
// ORDER: soap.task "c" 0
// ORDER: %[[C:.*]] = soap.slice {{.*}} on 1> as #soap.box<"c":0, [0:3]>
// ORDER-NEXT: soap.transfer %[[C]] action 0 :
// ORDER: soap.task "a" 0
// ORDER: soap.task "b" 0
// ORDER: %[[B:.*]] = soap.slice {{.*}} on 0> as #soap.box<"b":0, [3:6]>
// ORDER-NEXT: soap.transfer %[[B]] action 0
// ORDER-NEXT: soap.slice {{.*}} on 0> as #soap.box<"b":0, [0:3]>
// ORDER-NEXT: soap.slice {{.*}} on 1> as #soap.box<"c":0, [3:6]>
// ORDER-NEXT: soap.task "d" 0
// ORDER: soap.task "d" 1
// ORDER: soap.transfer {{.*}} phase drain
// ORDER: soap.task "out" 0

// REPORT: remark: partition: 5 values, 17 boxes, 8 reads, 36 elements, each covered once
// REPORT: remark: schedule: {{[0-9]+}} rows, {{[0-9]+}} waits in streams, {{[0-9]+}} between streams, 5 rendezvous, none circular

// MOVES: feed transfer host -> 0: 24 bytes
// MOVES-NEXT: feed transfer host -> 1: 24 bytes
// MOVES-NEXT: step transfer 1 -> 0: 12 bytes
// MOVES-NEXT: step transfer 0 -> 1: 12 bytes
// MOVES-NEXT: drain transfer 0 -> host: 12 bytes
// MOVES-NEXT: drain transfer 1 -> host: 12 bytes
// MOVES-NOT: bytes
func.func @main() attributes {soap.order = ["c", "a", "b", "d"]} {
  %x = nn.input {nn.name = "x"} : tensor<6xf32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{} on [0]>} : tensor<6xf32>
  %b = nn.relu %a {nn.name = "b", soap.config = #soap.config<{} on [0]>} : tensor<6xf32>
  %c = nn.tanh %x {nn.name = "c", soap.config = #soap.config<{} on [1]>} : tensor<6xf32>
  %d = nn.add %b, %c {nn.name = "d", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  nn.output %d {nn.name = "out"} : tensor<6xf32>
  return
}
