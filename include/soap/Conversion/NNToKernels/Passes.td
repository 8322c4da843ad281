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

#endif // SOAP_CONVERSION_NNTOKERNELS_PASSES_TD
