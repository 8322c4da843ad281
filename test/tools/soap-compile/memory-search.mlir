// REQUIRES: soap-run, python
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s --strategy=single --topology=%root/topologies/v100-8.json --emit=soaprt -o %t/plan.mlir
// RUN: %python %S/Inputs/small_memory.py %root/topologies/v100-8.json %t/less.json %t/plan.mlir -1 slow

// Tests that a search which finds a plan that is too large for what the library
// needs searches again, with so much less memory. Over slow links one device is
// the fastest way; with one byte less than it needs, two share the layers. (A
// search is what there is without --strategy.)
// RUN: soap-compile %s --topology=%t/less.json --proposals=2000 -o %t/found.so 2>&1 | FileCheck %s
// RUN: ls %t/found.so
// CHECK: search: {{[0-9]+}} proposals
// CHECK-NEXT: search: the strategy uses 1 of 8 devices
// CHECK-NEXT: search: device {{[0-9]+}} needs {{[0-9]+}} bytes with those of the kernel library, and has {{[0-9]+}}; searching again, with {{[0-9]+}} set aside
// CHECK: search: {{[0-9]+}} proposals
// CHECK: memory: peak

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x64x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %v = nn.parameter {nn.name = "v"} : tensor<64x64x3x3xf32> from #nn.random<1, "v", normal, 0.0, 0.3>
  %0 = nn.conv %x, %w {nn.name = "first", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  %1 = nn.conv %0, %v {nn.name = "second", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  %2 = nn.reshape %1 {nn.name = "flat"} : (tensor<1x64x8x8xf32>) -> tensor<4096xf32>
  %3 = nn.softmax %2 {nn.name = "all", axis = 0 : i64} : tensor<4096xf32>
  nn.output %3 {nn.name = "y"} : tensor<4096xf32>
  return
}
