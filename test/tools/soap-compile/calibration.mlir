// RUN: rm -rf %t && mkdir %t
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy -o %t/a.mlir 2>&1 | FileCheck %s --check-prefix=MEASURED
// RUN: cat %t/calibration-*.json | FileCheck %s --check-prefix=FILE
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy -o %t/b.mlir 2>&1 | count 0
// RUN: diff %t/a.mlir %t/b.mlir
// RUN: env SOAP_CALIBRATION_DIR=%t soap-compile %s --devices=2 --strategy=data-parallel --emit=strategy --calibration=none -o %t/c.mlir
// RUN: not diff %t/a.mlir %t/c.mlir
// RUN: not soap-compile %s --devices=2 --calibration=%t/other.json --emit=strategy 2>&1 | FileCheck %s --check-prefix=ABSENT

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
