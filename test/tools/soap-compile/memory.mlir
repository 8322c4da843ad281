// REQUIRES: soap-run, python
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s --no-winograd --strategy=single --topology=%root/topologies/v100-8.json --emit=soaprt -o %t/plan.mlir
// RUN: FileCheck %s < %t/plan.mlir
// RUN: soap-compile %s --no-winograd -o %t/m.so 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: soap-run %t/m.so --info | FileCheck %s --check-prefix=INFO

// Tests that the plan of a device says what the library's kernels need, and
// that it is printed.
// CHECK: soaprt.device @d0 id 0 activations {{[1-9][0-9]*}} parameters 147456 scratchpad {{[0-9]+}} reordered 147456 peak {{[1-9][0-9]*}}
// PRINT: memory: peak {{[0-9]+\.[0-9]}} KiB, on device 0 (activations {{[0-9.]+}} KiB, parameters 144.0 KiB, their reordered copies 144.0 KiB, scratchpad {{[0-9.]+}} KiB
// INFO: parameters 144.0 KiB (reordered 144.0 KiB), scratchpad {{[0-9.]+}} KiB, peak {{[0-9.]+}} KiB

// Tests that it is compared with what the devices have: one byte too little,
// and just enough.
// RUN: %python %S/Inputs/small_memory.py %root/topologies/v100-8.json %t/small.json %t/plan.mlir -1
// RUN: %python %S/Inputs/small_memory.py %root/topologies/v100-8.json %t/fits.json %t/plan.mlir 0
// RUN: not soap-compile %s --no-winograd --topology=%t/small.json --strategy=single -o %t/small.so 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not ls %t/small.so
// RUN: soap-compile %s --no-winograd --topology=%t/fits.json --strategy=single -o %t/fits.so
// SMALL: error: device 0: expected at most {{[0-9]+}} bytes of memory, got: a plan of {{[0-9]+}} (activations {{.*}}, scratchpad {{.*}} KiB); use more devices, a smaller batch or another strategy
// SMALL-NEXT: {{^    }}147456 bytes of 'w' (parameter)
// SMALL-NEXT: {{^    }}16384 bytes of '{{.*}}' (activation)

// Tests that a library which cannot be asked is a warning: the plug-in does not
// lie beside this copy of the runtime.
// RUN: mkdir %t/alone && cp %build/lib/libSOAPRuntime.so %t/alone
// RUN: env LD_LIBRARY_PATH=%t/alone soap-compile %s -o %t/other.so 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: warning: expected the CPU backend {{.*}}; going on without the memory of library kernels
// OTHER-NOT: memory:

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x64x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  %1 = nn.relu %0 {nn.name = "relu"} : tensor<1x64x8x8xf32>
  nn.output %1 {nn.name = "y"} : tensor<1x64x8x8xf32>
  return
}
