// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=linalg}))' -mlir-print-local-scope | FileCheck %s --check-prefix=LINALG
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=buffers}))' -mlir-print-local-scope | FileCheck %s --check-prefix=BUFFERS
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm{level=loops}))' -mlir-print-local-scope | FileCheck %s --check-prefix=LOOPS
// RUN: soap-opt %s --pass-pipeline='builtin.module(native-build-kernels,builtin.module(native-kernels-to-llvm))' -mlir-print-local-scope | FileCheck %s --check-prefix=LLVM

func.func @main(%x: tensor<4x100xf32>, %c: tensor<100xf32>) {
  %0 = nn.concat %x, %x {nn.name = "a", axis = 0 : i64} : (tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<8x100xf32>
  %1 = nn.add %x, %c {nn.name = "b"} : (tensor<4x100xf32>, tensor<100xf32>) -> tensor<4x100xf32>
  %2 = nn.sigmoid %x {nn.name = "c"} : tensor<4x100xf32>
  %3 = nn.constant dense<1.0> : tensor<4x10x300xf32> {nn.name = "e"}
  %4 = nn.max_pool %3 {nn.name = "d", kernel = array<i64: 30>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>} : (tensor<4x10x300xf32>) -> tensor<4x10x273xf32>
  %5 = nn.concat %x, %x {nn.name = "f", axis = 1 : i64} : (tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<4x200xf32>
  %6 = nn.compare %x, %x {nn.name = "g", predicate = #nn.predicate<lt>} : (tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<4x100xi1>
  %7 = nn.where %6, %x, %1 {nn.name = "h"} : (tensor<4x100xi1>, tensor<4x100xf32>, tensor<4x100xf32>) -> tensor<4x100xf32>
  return
}

// Operations are lowered, still on tensors.
// LINALG: module @kernels
// LINALG: func.func @soap_native_0_concat
// LINALG: tensor.insert_slice
// LINALG: bufferization.materialize_in_destination

// Results go straight into the caller's buffers: a concatenation is two copies,
// of contiguous buffers by memcpy.
// BUFFERS: func.func @soap_native_0_concat(%[[A:.*]]: memref<4x100xf32> {{.*}}, %[[B:.*]]: memref<4x100xf32> {{.*}}, %[[R:.*]]: memref<8x100xf32>
// BUFFERS-NOT: memref.alloc
// BUFFERS: %[[LO:.*]] = memref.subview %[[R]][0, 0] [4, 100]
// BUFFERS: memref.copy %[[A]], %[[LO]]
// BUFFERS: %[[HI:.*]] = memref.subview %[[R]][4, 0] [4, 100]
// BUFFERS: memref.copy %[[B]], %[[HI]]

// A padded input is allocated, and freed at the end.
// BUFFERS: func.func @soap_native_4_max_pool
// BUFFERS: %[[PADDED:.*]] = memref.alloc() {{.*}} memref<4x10x302xf32>
// BUFFERS: memref.dealloc %[[PADDED]]
// BUFFERS-NEXT: return

// Rows that lie apart are copied by loops.
// BUFFERS: func.func @soap_native_5_concat
// BUFFERS-NOT: memref.copy
// BUFFERS: linalg.generic
// BUFFERS: linalg.generic
// BUFFERS-NOT: memref.copy
// BUFFERS: return

// Exponentials are polynomials.
// LOOPS: func.func @soap_native_2_sigmoid
// LOOPS: scf.for
// LOOPS-NOT: math.exp
// LOOPS: math.fma

// LLVM-DAG: llvm.func internal @soap_allocate(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> (!llvm.ptr {llvm.noalias}) attributes {passthrough = ["noinline"]}
// LLVM-DAG: llvm.func internal @soap_release(
// LLVM: llvm.func internal @soap_native_0_concat_body(
// LLVM: llvm.intr.memcpy
// LLVM: llvm.intr.memcpy

// The C signature; the body knows what does not alias, its iterations are
// independent, and what the wrapper reads are its buffers and sizes.
// LLVM: llvm.func internal @soap_native_1_add_body(
// LLVM-SAME: %arg8: !llvm.ptr {llvm.noalias}
// LLVM-NOT: llvm.noalias
// LLVM: llvm.load %{{.*}} {access_groups = [#llvm.access_group<id = [[GROUP:distinct.*<>]]>]} : !llvm.ptr -> f32
// LLVM: llvm.br {{.*}} {loop_annotation = #llvm.loop_annotation<parallelAccesses = <id = [[GROUP]]>>}
// LLVM: llvm.br {{.*}} {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>, parallelAccesses = <id = [[GROUP]]>>}
// LLVM: llvm.func @soap_native_1_add(%[[ADDRESSES:.*]]: !llvm.ptr, %[[EXTENTS:.*]]: !llvm.ptr)
// LLVM-SAME: native.key = "nn.add f32[xx] f32[-x] -> f32"
// LLVM: llvm.load %[[ADDRESSES]] : !llvm.ptr -> !llvm.ptr
// LLVM: llvm.getelementptr %[[EXTENTS]][1]
// LLVM: llvm.call @soap_native_1_add_body

// What is allocated comes from the runtime, behind all buffers, and aliases
// nothing.
// LLVM: llvm.func internal @soap_native_4_max_pool_body(
// LLVM-SAME: %[[SERVICES:arg[0-9]+]]: !llvm.ptr) attributes
// LLVM-DAG: %[[BYTES:.*]] = llvm.mlir.constant(48320 : i64)
// LLVM: %[[BLOCK:.*]] = llvm.call @soap_allocate(%[[SERVICES]], %[[BYTES]])
// LLVM: llvm.call @soap_release(%[[SERVICES]],

// Booleans are bytes in memory.
// LLVM: llvm.func internal @soap_native_6_compare_body(
// LLVM: llvm.zext %{{.*}} : i1 to i8
// LLVM: llvm.store %{{.*}} : i8, !llvm.ptr
// LLVM: llvm.func internal @soap_native_7_where_body(
// LLVM: %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
// LLVM: llvm.trunc %[[BYTE]] : i8 to i1
// LLVM-NOT: unrealized_conversion_cast
