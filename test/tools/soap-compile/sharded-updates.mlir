// Tests that where data parallel does not fit into memory, a search finds a
// strategy with sharded updates, which does, and that a report has a row for them.
// RUN: sed 's/"memory_bytes": *[0-9]*/"memory_bytes":6291456/' %root/topologies/p100-node.json > %t.topology.json
// RUN: soap-compile %s --train=adam --loss=mean-squared-error --topology=%t.topology.json \
// RUN:   --emit=report --proposals=2000 --export-strategy=%t.json | FileCheck %s
// CHECK: {{^}}data-parallel {{.*}}does not fit into memory
// CHECK: {{^}}zero-1 {{.*[0-9]$}}
// CHECK: {{^}}model-parallel {{.*}}does not fit into memory
// CHECK: {{^}}tensor-parallel {{.*}}does not fit into memory
// CHECK: {{^}}spatial {{.*}}does not fit into memory
// CHECK-NOT: {{^}}zero-2
// CHECK: {{^}}found {{.*[0-9]$}}
// RUN: FileCheck %s --check-prefix=FOUND < %t.json
// FOUND: "parameters": [
// FOUND: "parameter": "{{u|v}}"

// Tests that what does not fit is refused with a reason.
// RUN: not soap-compile %s --train=adam --loss=mean-squared-error --topology=%t.topology.json \
// RUN:   --strategy=data-parallel --emit=soap 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: device 0: expected at most 6291456 bytes of memory, got: {{[0-9]+}} in use

// Tests that inference has no such row.
// RUN: soap-compile %s --topology=%t.topology.json --emit=report --strategy=single | FileCheck %s --check-prefix=INFERENCE
// INFERENCE-NOT: zero
// INFERENCE: lower bound

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2048x256xf32>
  %u = nn.parameter {nn.name = "u"} : tensor<256x512xf32> from #nn.random<1, "u", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<512x256xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %0 = nn.matmul %x, %u {nn.name = "fc1"} : (tensor<2048x256xf32>, tensor<256x512xf32>) -> tensor<2048x512xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<2048x512xf32>
  %2 = nn.matmul %1, %v {nn.name = "fc2"} : (tensor<2048x512xf32>, tensor<512x256xf32>) -> tensor<2048x256xf32>
  nn.output %2 {nn.name = "y"} : tensor<2048x256xf32>
  return
}
