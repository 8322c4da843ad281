// REQUIRES: soap-run
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile --emit=topology --devices=2 --calibration=none -o %t/two.json
// RUN: sed 's/"memory_bytes":[0-9]*/"memory_bytes":800000/' %t/two.json > %t/enough.json
// RUN: sed 's/"memory_bytes":[0-9]*/"memory_bytes":450000/' %t/two.json > %t/less.json
// RUN: sed 's/"memory_bytes":[0-9]*/"memory_bytes":100000/' %t/two.json > %t/none.json
// DEFINE: %{compile} = soap-compile %s --train=sgd --loss=mean-squared-error

// Tests that nothing is made again where the step fits into memory.
// RUN: %{compile} --recompute=auto --strategy=data-parallel --topology=%t/enough.json -o %t/enough.so 2>&1 | FileCheck %s --check-prefix=ENOUGH
// ENOUGH: recompute: nothing is made again

// Tests that of a step that does not fit values are made again until it does,
// and that this changes no bit of what the steps make of the weights.
// RUN: not %{compile} --strategy=data-parallel --topology=%t/less.json -o %t/refused.so 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: %{compile} --recompute=auto --strategy=data-parallel --topology=%t/less.json --json -o %t/less.so > %t/less.txt 2>&1
// RUN: FileCheck %s --check-prefix=LESS < %t/less.txt
// RUN: soap-run %t/enough.so --iterations=5 --warmup=0 --save-state=%t/enough.safetensors
// RUN: soap-run %t/less.so --iterations=5 --warmup=0 --save-state=%t/less.safetensors
// RUN: cmp %t/enough.safetensors %t/less.safetensors
// RUN: soap-run %t/less.so --verify | FileCheck %s --check-prefix=VERIFY
// REFUSED: error: {{.*}}device 0: expected at most 450000 bytes of memory, got:
// LESS: recompute: {{[0-9]+}} operations are made again ({{.*}} sigmoid{{.*}}); a device holds at most {{.*}} in place of
// LESS: "recomputation": {
// LESS: "operations": [
// LESS-NEXT: "{{(fc|tanh|sigmoid)[1-4]}}"
// LESS: "peak_memory_bytes": {{[34][0-9][0-9][0-9][0-9][0-9]}},
// LESS: "peak_memory_bytes_without": {{5[0-9][0-9][0-9][0-9][0-9]}},
// VERIFY-NOT: DIFFERENT

// Tests that a search finds a step that makes values again where nothing fits
// without, and that rows of a report say what they make again.
// RUN: %{compile} --recompute=auto --strategy=search --proposals=200 --topology=%t/less.json --emit=strategy -o %t/found.mlir 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: FileCheck %s --check-prefix=FOUND < %t/found.mlir
// RUN: %{compile} --recompute=auto --strategy=data-parallel --topology=%t/less.json --emit=report 2>&1 | FileCheck %s --check-prefix=REPORT
// SEARCH: search: {{[0-9]+}} proposals
// SEARCH: recompute: {{[0-9]+ operations are|1 operation is}} made again
// FOUND: nn.sigmoid {{.*}}nn.after = {{.*}}nn.name = "sigmoid{{[1-4]}}.again", soap.config
// REPORT: data-parallel {{.*}} operations made again: 0.1 MiB less, {{.*}} ms more

// Tests what is said where not even that is enough.
// RUN: not %{compile} --recompute=auto --strategy=data-parallel --topology=%t/none.json -o %t/refused.so 2>&1 | FileCheck %s --check-prefix=HOPELESS
// RUN: not %{compile} --recompute=auto --strategy=search --proposals=200 --topology=%t/none.json -o %t/refused.so 2>&1 | FileCheck %s --check-prefix=HOPELESS-SEARCH
// HOPELESS: recompute: no choice of values that are made again lets the step fit into memory
// HOPELESS: error: {{.*}}device 0: expected at most 100000 bytes of memory, got:
// HOPELESS-SEARCH: recompute: no choice of values that are made again lets the step fit into memory
// HOPELESS-SEARCH: error: expected a start that fits into memory, got: none

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<256x64xf32>
  %w1 = nn.parameter {nn.name = "w1"} : tensor<64x64xf32> from #nn.random<1, "w1", normal, 0.0, 0.2>
  %w2 = nn.parameter {nn.name = "w2"} : tensor<64x64xf32> from #nn.random<2, "w2", normal, 0.0, 0.2>
  %w3 = nn.parameter {nn.name = "w3"} : tensor<64x64xf32> from #nn.random<3, "w3", normal, 0.0, 0.2>
  %w4 = nn.parameter {nn.name = "w4"} : tensor<64x64xf32> from #nn.random<4, "w4", normal, 0.0, 0.2>
  %m1 = nn.matmul %x, %w1 {nn.name = "fc1"} : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %t1 = nn.tanh %m1 {nn.name = "tanh1"} : tensor<256x64xf32>
  %s1 = nn.sigmoid %t1 {nn.name = "sigmoid1"} : tensor<256x64xf32>
  %m2 = nn.matmul %s1, %w2 {nn.name = "fc2"} : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %t2 = nn.tanh %m2 {nn.name = "tanh2"} : tensor<256x64xf32>
  %s2 = nn.sigmoid %t2 {nn.name = "sigmoid2"} : tensor<256x64xf32>
  %m3 = nn.matmul %s2, %w3 {nn.name = "fc3"} : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %t3 = nn.tanh %m3 {nn.name = "tanh3"} : tensor<256x64xf32>
  %s3 = nn.sigmoid %t3 {nn.name = "sigmoid3"} : tensor<256x64xf32>
  %m4 = nn.matmul %s3, %w4 {nn.name = "fc4"} : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %t4 = nn.tanh %m4 {nn.name = "tanh4"} : tensor<256x64xf32>
  %s4 = nn.sigmoid %t4 {nn.name = "sigmoid4"} : tensor<256x64xf32>
  nn.output %s4 {nn.name = "y"} : tensor<256x64xf32>
  return
}
