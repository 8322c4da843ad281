// RUN: soap-opt %s -split-input-file --pass-pipeline='builtin.module(native-split-loops{least-work=1})' -mlir-print-local-scope | FileCheck %s

// Tests which loops of a nest threads may share.

// Every iteration reads what the one before has written.
// CHECK-LABEL: func.func @chain(
// CHECK: scf.for
// CHECK-NOT: llvm.call
// CHECK: return
module @kernels {
func.func @chain(%x: memref<100xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c99 = arith.constant 99 : index
  scf.for %i = %c0 to %c99 step %c1 {
    %v = memref.load %x[%i] : memref<100xf32>
    %j = arith.addi %i, %c1 : index
    memref.store %v, %x[%j] : memref<100xf32>
  }
  return
}
}

// -----

// Rows are independent, elements of a row are not. What the outer loop writes
// by itself is of the row, too.
// CHECK-LABEL: func.func private @rows_part0(
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %{{.*}} = %c0 to %c99
// CHECK-LABEL: func.func @rows(
// CHECK: llvm.call %{{.*}}(%c40_i64, %c40_i64
module @kernels {
func.func @rows(%x: memref<40x100xf32> {native.noalias}, %y: memref<40x2xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c99 = arith.constant 99 : index
  scf.for %r = %c0 to %c40 step %c1 {
    %first = memref.load %x[%r, %c0] : memref<40x100xf32>
    memref.store %first, %y[%r, %c1] : memref<40x2xf32>
    scf.for %i = %c0 to %c99 step %c1 {
      %v = memref.load %x[%r, %i] : memref<40x100xf32>
      %j = arith.addi %i, %c1 : index
      memref.store %v, %x[%r, %j] : memref<40x100xf32>
    }
  }
  return
}
}

// -----

// A place that all rows write.
// CHECK-LABEL: func.func @shared(
// CHECK-NOT: llvm.call
// CHECK: return
module @kernels {
func.func @shared(%x: memref<40x100xf32> {native.noalias}, %y: memref<2xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  scf.for %r = %c0 to %c40 step %c1 {
    %first = memref.load %x[%r, %c0] : memref<40x100xf32>
    memref.store %first, %y[%c0] : memref<2xf32>
    memref.store %first, %x[%r, %c1] : memref<40x100xf32>
  }
  return
}
}

// -----

// Slices that begin at any column may overlap: their columns are no columns of
// the table, so that threads meet after every slice.
// CHECK-LABEL: func.func @windows(
// CHECK: scf.for
// CHECK: llvm.call
module @kernels {
func.func @windows(%x: memref<20x100xf32> {native.noalias}, %y: memref<10x100xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %r = %c0 to %c20 step %c1 {
    %in = memref.subview %x[%r, 0] [1, 64] [1, 1] : memref<20x100xf32> to memref<64xf32, strided<[1], offset: ?>>
    %out = memref.subview %y[0, %r] [1, 64] [1, 1] : memref<10x100xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%in : memref<64xf32, strided<[1], offset: ?>>) outs(%out : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return
}
}

// -----

// The same with rows that are independent: there are fewer of them than of rows
// and columns together.
// CHECK-LABEL: func.func @rowsOfWindows(
// CHECK: scf.for
// CHECK: llvm.call
module @kernels {
func.func @rowsOfWindows(%x: memref<20x4x100xf32> {native.noalias}, %y: memref<4x100xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %r = %c0 to %c20 step %c1 {
    %in = memref.subview %x[%r, 0, 0] [1, 4, 64] [1, 1, 1] : memref<20x4x100xf32> to memref<4x64xf32, strided<[100, 1], offset: ?>>
    %out = memref.subview %y[0, %r] [4, 64] [1, 1] : memref<4x100xf32> to memref<4x64xf32, strided<[100, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%in : memref<4x64xf32, strided<[100, 1], offset: ?>>) outs(%out : memref<4x64xf32, strided<[100, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return
}
}

// -----

// Sums into rows that loads name: columns are independent.
// CHECK-LABEL: func.func private @columns_part0(
// CHECK-SAME: %[[BEGIN:.*]]: index, %[[END:.*]]: index
// CHECK: scf.for %{{.*}} = %c0 to %c20
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %c3
// CHECK: arith.addf
// CHECK-LABEL: func.func @columns(
// CHECK: llvm.call %{{.*}}(%c64_i64, %c64_i64
module @kernels {
func.func @columns(%i: memref<20xindex> {native.noalias}, %x: memref<20x64x3xf32> {native.noalias}, %y: memref<10x64xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %r = %c0 to %c20 step %c1 {
    %to = memref.load %i[%r] : memref<20xindex>
    %in = memref.subview %x[%r, 0, 0] [1, 64, 3] [1, 1, 1] : memref<20x64x3xf32> to memref<64x3xf32, strided<[3, 1], offset: ?>>
    %out = memref.subview %y[%to, 0] [1, 64] [1, 1] : memref<10x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in : memref<64x3xf32, strided<[3, 1], offset: ?>>) outs(%out : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    }
  }
  return
}
}

// -----

// Which buffer is read depends on the iteration.
// CHECK-LABEL: func.func @chosen(
// CHECK-NOT: llvm.call
// CHECK: return
module @kernels {
func.func @chosen(%a: memref<8xf32> {native.noalias}, %b: memref<8xf32> {native.noalias}) attributes {native.key = "a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %r = arith.subi %c7, %i : index
    %first = arith.cmpi slt, %i, %c4 : index
    %m = arith.select %first, %a, %b : memref<8xf32>
    %v = memref.load %m[%r] : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
  }
  return
}
}

// -----

// Constants are read like buffers.
// CHECK-LABEL: func.func private @constants_part0(
// CHECK: memref.get_global
// CHECK-LABEL: func.func @constants(
// CHECK: llvm.call
module @kernels {
memref.global "private" constant @table : memref<64xf32> = dense<2.0>
func.func @constants(%x: memref<20x64xf32> {native.noalias}, %y: memref<20x64xf32> {native.noalias}) attributes {native.key = "a"} {
  %t = memref.get_global @table : memref<64xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %t : memref<20x64xf32>, memref<64xf32>) outs(%y : memref<20x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
}
