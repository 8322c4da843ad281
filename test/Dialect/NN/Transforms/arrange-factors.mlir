// RUN: soap-opt %s --nn-arrange-factors | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-arrange-factors),nn-hoist-init)' | FileCheck %s --check-prefix=HOIST
// RUN: soap-opt %s --nn-arrange-factors=alignment=2 | FileCheck %s --check-prefix=FREE
// RUN: soap-opt %s --nn-arrange-factors=least-padded=128 | FileCheck %s --check-prefix=PADDED
// RUN: not soap-opt %s --nn-arrange-factors=alignment=0 2>&1 | FileCheck %s --check-prefix=ERROR

// Tests that a weight whose rows are no multiple of 16 bytes is transposed, once for
// all who read it, when the model is loaded; that rows which neither form aligns, and
// those of other values, stay; and that a transposition in front of a product keeps the
// innermost dimension.

// ERROR: error: expected an alignment of 1 or more, got: 0
// HOIST-LABEL: func.func private @init() -> tensor<7x16xbf16>
// HOIST: nn.transpose
// HOIST: func.func @main
// HOIST: nn.matmul {{.*}}nn.name = "a", transpose_b}

// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = nn.transpose %{{.*}} {nn.name = "w.transposed", permutation = array<i64: 1, 0>} : (tensor<16x7xbf16>) -> tensor<7x16xbf16>
// CHECK: nn.matmul %{{.*}}, %[[T]] {nn.name = "a", transpose_b} {{.*}} -> tensor<4x7xf32>
// CHECK: nn.matmul %{{.*}}, %[[T]] {nn.name = "b", transpose_b}
// CHECK: nn.matmul %{{.*}} {nn.name = "odd"} : (tensor<4x5xbf16>, tensor<5x7xbf16>)
// CHECK: nn.matmul %{{.*}} {nn.name = "given"} : (tensor<4x16xbf16>, tensor<16x7xbf16>)
// CHECK: %[[K:.*]] = nn.transpose %{{.*}} {nn.name = "keys", permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x8xbf16>) -> tensor<2x3x6x8xbf16>
// CHECK: nn.matmul %{{.*}}, %[[K]] {nn.name = "scores", transpose_b} {{.*}} -> tensor<2x3x6x6xf32>

// Tests that a large product of a weight has columns of zeros instead.
// PADDED: %[[W:.*]] = nn.pad %{{.*}} {nn.name = "w.padded", pads_hi = array<i64: 0, 1>, pads_lo = array<i64: 0, 0>, value = 0.000000e+00 : bf16} : (tensor<16x7xbf16>) -> tensor<16x8xbf16>
// PADDED: %[[A:.*]] = nn.matmul %{{.*}}, %{{.*}} {nn.name = "a"} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
// PADDED-NEXT: nn.slice %[[A]] {nn.name = "a.columns", starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x7xf32>
// PADDED: %[[B:.*]] = nn.matmul {{.*}} {nn.name = "b"} {{.*}} -> tensor<4x8xf32>
// PADDED-NEXT: nn.slice %[[B]]
// PADDED: nn.matmul {{.*}} {nn.name = "given"} : (tensor<4x16xbf16>, tensor<16x7xbf16>)

// The slice goes behind a cast, which libraries make of their results.
// PADDED: %[[R:.*]] = nn.matmul {{.*}} {nn.name = "rounded"} {{.*}} -> tensor<4x8xf32>
// PADDED-NEXT: %[[C:.*]] = nn.cast %[[R]] {nn.name = "rounded.bf16"} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// PADDED-NEXT: nn.slice %[[C]] {nn.name = "rounded.columns", {{.*}} : (tensor<4x8xbf16>) -> tensor<4x7xbf16>

// FREE: nn.matmul {{.*}}nn.name = "a"} : (tensor<4x16xbf16>, tensor<16x7xbf16>)
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x16xbf16>
  %w = nn.parameter {nn.name = "w"} : tensor<16x7xbf16> from #nn.splat<1.0 : bf16>
  %0 = nn.matmul %x, %w {nn.name = "a"} : (tensor<4x16xbf16>, tensor<16x7xbf16>) -> tensor<4x7xf32>
  %1 = nn.matmul %x, %w {nn.name = "b"} : (tensor<4x16xbf16>, tensor<16x7xbf16>) -> tensor<4x7xf32>
  nn.output %0 {nn.name = "y0"} : tensor<4x7xf32>
  nn.output %1 {nn.name = "y1"} : tensor<4x7xf32>
  %z = nn.input {nn.name = "z"} : tensor<4x5xbf16>
  %v = nn.parameter {nn.name = "v"} : tensor<5x7xbf16> from #nn.splat<1.0 : bf16>
  %2 = nn.matmul %z, %v {nn.name = "odd"} : (tensor<4x5xbf16>, tensor<5x7xbf16>) -> tensor<4x7xf32>
  nn.output %2 {nn.name = "y2"} : tensor<4x7xf32>
  %u = nn.input {nn.name = "u"} : tensor<16x7xbf16>
  %3 = nn.matmul %x, %u {nn.name = "given"} : (tensor<4x16xbf16>, tensor<16x7xbf16>) -> tensor<4x7xf32>
  nn.output %3 {nn.name = "y3"} : tensor<4x7xf32>
  %6 = nn.matmul %x, %w {nn.name = "rounded"} : (tensor<4x16xbf16>, tensor<16x7xbf16>) -> tensor<4x7xf32>
  %7 = nn.cast %6 {nn.name = "rounded.bf16"} : (tensor<4x7xf32>) -> tensor<4x7xbf16>
  nn.output %7 {nn.name = "y5"} : tensor<4x7xbf16>
  %q = nn.input {nn.name = "q"} : tensor<2x3x6x8xbf16>
  %k = nn.input {nn.name = "k"} : tensor<2x6x3x8xbf16>
  %4 = nn.transpose %k {nn.name = "keys", permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x6x3x8xbf16>) -> tensor<2x3x8x6xbf16>
  %5 = nn.matmul %q, %4 {nn.name = "scores"} : (tensor<2x3x6x8xbf16>, tensor<2x3x8x6xbf16>) -> tensor<2x3x6x6xf32>
  nn.output %5 {nn.name = "y4"} : tensor<2x3x6x6xf32>
  return
}
