// RUN: soap-opt %s --nn-narrow-activations --split-input-file | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-narrow-activations,nn-fuse{leave-rounding}))' --split-input-file | FileCheck %s --check-prefix=FUSED

// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-narrow-activations{followers}))' --split-input-file | FileCheck %s --check-prefix=NORMS
// RUN: soap-opt %s --pass-pipeline='builtin.module(func.func(nn-narrow-activations{followers},nn-fuse{drop-rounding}))' --split-input-file | FileCheck %s --check-prefix=ONCE

// Tests that the result of a product is rounded right behind it, with a bias of the
// same type, and that what is computed per element, or moves elements, stays narrow up
// to the next product; that a residual of f32 makes the sum f32; and that a layer norm
// which only products read rounds what it makes.

// CHECK-LABEL: func.func @main
// CHECK: %[[B16:.*]] = nn.cast %{{.*}} {nn.name = "b.bf16"} : (tensor<16xf32>) -> tensor<16xbf16>
// CHECK: %[[N:.*]] = nn.layer_norm %{{.*}}, %{{.*}} {{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xbf16>
// CHECK: %[[P:.*]] = nn.matmul %[[N]], %{{.*}} bias %[[B16]] {nn.name = "up"} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<4x16xf32>
// CHECK-NEXT: %[[R:.*]] = nn.cast %[[P]] {nn.name = "up.bf16"} : (tensor<4x16xf32>) -> tensor<4x16xbf16>
// CHECK-NEXT: %[[G:.*]] = nn.gelu %[[R]] {nn.name = "act"} : tensor<4x16xbf16>
// CHECK: %[[D:.*]] = nn.matmul %[[G]], %{{.*}} {nn.name = "down"} {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT: %[[D16:.*]] = nn.cast %[[D]] {nn.name = "down.bf16"}
// CHECK-NEXT: %[[WIDE:.*]] = nn.cast %[[D16]] {nn.name = "down.bf16.f32"} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-NEXT: nn.add %{{.*}}, %[[WIDE]] {nn.name = "residual"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>

// A library may have biases and normalisations of f32.
// NORMS-LABEL: func.func @main
// NORMS: nn.layer_norm {{.*}} -> tensor<4x8xf32>
// NORMS: nn.matmul {{.*}} {nn.name = "up"} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xf32>) -> tensor<4x16xf32>
// NORMS-NEXT: nn.cast {{.*}} {nn.name = "up.bf16"}
// NORMS-LABEL: func.func @main
// NORMS: nn.softmax {{.*}} : tensor<2x3x6x6xf32>

// What is computed per element is f32 and rounded once, where it is stored: a sum that
// follows a product alone is as if this had never been rounded.
// ONCE-LABEL: func.func @main
// ONCE: %[[UP:.*]] = nn.matmul {{.*}} {nn.name = "up"}
// ONCE-NEXT: %[[ACT:.*]] = nn.fused(%[[UP]]) {nn.name = "act.bf16"} : {{.*}} -> tensor<4x16xbf16>
// ONCE: nn.gelu {{.*}} : tensor<4x16xf32>
// ONCE-NEXT: nn.cast {{.*}} : (tensor<4x16xf32>) -> tensor<4x16xbf16>
// ONCE: %[[DOWN:.*]] = nn.matmul %[[ACT]]{{.*}} {nn.name = "down"} {{.*}} -> tensor<4x8xf32>
// ONCE-NEXT: nn.add %{{.*}}, %[[DOWN]] {nn.name = "residual"}

// The cast behind a product is left to the library, the widening one is not.
// FUSED-LABEL: func.func @main
// FUSED: nn.cast %{{.*}} {nn.name = "down.bf16"}
// FUSED-NEXT: nn.fused({{.*}} {nn.name = "residual"}
// FUSED: nn.cast {{.*}} -> tensor<4x8xf32>
// FUSED-NEXT: nn.add
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xf32>
  %s = nn.parameter {nn.name = "s"} : tensor<8xf32> from #nn.splat<1.0 : f32>
  %b = nn.parameter {nn.name = "b"} : tensor<16xf32> from #nn.splat<1.0 : f32>
  %v = nn.parameter {nn.name = "v"} : tensor<8x16xbf16> from #nn.splat<1.0 : bf16>
  %w = nn.parameter {nn.name = "w"} : tensor<16x8xbf16> from #nn.splat<1.0 : bf16>
  %0 = nn.layer_norm %x, %s {nn.name = "norm", axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.cast %0 {nn.name = "norm.bf16"} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %2 = nn.matmul %1, %v bias %b {nn.name = "up"} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xf32>) -> tensor<4x16xf32>
  %3 = nn.gelu %2 {nn.name = "act"} : tensor<4x16xf32>
  %4 = nn.cast %3 {nn.name = "act.bf16"} : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  %5 = nn.matmul %4, %w {nn.name = "down"} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  %6 = nn.add %x, %5 {nn.name = "residual"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  nn.output %6 {nn.name = "y"} : tensor<4x8xf32>
  return
}

// -----

// Tests that casts go in front of what reorders elements, that scores are computed in
// f32 and their softmax rounds its result, and that a product which only an output
// reads, also in another shape, stays f32.

