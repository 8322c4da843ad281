// RUN: soap-opt %s '-soap-partition=devices=1' | FileCheck %s
// RUN: not soap-opt %s '-soap-partition=devices=0,7' 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not soap-opt %s '-soap-partition=devices=2147483647' 2>&1 | FileCheck %s --check-prefix=LARGEST
// LARGEST: error: expected devices that the strategy uses, got: 2147483647; change the option 'devices'
// UNUSED: error: expected devices that the strategy uses, got: 7; change the option 'devices'

// Tests that a projection keeps what runs on the device or exchanges data with it, and stands in for the rest.
// CHECK-NOT: soap.task "x"
// CHECK: %[[X:.*]] = soap.remote -> (!soap.shard<tensor<8xf32>, on host> as #soap.box<"x":0, [0:8]>)
// CHECK: soap.transfer %[[X]], %[[X]] action 0 phase feed
// CHECK-NOT: soap.task "a" 0
// CHECK: %[[A:.*]] = soap.remote -> (!soap.shard<tensor<4xf32>, on 0> as #soap.box<"b":0, [0:4]>)
// CHECK: %[[B:.*]] = soap.task "b" 1
// CHECK: soap.all_gather %[[A]], %[[B]]
// CHECK: soap.task "c" 1
// CHECK-NOT: soap.task "out"
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<8xf32>
  %a = nn.relu %x {nn.name = "a", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  %b = nn.relu %a {nn.name = "b", soap.config = #soap.config<{d0 = 2} on [0, 1]>} : tensor<8xf32>
  %c = nn.relu %b {nn.name = "c", soap.config = #soap.config<{} replicate = 2 on [0, 1]>} : tensor<8xf32>
  nn.output %c {nn.name = "out"} : tensor<8xf32>
  return
}
