// RUN: soap-opt %s --nn-fold-attention --split-input-file | FileCheck %s
// RUN: soap-opt %s --nn-fold-attention=least-score-bytes=280 --split-input-file | FileCheck %s --check-prefix=LARGE
// RUN: soap-opt %s --nn-fold-attention=bf16 --split-input-file | FileCheck %s --check-prefix=NARROW
// NARROW-LABEL: func.func @plain
// NARROW: nn.attention {{.*}} {bf16,

// 2x5x7 scores of f32 are 280 bytes, 5x7 are 140.
// LARGE-LABEL: func.func @plain
// LARGE: nn.attention
// LARGE-LABEL: func.func @masks
// LARGE-NOT: nn.attention

// Tests attention without a mask, over keys that are transposed, with a factor in
// front of the softmax.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[Q:.*]]: tensor<2x5x3xf32>, %[[K:.*]]: tensor<2x3x7xf32>, %[[V:.*]]: tensor<2x7x4xf32>
// CHECK-NOT: nn.softmax
// CHECK: nn.attention %[[Q]], %[[K]], %[[V]] {nn.name = "context", scale = 2.500000e-01 : f32, transposed_keys}
// CHECK-NOT: nn.matmul
func.func @plain(%q: tensor<2x5x3xf32>, %k: tensor<2x3x7xf32>, %v: tensor<2x7x4xf32>) {
  %c = nn.constant dense<2.0> : tensor<f32> {nn.name = "two"}
  %0 = nn.matmul %q, %k {nn.name = "scores", alpha = 5.0e-01 : f32} : (tensor<2x5x3xf32>, tensor<2x3x7xf32>) -> tensor<2x5x7xf32>
  %1 = nn.div %0, %c {nn.name = "scale"} : (tensor<2x5x7xf32>, tensor<f32>) -> tensor<2x5x7xf32>
  %2 = nn.softmax %1 {nn.name = "weights", axis = 2 : i64} : tensor<2x5x7xf32>
  %3 = nn.matmul %2, %v {nn.name = "context"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %3 {nn.name = "y"} : tensor<2x5x4xf32>
  return
}

// -----

// Tests masks of booleans, which hide or keep, and one that is added.
// CHECK-LABEL: func.func @masks
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<5x7xi1>, %[[A:[a-z0-9]+]]: tensor<1x7xf32>
// CHECK: nn.attention {{.*}} mask %[[M]] {fill = -1.000000e+04 : f32, nn.name = "hidden"}
// CHECK: nn.attention {{.*}} mask %[[M]] {fill = 0xFF800000 : f32, mask_keeps, nn.name = "kept"}
// CHECK: nn.attention {{.*}} mask %[[A]] {nn.name = "added"}
func.func @masks(%q: tensor<5x3xf32>, %k: tensor<7x3xf32>, %v: tensor<7x4xf32>, %m: tensor<5x7xi1>, %a: tensor<1x7xf32>) {
  %low = nn.constant dense<-1.0e+04> : tensor<f32> {nn.name = "low"}
  %lowest = nn.constant dense<0xFF800000> : tensor<5x7xf32> {nn.name = "lowest"}
  %0 = nn.matmul %q, %k {nn.name = "s0", transpose_b} : (tensor<5x3xf32>, tensor<7x3xf32>) -> tensor<5x7xf32>
  %1 = nn.where %m, %low, %0 {nn.name = "m0"} : (tensor<5x7xi1>, tensor<f32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = nn.softmax %1 {nn.name = "w0", axis = 1 : i64} : tensor<5x7xf32>
  %3 = nn.matmul %2, %v {nn.name = "hidden"} : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  %4 = nn.matmul %q, %k {nn.name = "s1", transpose_b} : (tensor<5x3xf32>, tensor<7x3xf32>) -> tensor<5x7xf32>
  %5 = nn.where %m, %4, %lowest {nn.name = "m1"} : (tensor<5x7xi1>, tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %6 = nn.softmax %5 {nn.name = "w1", axis = 1 : i64} : tensor<5x7xf32>
  %7 = nn.matmul %6, %v {nn.name = "kept"} : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  %8 = nn.matmul %q, %k {nn.name = "s2", transpose_b} : (tensor<5x3xf32>, tensor<7x3xf32>) -> tensor<5x7xf32>
  %9 = nn.add %a, %8 {nn.name = "m2"} : (tensor<1x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %10 = nn.softmax %9 {nn.name = "w2", axis = 1 : i64} : tensor<5x7xf32>
  %11 = nn.matmul %10, %v {nn.name = "added"} : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  nn.output %3 {nn.name = "y0"} : tensor<5x4xf32>
  nn.output %7 {nn.name = "y1"} : tensor<5x4xf32>
  nn.output %11 {nn.name = "y2"} : tensor<5x4xf32>
  return
}

// -----

// Tests what stays: weights that something else reads, a softmax along rows, a
// logarithm, a mask that a factor follows, two masks, values that broadcast, and
// scores that are added to themselves.
// CHECK-LABEL: func.func @others
// CHECK-NOT: nn.attention
func.func @others(%q: tensor<2x5x3xf32>, %k: tensor<2x7x3xf32>, %v: tensor<2x7x4xf32>, %v1: tensor<1x7x4xf32>, %v5: tensor<2x5x4xf32>, %a: tensor<2x5x7xf32>) {
  %c = nn.constant dense<2.0> : tensor<f32> {nn.name = "two"}
  %0 = nn.matmul %q, %k {nn.name = "s0", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %1 = nn.softmax %0 {nn.name = "w0", axis = 2 : i64} : tensor<2x5x7xf32>
  %2 = nn.matmul %1, %v {nn.name = "read"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %1 {nn.name = "weights"} : tensor<2x5x7xf32>
  nn.output %2 {nn.name = "y0"} : tensor<2x5x4xf32>
  %3 = nn.matmul %q, %k {nn.name = "s1", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %4 = nn.softmax %3 {nn.name = "w1", axis = 1 : i64} : tensor<2x5x7xf32>
  %5 = nn.matmul %4, %v {nn.name = "rows"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %5 {nn.name = "y1"} : tensor<2x5x4xf32>
  %6 = nn.matmul %q, %k {nn.name = "s2", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %7 = nn.softmax %6 {nn.name = "w2", axis = 2 : i64, log} : tensor<2x5x7xf32>
  %8 = nn.matmul %7, %v {nn.name = "log"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %8 {nn.name = "y2"} : tensor<2x5x4xf32>
  %9 = nn.matmul %q, %k {nn.name = "s3", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %10 = nn.add %9, %a {nn.name = "m3"} : (tensor<2x5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %11 = nn.mul %10, %c {nn.name = "f3"} : (tensor<2x5x7xf32>, tensor<f32>) -> tensor<2x5x7xf32>
  %12 = nn.softmax %11 {nn.name = "w3", axis = 2 : i64} : tensor<2x5x7xf32>
  %13 = nn.matmul %12, %v {nn.name = "factor"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %13 {nn.name = "y3"} : tensor<2x5x4xf32>
  %14 = nn.matmul %q, %k {nn.name = "s4", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %15 = nn.add %14, %a {nn.name = "m4"} : (tensor<2x5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %16 = nn.add %15, %a {nn.name = "n4"} : (tensor<2x5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %17 = nn.softmax %16 {nn.name = "w4", axis = 2 : i64} : tensor<2x5x7xf32>
  %18 = nn.matmul %17, %v {nn.name = "masks"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %18 {nn.name = "y4"} : tensor<2x5x4xf32>
  %19 = nn.matmul %q, %k {nn.name = "s5", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %20 = nn.softmax %19 {nn.name = "w5", axis = 2 : i64} : tensor<2x5x7xf32>
  %21 = nn.matmul %20, %v1 {nn.name = "broadcast"} : (tensor<2x5x7xf32>, tensor<1x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %21 {nn.name = "y5"} : tensor<2x5x4xf32>
  %22 = nn.matmul %q, %k {nn.name = "s6", transpose_b} : (tensor<2x5x3xf32>, tensor<2x7x3xf32>) -> tensor<2x5x7xf32>
  %23 = nn.add %22, %22 {nn.name = "twice"} : (tensor<2x5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %24 = nn.softmax %23 {nn.name = "w6", axis = 2 : i64} : tensor<2x5x7xf32>
  %25 = nn.matmul %24, %v {nn.name = "self"} : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  nn.output %25 {nn.name = "y6"} : tensor<2x5x4xf32>
  return
}
