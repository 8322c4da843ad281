// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=loops}))' -mlir-print-local-scope | FileCheck %s
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=loops least-work=1000000000}))' -mlir-print-local-scope | FileCheck %s --check-prefix=WHOLE
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm))' -mlir-print-local-scope | FileCheck %s --check-prefix=LLVM

func.func @main(%x: tensor<96x40x4096xf32>, %small: tensor<4x10xf32>) {
  %0 = nn.softmax %x {nn.name = "a", axis = 2 : i64} : tensor<96x40x4096xf32>
  %1 = nn.softmax %small {nn.name = "b", axis = 1 : i64} : tensor<4x10xf32>
  %2 = nn.reduce %x {nn.name = "c", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 1>, keepdims = false} : (tensor<96x40x4096xf32>) -> tensor<4096xf32>
  %3 = nn.reduce %x {nn.name = "d", kind = #nn.reduce_kind<sum>, axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<96x40x4096xf32>) -> tensor<f32>
  %4 = nn.concat %x, %x {nn.name = "e", axis = 0 : i64} : (tensor<96x40x4096xf32>, tensor<96x40x4096xf32>) -> tensor<192x40x4096xf32>
  return
}

// All operations of a softmax are one part, a piece of which is one of 96, or 40
// of 3840 rows: maxima, exponentials, sums and quotients.
// CHECK-LABEL: func.func private @soap_native_0_softmax_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{[^:]*}}: memref<3840xf32>, {{.*}}native.noalias = array<i64: 3,
// CHECK-DAG: %[[ROW:.*]] = arith.muli %[[BEGIN]], %c40
// CHECK-DAG: %[[LAST:.*]] = arith.muli %[[END]], %c40
// CHECK: scf.for %{{.*}} = %[[ROW]] to %[[LAST]]
// CHECK: arith.maximumf
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.addf
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.divf
// CHECK: return
// CHECK-LABEL: func.func private @soap_native_0_softmax_call0
// CHECK: call @soap_native_0_softmax_part0
// CHECK-LABEL: func.func @soap_native_0_softmax(
// CHECK-SAME: %[[SERVICES:[a-z0-9]+]]: !llvm.ptr)
// CHECK: constant @soap_native_0_softmax_call0
// CHECK-NOT: scf.for
// CHECK: llvm.call %{{.*}}(%c96_i64, %c96_i64, %{{.*}}, %{{.*}}) : !llvm.ptr
// CHECK-NOT: llvm.call
// CHECK: return

// Not worth a second thread.
// CHECK-LABEL: func.func @soap_native_1_softmax(
// CHECK-NOT: llvm.call

// Columns, of which 16 belong together.
// CHECK-LABEL: func.func private @soap_native_2_reduce_part0
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK-DAG: %[[LO:.*]] = arith.muli %[[BEGIN]], %c16
// CHECK-DAG: %[[HI:.*]] = arith.muli %[[END]], %c16
// CHECK: scf.for %{{.*}} = %c0 to %c3840
// CHECK-NEXT: scf.for %{{.*}} = %[[LO]] to %[[HI]]
// CHECK-LABEL: func.func @soap_native_2_reduce(
// CHECK: llvm.call %{{.*}}(%c256_i64,

// One sum is made of 64 others.
// CHECK-LABEL: func.func private @soap_native_3_reduce_part0
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-LABEL: func.func @soap_native_3_reduce(
// CHECK: llvm.call %{{.*}}(%c64_i64, %c64_i64,
// CHECK: scf.for
// CHECK: arith.addf

// Contiguous copies.
// CHECK-LABEL: func.func @soap_native_4_concat(
// CHECK-COUNT-2: llvm.call %{{.*}}(%c983040_i64,

// WHOLE-NOT: _part0
// WHOLE: func.func @soap_native_4_concat
// WHOLE-COUNT-2: memref.copy

// LLVM-DAG: llvm.func internal @soap_native_0_softmax_part0(%{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr {llvm.noalias}
// LLVM-DAG: llvm.mlir.addressof @soap_native_0_softmax_call0
