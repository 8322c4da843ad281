//===- Passes.td - nn to native kernels --------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOKERNELS_PASSES_TD
#define SOAP_CONVERSION_NNTOKERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildKernelsPass : Pass<"native-build-kernels", "::mlir::ModuleOp"> {
  let summary = "Build the native kernels of all nn operations";
  let description = [{
    Makes a nested `module @kernels` with the native kernel of every nn operation
    in the module, the ends of the graph apart, as if no library had any. Kernels
    that exist are found again. The operations stay as they are: this is a view
    of what the compiler does for the operations that need native code.

    Before:
    ```mlir
    %1 = nn.relu %0 {nn.name = "relu1"} : tensor<8x64xf32>
    ```
    After, behind it:
    ```mlir
    module @kernels {
      func.func @soap_native_0_relu(
          %x: memref<?xf32> {native.sizes = array<i64: 0>},
          %y: memref<?xf32> {native.sizes = array<i64: 0>})
          attributes {native.key = "nn.relu ...", native.parallel} {
        linalg.generic {...} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) ...
        return
      }
    }
    ```
    `native.sizes` says which entries of `sizes` are an argument's dimensions.
  }];
  let statistics = [
    Statistic<"numCalls", "calls", "Operations with a native kernel">,
    Statistic<"numKernels", "kernels", "Different kernels">
  ];
}

def SeparateResultsPass
    : Pass<"native-separate-results", "::mlir::func::FuncOp"> {
  let summary = "Let elimination of empty tensors find the places of results";
  let description = [{
    Two results of one type start as one tensor.empty after CSE. In its place,
    elimination of empty tensors would put the buffer of one result for both: so
    every use gets one of its own.

    A result that is reshaped last is written in the shape that it had before, to
    the same buffer seen in that shape, and not copied there.
  }];
}

def PrepareBuffersPass : Pass<"native-prepare-buffers", "::mlir::ModuleOp"> {
  let summary = "Make bufferised kernels self-contained";
  let description = [{
    Copies of contiguous buffers of static shape stay, and become memcpy. Others
    become linalg.generic, which become loops (a strided memref.copy would call a
    function of MLIR's runner library). Every buffer that a kernel allocates is
    freed at its end.
  }];
}

def ApproximateMathPass
    : Pass<"native-approximate-math", "::mlir::ModuleOp"> {
  let summary = "Replace exp, log, tanh by polynomials";
  let description = [{
    Upstream's polynomial approximations (a few units in the last place), on the
    scalars of loop bodies. LLVM then vectorises the loops, which it cannot with
    a call to libm.
  }];
}

#endif // SOAP_CONVERSION_NNTOKERNELS_PASSES_TD