// CHECK-LABEL: func.func @main
// CHECK: %[[Q:.*]] = nn.cast %{{.*}} {nn.name = "q.bf16"} : (tensor<2x6x3x4xf32>) -> tensor<2x6x3x4xbf16>
// CHECK: %[[T:.*]] = nn.transpose %[[Q]] {{.*}} : (tensor<2x6x3x4xbf16>) -> tensor<2x3x6x4xbf16>
// CHECK: nn.matmul %[[T]], %[[T]] {nn.name = "scores", transpose_b}
// CHECK-NEXT: nn.cast {{.*}} -> tensor<2x3x6x6xbf16>
// CHECK-NEXT: nn.cast {{.*}} -> tensor<2x3x6x6xf32>
// CHECK: nn.div {{.*}} -> tensor<2x3x6x6xf32>
// CHECK-NEXT: %[[S:.*]] = nn.softmax {{.*}} : (tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xbf16>
// CHECK-NEXT: %[[C:.*]] = nn.matmul %[[S]], %[[T]] {nn.name = "context"} {{.*}} -> tensor<2x3x6x4xf32>
// CHECK-NEXT: nn.transpose %[[C]] {{.*}} -> tensor<2x6x3x4xf32>
func.func @main() {
  %q = nn.input {nn.name = "q"} : tensor<2x6x3x4xf32>
  %two = nn.constant dense<2.0> : tensor<f32> {nn.name = "two"}
  %0 = nn.transpose %q {nn.name = "heads", permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
  %1 = nn.cast %0 {nn.name = "heads.bf16"} : (tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xbf16>
  %2 = nn.matmul %1, %1 {nn.name = "scores", transpose_b} : (tensor<2x3x6x4xbf16>, tensor<2x3x6x4xbf16>) -> tensor<2x3x6x6xf32>
  %3 = nn.div %2, %two {nn.name = "scale"} : (tensor<2x3x6x6xf32>, tensor<f32>) -> tensor<2x3x6x6xf32>
  %4 = nn.softmax %3 {nn.name = "weights", axis = 3 : i64} : tensor<2x3x6x6xf32>
  %5 = nn.cast %4 {nn.name = "weights.bf16"} : (tensor<2x3x6x6xf32>) -> tensor<2x3x6x6xbf16>
  %6 = nn.matmul %5, %1 {nn.name = "context"} : (tensor<2x3x6x6xbf16>, tensor<2x3x6x4xbf16>) -> tensor<2x3x6x4xf32>
  %7 = nn.transpose %6 {nn.name = "back", permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
  nn.output %7 {nn.name = "y"} : tensor<2x6x3x4xf32>
  return
}

// -----

// Tests that every operation per element has a widening cast of its own and other
// readers share one, that a padding value is rounded, that a bias which an nn.add adds
// is rounded to the type of the sum, and that other constants are not.

// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = nn.cast %{{.*}} {nn.name = "p.f16"} : (tensor<4x6xf32>) -> tensor<4x6xf16>
// CHECK-DAG: %[[ONE:.*]] = nn.cast %[[P]] {{.*}} -> tensor<4x6xf32>
// CHECK-DAG: nn.exp
// CHECK-DAG: nn.log
// CHECK-DAG: nn.pad %[[P]] {{.*}}value = 1.500000e+00 : f16} : (tensor<4x6xf16>) -> tensor<4x8xf16>
// CHECK-DAG: nn.add %[[P]], %{{.*}} {nn.name = "biased"} : (tensor<4x6xf16>, tensor<6xf16>) -> tensor<4x6xf16>
// CHECK-DAG: nn.mul %{{.*}}, %{{.*}} {nn.name = "scaled"} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-DAG: nn.reduce
func.func @main() {
  %x = nn.input {nn.name = "x"} : tensor<4x8xf16>
  %w = nn.parameter {nn.name = "w"} : tensor<8x6xf16> from #nn.splat<1.0 : f16>
  %b = nn.parameter {nn.name = "b"} : tensor<6xf32> from #nn.splat<1.0 : f32>
  %p = nn.matmul %x, %w {nn.name = "p"} : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32>
  %0 = nn.exp %p {nn.name = "exp"} : tensor<4x6xf32>
  %1 = nn.log %p {nn.name = "log"} : tensor<4x6xf32>
  %2 = nn.pad %p {nn.name = "pad", pads_lo = array<i64: 0, 1>, pads_hi = array<i64: 0, 1>, value = 1.5 : f32} : (tensor<4x6xf32>) -> tensor<4x8xf32>
  %3 = nn.add %p, %b {nn.name = "biased"} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %4 = nn.mul %p, %b {nn.name = "scaled"} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %5 = nn.reduce %p {nn.name = "sum", kind = #nn.reduce_kind<sum>, axes = array<i64: 1>, keepdims = true, scale = 1.0 : f32} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  nn.output %0 {nn.name = "y0"} : tensor<4x6xf32>
  nn.output %1 {nn.name = "y1"} : tensor<4x6xf32>
  nn.output %2 {nn.name = "y2"} : tensor<4x8xf32>
  nn.output %3 {nn.name = "y3"} : tensor<4x6xf32>
  nn.output %4 {nn.name = "y4"} : tensor<4x6xf32>
  nn.output %5 {nn.name = "y5"} : tensor<4x1xf32>
  return
}

// -----

// Tests that an argument of a function is narrowed like any other value.

// CHECK-LABEL: func.func @of_argument
// CHECK: %[[X:.*]] = nn.cast %arg0 {nn.name = "argument0.bf16"} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK: nn.transpose %[[X]]
func.func @of_argument(%x: tensor<2x8xf32>) -> tensor<8x2xbf16> {
  %0 = nn.transpose %x {nn.name = "t", permutation = array<i64: 1, 0>} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %1 = nn.cast %0 {nn.name = "c"} : (tensor<8x2xf32>) -> tensor<8x2xbf16>
  return %1 : tensor<8x2xbf16>
}
