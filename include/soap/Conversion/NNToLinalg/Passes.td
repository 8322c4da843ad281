//===- Passes.td - From nn to linalg -----------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_CONVERSION_NNTOLINALG_PASSES_TD
#define SOAP_CONVERSION_NNTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNNToLinalgPass : Pass<"convert-nn-to-linalg"> {
  let summary = "Lower nn operations to linalg on tensors";
  let description = [{
    Rewrites every operation of the nn dialect, except the ends of the graph
    (`nn.input`, `nn.parameter`, `nn.output`), to operations of linalg, tensor,
    scf, arith and math on tensors of the same static shapes. This is the code of
    kernels that no library provides, and the reference that library kernels are
    tested against.

    Before:
    ```mlir
    %1 = nn.relu %0 {nn.name = "relu1"} : tensor<8x64xf32>
    ```
    After:
    ```mlir
    %zero = arith.constant 0.000000e+00 : f32
    %e = tensor.empty() : tensor<8x64xf32>
    %1 = linalg.generic {...} ins(%0 : tensor<8x64xf32>)
           outs(%e : tensor<8x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = arith.cmpf olt, %in, %zero : f32
      %3 = arith.select %2, %zero, %in : f32
      linalg.yield %3 : f32
    } -> tensor<8x64xf32>
    ```

    NaN passes through every element-wise operation and reduction. Sums carry
    `fastmath<reassoc,contract>`: their order is not promised. Innermost loops
    run over contiguous elements where the operation has such.

    Conversions between f32 and floats of 16 bits are integer arithmetic on their
    bits, as not every processor has instructions for them; with
    `keep-narrow-casts` they stay `arith.truncf` and `arith.extf`.

    What it does not do: fuse, tile, vectorise or bufferise. Names and
    configurations (`nn.name`, `soap.config`) are dropped.
  }];
  let options = [
    Option<"keepNarrowCasts", "keep-narrow-casts", "bool", "false",
           "Leave conversions between f32 and floats of 16 bits to the processor">,
    Option<"windowsByIndex", "windows-by-index", "bool", "false",
           "Pools read their input where a window is, without a padded copy">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // SOAP_CONVERSION_NNTOLINALG_PASSES_TD
