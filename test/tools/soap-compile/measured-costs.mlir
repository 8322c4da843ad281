// Tests costs that are measured while a strategy is chosen.
//
// REQUIRES: soap-compile, soap-run, python
// DEFINE: %{compile} = env SOAP_CALIBRATION_DIR=%t/kept soap-compile %s --devices=2 --cores-per-device=1 --calibration=none --proposals=300 --budget=20
// RUN: rm -rf %t && mkdir %t

// Tests that the kernels of a named strategy are measured once.
// RUN: %{compile} --cost=measured --strategy=tensor-parallel --json -o %t/m.so 2> %t/log > %t/first.json
// RUN: FileCheck %s --check-prefix=SAID --input-file=%t/log
// SAID: costs: [[N:[2-9]]] kernels measured in 1 runs, {{.*}} s; [[N]] known{{$}}
// RUN: FileCheck %s --check-prefix=FIRST --input-file=%t/first.json
// FIRST: "costs": {
// FIRST: "file": "{{.*}}/kept/costs-cpu-{{[0-9a-f]+}}-2x1.json"
// FIRST: "measured": {{[2-9]}},
// FIRST: "missing": 0,
// FIRST: "runs": 1,
// RUN: %{compile} --cost=measured --strategy=tensor-parallel --json -o %t/m.so 2>/dev/null | FileCheck %s --check-prefix=AGAIN
// AGAIN: "measured": 0,
// AGAIN: "reference": "",
// AGAIN: "runs": 0,

// Tests that what is known is the reference of what is measured later.
// RUN: env SOAP_CALIBRATION_DIR=%t/other soap-compile %s --devices=2 --cores-per-device=1 --calibration=none --cost=measured --strategy=tensor-parallel --json -o %t/r.so 2>/dev/null | FileCheck %s --check-prefix=ITSELF
// RUN: env SOAP_CALIBRATION_DIR=%t/other soap-compile %s --devices=2 --cores-per-device=1 --calibration=none --cost=measured --strategy=data-parallel --json -o %t/r.so 2>/dev/null | FileCheck %s --check-prefix=BESIDE
// ITSELF: "reference": "tensor-parallel",
// BESIDE: "reference": "tensor-parallel",
// RUN: soap-run %t/m.so --compare=%t/m.so | FileCheck %s --check-prefix=EQUAL
// EQUAL: compare y: equal

// Tests that the simulated step is the one of measured costs: of the same file
// as with --cost.
// RUN: cp %t/kept/costs-*.json %t/costs.json
// RUN: %{compile} --cost=measured --strategy=tensor-parallel --export-strategy=%t/a.json -o %t/m.so 2>/dev/null
// RUN: %{compile} --cost=%t/costs.json --strategy=tensor-parallel --export-strategy=%t/b.json -o %t/m.so 2>/dev/null
// RUN: diff %t/a.json %t/b.json

// Tests that a file that says nothing of what is launched is not taken in
// silence: costs of other devices, or of other kernels.
// RUN: sed 's/"device_kind": *"[^"]*"/"device_kind": "abacus"/' %t/costs.json > %t/abacus.json
// RUN: %{compile} --cost=%t/abacus.json --strategy=tensor-parallel -o %t/m.so 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed 's/-> [0-9]/-> 7/g' %t/costs.json > %t/others.json
// RUN: %{compile} --cost=%t/others.json --strategy=tensor-parallel -o %t/m.so 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %{compile} --cost=%t/costs.json --strategy=tensor-parallel -o %t/m.so 2>&1 | FileCheck %s --check-prefix=SOME
// KIND: warning: expected --cost={{.*}}abacus.json to have kernels that the strategy launches on its devices ({{.+}}), got: none of that kind; times are those of the analytic model
// NONE: warning: expected --cost={{.*}}others.json to have kernels that the strategy launches on its devices ({{.+}}), got: none of them; times are estimated from others
// SOME-NOT: warning: expected --cost

