// Tests that kernels which were written by hand and take other arguments than buffers, or have no body, are errors.
// RUN: soap-opt %s --native-kernels-to-llvm --split-input-file --verify-diagnostics -o /dev/null
// RUN: soap-opt %s --cuda-kernels-to-nvvm --split-input-file --verify-diagnostics -o /dev/null

// expected-error @+1 {{expected dense buffers of known extents as arguments of a native kernel, got: 'index'}}
func.func @place(%i: index, %a: memref<4xf32>) attributes {native.key = "x"} {
  %0 = memref.load %a[%i] : memref<4xf32>
  memref.store %0, %a[%i] : memref<4xf32>
  return
}

// -----

// expected-error @+1 {{expected a native kernel with a body, got: none}}
func.func private @nothing(memref<4xf32>) attributes {native.key = "x"}

// -----

// expected-error @+1 {{expected dense buffers of known extents as arguments of a native kernel, got: 'memref<?xf32>'}}
func.func @sizes(%a: memref<?xf32>) attributes {native.key = "x"} {
  return
}
