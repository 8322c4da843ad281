// RUN: rm -rf %t && mkdir %t
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy -o %t/a.mlir 2>&1 | FileCheck %s --check-prefix=MEASURED
// RUN: cat %t/calibration-*.json | FileCheck %s --check-prefix=FILE
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy -o %t/b.mlir 2>&1 | count 0
// RUN: diff %t/a.mlir %t/b.mlir
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy --calibration=none -o %t/c.mlir
// RUN: not diff %t/a.mlir %t/c.mlir
// RUN: not soap-compile %s --devices=2 --calibration=%t/other.json --emit=strategy 2>&1 | FileCheck %s --check-prefix=ABSENT

// One device is simulated with what was measured of one device, so that times
// compare; where nobody looks at them, nothing is measured.
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s -o %t/m.so 2>&1 | FileCheck %s --check-prefix=UNSEEN --implicit-check-not=calibration
// RUN: sh -c 'cd %t && cp calibration-*-2x0.json $(ls calibration-*-2x0.json | sed s/2x0/1x0/)'
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=1 --emit=strategy -o %t/d.mlir 2>&1 | count 0
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --emit=strategy -o %t/e.mlir 2>&1 | count 0
// RUN: diff %t/d.mlir %t/e.mlir
// RUN: soap-compile %s --devices=1 --emit=strategy --calibration=none -o %t/f.mlir
// RUN: not diff %t/d.mlir %t/f.mlir
// UNSEEN: memory: peak

// Where a strategy for several devices of this machine is searched, kernels are
// measured, unless the search has to be repeatable or costs come from elsewhere.
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --budget=5 --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=COSTS
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --budget=5 --cost=analytic --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --proposals=50 --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --budget=5 --search-state=%t/state.json --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --budget=5 --calibration=none --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --topology=p100:nodes=1 --budget=5 --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// RUN: env SOAP_CALIBRATION_DIR= soap-compile %s --devices=2 --budget=5 --emit=strategy -o %t/g.mlir 2>&1 | FileCheck %s --check-prefix=ANALYTIC --implicit-check-not=costs:
// COSTS: costs: {{[1-9][0-9]*}} kernels measured
// ANALYTIC: search: {{[0-9]+}} proposals

// Tests that this machine is measured once, that its rates are kept and used,
// and that they can be left out.

// MEASURED: calibration: measuring this machine with 2 busy devices, once; kept in '
// FILE: "format": "soap-calibration"
// ABSENT: error: expected --calibration=auto, none or a file, got: '{{.*}}other.json', which does not exist

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xf32>
  %z = nn.relu %x {nn.name = "relu"} : tensor<4x16xf32>
  nn.output %z {nn.name = "y"} : tensor<4x16xf32>
  return
}
