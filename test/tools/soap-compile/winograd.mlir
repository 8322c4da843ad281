// REQUIRES: soap-run, avx2
// RUN: rm -rf %t && mkdir %t

// Tests that a convolution of 3x3 may be computed by Winograd's algorithm, which
// takes more memory for weights, and that the plan knows.
// RUN: soap-compile %s -o %t/one.so 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: soap-run %t/one.so --info | FileCheck %s
// PLAN: their reordered copies 578.2 KiB
// CHECK: parameters 144.0 KiB (reordered 578.2 KiB)
// CHECK: 1 x Conv soap:winograd_4x4

// Tests that it is not where the model says so.
// RUN: soap-compile %s --no-winograd -o %t/direct.so 2>&1 | FileCheck %s --check-prefix=DIRECT
// RUN: soap-run %t/direct.so --info | FileCheck %s --implicit-check-not=soap:winograd --check-prefix=NOT
// DIRECT: their reordered copies 144.0 KiB
// NOT: 1 x Conv

// Tests that both compute the same, as far as floats go.
// RUN: soap-run %t/one.so --compare=%t/direct.so --input=x=random:1

// Tests that a strategy is compared with a build that sums up directly.
// RUN: soap-compile %s --devices=2 --strategy=spatial --calibration=none -o %t/two.so
// RUN: soap-run %t/two.so --verify --input=x=random:1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: verify: equal

func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<1x64x8x8xf32>
  %w = nn.parameter {nn.name = "w"} : tensor<64x64x3x3xf32> from #nn.random<1, "w", normal, 0.0, 0.3>
  %0 = nn.conv %x, %w {nn.name = "conv", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
    : (tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  nn.output %0 {nn.name = "y"} : tensor<1x64x8x8xf32>
  return
}
