// REQUIRES: soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s -o %t/one.so
// RUN: soap-compile %s --devices=2 --link=10MB/s:1ms --calibration=none --strategy=tensor-parallel --print-strategy -o %t/two.so

// Tests that throttled links change times and nothing else.
// RUN: soap-run %t/two.so --link=10MB/s:1ms --compare=%t/one.so | FileCheck %s --check-prefix=EQUAL
// EQUAL: compare y: equal

// Tests that the same link is simulated: slower than without.
// RUN: soap-compile %s --devices=2 --link=1MB/s:1ms --calibration=none --strategy=tensor-parallel --emit=strategy | FileCheck %s --check-prefix=SLOW
// SLOW: {bandwidth_bytes_per_s = 1000000 : i64, {{.*}} from = 1 : i64, latency_s = 1.005000e-03 : f64, {{.*}}to = 0 : i64}

// Tests that every algorithm that the IR names runs, to the same result.
// RUN: soap-compile %s --devices=4 --calibration=none --strategy=%S/Inputs/link.json --emit=soap -o %t/direct.mlir
// RUN: FileCheck %s --check-prefix=REDUCE --input-file=%t/direct.mlir
// REDUCE: soap.all_reduce {{.*}} over [0 to 3] action
// RUN: sed 's/over \[0 to 3\] action/over [0 to 3] algorithm ring action/' %t/direct.mlir > %t/ring.mlir
// RUN: sed 's/over \[0 to 3\] action/over [0 to 3] algorithm tree action/' %t/direct.mlir > %t/tree.mlir
// RUN: sh -c 'for a in direct ring tree; do soap-compile %t/$a.mlir -o %t/$a.so && soap-run %t/$a.so --compare=%t/one.so; done' | FileCheck %s --check-prefix=ALGORITHMS
// ALGORITHMS-COUNT-3: compare y: equal

// Tests that a link that cannot be read is answered by how to write one.
// RUN: sh -c 'soap-run %t/two.so --link=1GB; echo code $?' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: sh -c 'soap-compile %s --devices=2 --link=1GB -o %t/o.so; echo code $?' 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: expected --link=BANDWIDTH:LATENCY, as in 1GB/s:10us, got: '1GB'
// FORM-NEXT: code 2
// RUN: sh -c 'soap-run %t/two.so --link=1GB:10us; echo code $?' 2>&1 | FileCheck %s --check-prefix=UNIT
// UNIT: error: expected a bandwidth in B/s, KB/s, {{.*}} before the colon of --link, as in 1GB/s:10us, got: '1GB:10us'
// UNIT-NEXT: code 2

// Tests that the links of a described machine are those of its file.
// RUN: sh -c 'soap-compile %s --topology=x.json --link=1GB/s:1us -o %t/o.so; echo code $?' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: expected --link with --devices, got: --topology
// BOTH-NEXT: code 2

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<64x128xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<128x128xf32> from #nn.random<1, "w", normal, 0.0, 0.1>
  %v = nn.parameter {nn.name = "v"} : tensor<128x64xf32> from #nn.random<1, "v", normal, 0.0, 0.1>
  %h = nn.matmul %x, %w {nn.name = "h"} : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %p = nn.matmul %h, %v {nn.name = "p"} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %y = nn.relu %p {nn.name = "r"} : tensor<64x64xf32>
  nn.output %y {nn.name = "y"} : tensor<64x64xf32>
  return
}