// Tests that a search goes on until what it found is measured, that two at once
// succeed, and that the next one finds nearly all that it needs.
// RUN: sh -c '%{compile} --cost=measured --json -o %t/a.so > %t/a.json 2>/dev/null & %{compile} --cost=measured --seed=7 --json -o %t/b.so > %t/b.json 2>/dev/null; b=$?; wait $! && exit $b'
// RUN: %{compile} --cost=measured --json -o %t/c.so > %t/c.json 2>/dev/null
// RUN: %python %S/Inputs/measured_costs.py %t/a.json %t/b.json %t/c.json | FileCheck %s --check-prefix=SEARCH
// SEARCH: missing: 0 0 0
// SEARCH-NEXT: the last one measured less

// Tests that a search on a given file is the same again, also where kernels are
// in no file.
// RUN: %{compile} --cost=%t/costs.json --emit=strategy -o %t/1.mlir 2>/dev/null
// RUN: %{compile} --cost=%t/costs.json --emit=strategy -o %t/2.mlir 2>/dev/null
// RUN: diff %t/1.mlir %t/2.mlir

// Tests that strategies run before one is taken (which named ones do depends on
// how fast kernels are here), and that none of them ran
// faster.
// RUN: %{compile} --tune=1 --json -o %t/t.so 2> %t/log > %t/t.json
// RUN: FileCheck %s --check-prefix=TUNE --input-file=%t/log
// TUNE: tune: found: simulated {{.*}} ms, measured {{.*}} ms ({{.*}} steps)
// TUNE: costs:
// RUN: %python %S/Inputs/measured_costs.py --tuning %t/t.json | FileCheck %s --check-prefix=TUNED
// TUNED: found{{.*}}
// TUNED-NEXT: taken: the fastest
// RUN: soap-run %t/t.so --compare=%t/m.so | FileCheck %s --check-prefix=EQUAL

// Tests a report: all of its rows have measured costs.
// RUN: %{compile} --cost=measured --emit=report --json 2>/dev/null | FileCheck %s --check-prefix=REPORT
// REPORT: "missing": 0,

// Tests that nothing is kept where there is no folder, nor in the folder for
// temporary files.
// RUN: mkdir %t/temporary
// RUN: env TMPDIR=%t/temporary SOAP_CALIBRATION_DIR= soap-compile %s --devices=2 --cost=measured --strategy=spatial -o %t/m.so 2>&1 | FileCheck %s --check-prefix=UNKEPT
// UNKEPT: costs: {{[1-9]}} kernels measured
// RUN: ls -A %t/temporary | count 0

// Tests that a compilation goes on where nothing can be kept.
// RUN: touch %t/file
// RUN: env SOAP_CALIBRATION_DIR=%t/file soap-compile %s --devices=2 --calibration=none --cost=measured --strategy=spatial -o %t/m.so 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: costs: {{[1-9]}} kernels measured
// FAILED-NEXT: warning: expected to write '{{.*}}costs-cpu-{{.*}}.json.lock', got: {{.*}}; what was measured serves this compilation alone

// Tests what measuring does not go with.
// RUN: not %{compile} --cost=measured --search-state=%t/s.json -o %t/m.so 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error: expected --search-state with costs that stay the same, got: --cost=measured; give a file with --cost
// RUN: not soap-compile %s --topology=p100 --cost=measured -o %t/m.so 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// TOPOLOGY: error: expected --cost=measured with devices of this machine, got: --topology; give --devices, or a file with --cost
// RUN: not %{compile} --cost=analytic --tune -o %t/m.so 2>&1 | FileCheck %s --check-prefix=COST
// COST: error: expected --tune with --cost=measured, got: other costs; leave one of them out
// RUN: not %{compile} --strategy=spatial --tune=3 -o %t/m.so 2>&1 | FileCheck %s --check-prefix=NAMED
// NAMED: error: expected --tune with --strategy=search, got: 'spatial'; leave one of them out

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
