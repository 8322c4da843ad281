// RUN: soap-opt %s -split-input-file --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=loops}))' -mlir-print-local-scope | FileCheck %s

// Tests that nests of loops are dealt out to threads.

// A thread takes columns of all slices, and fills them with zeros before.
// CHECK-LABEL: func.func private @soap_native_0_scatter_nd_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK-DAG: %[[LO:.*]] = arith.muli %[[BEGIN]], %c16
// CHECK-DAG: %[[HI:.*]] = arith.muli %[[END]], %c16
// CHECK: scf.for %{{.*}} = %c0 to %c512
// CHECK-NEXT: scf.for %[[COLUMN:.*]] = %[[LO]] to %[[HI]]
// CHECK-NEXT: memref.store %cst
// CHECK: scf.for %[[SLICE:.*]] = %c0 to %c64
// CHECK-NEXT: memref.load %{{.*}}[%[[SLICE]], %c0]
// CHECK: scf.for %[[COLUMN:.*]] = %[[LO]] to %[[HI]]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}[%[[COLUMN]]]
// CHECK-LABEL: func.func @soap_native_0_scatter_nd(
// CHECK-NOT: scf.for
// CHECK: llvm.call %{{.*}}(%c256_i64,
// CHECK-NOT: scf.for
func.func @slices(%i: tensor<64x1xi64>, %u: tensor<64x4096xf32>) {
  %0 = nn.scatter_nd %i, %u {nn.name = "a", reduction = #nn.reduce_kind<sum>} : (tensor<64x1xi64>, tensor<64x4096xf32>) -> tensor<512x4096xf32>
  return
}

// -----

// A thread takes whole rows, from empty lists to places as integers.
// CHECK-LABEL: func.func private @soap_native_0_top_k_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK-COUNT-2: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %[[GROUP:.*]] = %c0 to %c256
// CHECK: scf.for %{{.*}} = %c0 to %c16
// CHECK: memref.load %{{.*}}[%[[ROW]], %{{.*}}] : memref<300x4096xf32>
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.index_cast
// CHECK-LABEL: func.func @soap_native_0_top_k(
// CHECK: llvm.call %{{.*}}(%c300_i64, %c300_i64,
func.func @lists(%x: tensor<300x4096xf32>) {
  %0:2 = nn.top_k %x {nn.name = "a", axis = 1 : i64} : (tensor<300x4096xf32>) -> (tensor<300x5xf32>, tensor<300x5xi64>)
  return
}

// -----

// Elements that are neighbours in what is written are one piece, 16 each.
// CHECK-LABEL: func.func private @soap_native_0_scatter_elements_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK-DAG: %[[LO:.*]] = arith.muli %[[BEGIN]], %c16
// CHECK-DAG: %[[HI:.*]] = arith.muli %[[END]], %c16
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c300
// CHECK-NEXT: scf.for %[[COLUMN:.*]] = %[[LO]] to %[[HI]]
// CHECK-NEXT: memref.load %{{.*}}[%[[ROW]], %[[COLUMN]]] : memref<300x512xi64>
// CHECK-LABEL: func.func @soap_native_0_scatter_elements(
// CHECK: llvm.call %{{.*}}(%c32_i64, %c32_i64,
func.func @elements(%i: tensor<300x512xi64>, %u: tensor<300x512xf32>, %x: tensor<300x512xf32>) {
  %0 = nn.scatter_elements %i, %u into %x {nn.name = "a", axis = 0 : i64, reduction = #nn.reduce_kind<sum>} : (tensor<300x512xi64>, tensor<300x512xf32>, tensor<300x512xf32>) -> tensor<300x512xf32>
  return
}

// -----

// Any two updates may be of the same element.
// CHECK-LABEL: func.func @soap_native_0_scatter_elements(
// CHECK: scf.for %{{.*}} = %c0 to %c1000000
// CHECK-NOT: llvm.call
// CHECK: return
func.func @dependent(%i: tensor<1000000xi64>, %u: tensor<1000000xf32>, %x: tensor<100xf32>) {
  %0 = nn.scatter_elements %i, %u into %x {nn.name = "a", axis = 0 : i64, reduction = #nn.reduce_kind<sum>} : (tensor<1000000xi64>, tensor<1000000xf32>, tensor<100xf32>) -> tensor<100xf32>
  return
}

// -----

// Running sums, of which a thread takes columns.
// CHECK-LABEL: func.func private @soap_native_0_cum_sum_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK: scf.for %[[STEP:.*]] = %c0 to %c300
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}}
// CHECK: arith.addf
// CHECK-COUNT-2: memref.store
// CHECK-LABEL: func.func @soap_native_0_cum_sum(
// CHECK: llvm.call %{{.*}}(%c256_i64,
func.func @sums(%x: tensor<300x4096xf32>) {
  %0 = nn.cum_sum %x {nn.name = "a", axis = 0 : i64} : tensor<300x4096xf32>
  return
}

// -----

// The classes of all images.
// CHECK-LABEL: func.func private @soap_native_0_non_max_suppression_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK: scf.for %[[IMAGE:.*]] = %c0 to %c2 step
// CHECK-NEXT: scf.for %[[CLASS:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: memref.store %{{.*}}[%[[IMAGE]], %[[CLASS]], %{{.*}}] : memref<2x80x1000xi32>
// CHECK-LABEL: func.func @soap_native_0_non_max_suppression(
// CHECK: llvm.call %{{.*}}(%c80_i64, %c80_i64,
func.func @selections(%b: tensor<2x1000x4xf32>, %s: tensor<2x80x1000xf32>) {
  %0 = nn.non_max_suppression %b, %s {nn.name = "a", iou_threshold = 0.5 : f32} : (tensor<2x1000x4xf32>, tensor<2x80x1000xf32>) -> tensor<2x80x5xi64>
  return
}
