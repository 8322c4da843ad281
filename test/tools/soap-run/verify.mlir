// REQUIRES: soap-compile, soap-run, python
// RUN: rm -rf %t && mkdir %t
// RUN: soap-compile %s --devices=2 --strategy=spatial -o %t/m.so 2> %t/log
// RUN: soap-run %t/m.so --verify | FileCheck %s --check-prefix=EQUAL
// RUN: soap-run %t/m.so --info | FileCheck %s --check-prefix=INFO

// Tests that every tensor is compared with one device (an input, a parameter,
// five operations, two outputs), and that the first one that differs is named,
// with the tile and the device. The table of a device is edited: it pads with
// another number than the reference.

// EQUAL: verify: equal, 9 tensors of {{[0-9]+}} elements in {{[0-9]+}} tiles, worst norm rel error
// EQUAL-NOT: not compared
// INFO: reference a build for one device, for --verify

// RUN: cp %t/m.so %t/first.so && %python %S/Inputs/plant.py %t/first.so 0.71875 0.75 1 %build/unittests/soap-make-test-models
// RUN: not soap-run %t/first.so --verify | FileCheck %s --check-prefixes=WRONG,FIRST
// RUN: cp %t/m.so %t/second.so && %python %S/Inputs/plant.py %t/second.so 0.71875 0.75 2 %build/unittests/soap-make-test-models
// RUN: not soap-run %t/second.so --verify | FileCheck %s --check-prefixes=WRONG,SECOND

// WRONG: verify: DIFFERENT, 9 tensors
// WRONG: verify: 3 of 9 tensors differ
// WRONG: verify: first in graph order: 'pad', f32 [2x4x11x11]
// FIRST-NEXT: tile [0:2, 0:4, 5:11, 0:11] on device 1, computed by 'pad', task 1
// SECOND-NEXT: tile [0:2, 0:4, 0:5, 0:11] on device 0, computed by 'pad', task 0
// WRONG-NEXT: worst element [{{.*}}]: got 0.75, expected 0.71875; {{[0-9]+}} of {{[0-9]+}} unequal, norm rel error

// Tests that tolerances count.
// RUN: soap-run %t/first.so --verify --rtol=0.1 | FileCheck %s --check-prefix=EQUAL

// RUN: not soap-run %t/first.so --verify --json > %t/report
// RUN: %python -c "import json; v = json.load(open(r'%t/report'))['verify']; assert v['first']['name'] == 'pad' and v['first']['device'] == 1 and v['different'] == 3, v"

// Tests that the reference can be left out, and that one device has none.
// RUN: soap-compile %s --devices=2 --strategy=spatial --no-reference -o %t/bare.so 2> %t/log
// RUN: not soap-run %t/bare.so --verify 2>&1 | FileCheck %s --check-prefix=BARE
// BARE: error: expected a model with a build for one device inside, got: '{{.*}}bare.so', which has none; compile it without --no-reference, and not from tasks
// RUN: soap-compile %s -o %t/one.so 2> %t/log
// RUN: not soap-run %t/one.so --verify 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: expected a model of several devices, got: '{{.*}}one.so', of one device, which has nothing to be verified against; compare its outputs with --compare=OTHER.so

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<2x3x9x9xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<4x3x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x9x9xf32>
  %1 = nn.tanh %0 {nn.name = "tanh"} : tensor<2x4x9x9xf32>
  %2 = nn.pad %1 {nn.name = "pad", pads_lo = array<i64: 0, 0, 1, 1>, pads_hi = array<i64: 0, 0, 1, 1>, value = 0.71875 : f32} : (tensor<2x4x9x9xf32>) -> tensor<2x4x11x11xf32>
  %3 = nn.sigmoid %2 {nn.name = "sigmoid"} : tensor<2x4x11x11xf32>
  %4 = nn.max_pool %1 {nn.name = "pool", kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<2x4x9x9xf32>) -> tensor<2x4x9x9xf32>
  nn.output %3 {nn.name = "y"} : tensor<2x4x11x11xf32>
  nn.output %4 {nn.name = "z"} : tensor<2x4x9x9xf32>
  return
}
