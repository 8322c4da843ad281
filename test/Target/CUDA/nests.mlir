// RUN: soap-opt %s --pass-pipeline='builtin.module(cuda-distribute-kernels,canonicalize)' -mlir-print-local-scope | FileCheck %s

// Tests a nest of which a thread has a row and a column, and goes through the
// slices and the elements of a sum.
// CHECK: cuda.kernels = [{launches = [{blocks = 4 : i64, constants = array<i64>, entry = "sums_0"}]
// CHECK-LABEL: func.func @sums_0(
// CHECK: scf.for %[[INDEX:.*]] = %{{.*}} to %c1000 step
// CHECK: scf.for %[[SLICE:.*]] = %c0 to %c20 step
// CHECK: memref.load %{{.*}}[%[[SLICE]]] : memref<20xi64>
// CHECK: scf.for %[[ELEMENT:.*]] = %c0 to %c3 step
// CHECK: memref.load %{{.*}}[%{{.*}}, %{{.*}}, %[[ELEMENT]]]
// CHECK: arith.addf
// CHECK: memref.store
module @kernels {
  func.func @sums(%i: memref<20xi64> {native.noalias}, %x: memref<20x10x100x3xf32> {native.noalias}, %y: memref<10x10x100xf32> {native.noalias}) attributes {native.key = "a"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c20 = arith.constant 20 : index
    scf.for %r = %c0 to %c20 step %c1 {
      %place = memref.load %i[%r] : memref<20xi64>
      %to = arith.index_cast %place : i64 to index
      %in = memref.subview %x[%r, 0, 0, 0] [1, 10, 100, 3] [1, 1, 1, 1] : memref<20x10x100x3xf32> to memref<10x100x3xf32, strided<[300, 3, 1], offset: ?>>
      %out = memref.subview %y[%to, 0, 0] [1, 10, 100] [1, 1, 1] : memref<10x10x100xf32> to memref<10x100xf32, strided<[100, 1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in : memref<10x100x3xf32, strided<[300, 3, 1], offset: ?>>) outs(%out : memref<10x100xf32, strided<[100, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        linalg.yield %0 : f32
      }
    }
    return
  }
}
