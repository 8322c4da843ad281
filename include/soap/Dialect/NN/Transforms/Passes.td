//===- Passes.td - Passes over nn graphs -------------------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD
#define SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NNFoldConstants : Pass<"nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compute operations whose operands are constants";
  let description = [{
    Replaces element-wise operations, nn.reshape, nn.transpose and nn.slice whose
    operands are all known by their value: `nn.constant`, and `nn.parameter` with
    a `#nn.splat` source. A result that stems from a parameter becomes a
    parameter again, which is possible only where all its elements are equal.
    Parameters and constants that nobody reads go.

    ```mlir
    %0 = nn.constant dense<2.0> : tensor<f32> {nn.name = "a"}
    %1 = nn.sqrt %0 {nn.name = "b"} : tensor<f32>
    // becomes
    %1 = nn.constant dense<1.41421354> : tensor<f32> {nn.name = "b"}
    ```

    Results keep the name of the operation. Does not touch operations with more
    than 65,536 elements that differ, nor weights in files: parameter-only
    expressions are the business of `nn-hoist-init`.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Operations that became constants">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def NNFoldBatchNorm : Pass<"nn-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold batch norms into convolutions and matrix products";
  let description = [{
    In inference a batch norm is a scale and a shift per channel, and so are
    nn.mul and nn.add with a parameter of one element per channel. Where the only
    producer of such an operation is nn.conv, nn.matmul or nn.batch_norm with
    parameters for weights, and nothing else reads what it produces, scale and
    shift move into expressions over these parameters:

    ```mlir
    %1 = nn.conv %x, %w {nn.name = "conv", ...}
    %2 = nn.batch_norm %1, %scale, %bias, %mean, %variance {nn.name = "bn", ...}
    // becomes, with s = scale / sqrt(variance + epsilon)
    %w2 = nn.mul %w, %s
    %b2 = nn.sub %bias, (nn.mul %mean, %s)
    %2 = nn.conv %x, %w2 bias %b2 {nn.name = "conv", ...}
    ```

    `nn-hoist-init` then moves the expressions to `@init`. The producer keeps its
    name. A batch norm without such a producer stays as it is, with operations
    behind it folded into it.
  }];
  let statistics = [
    Statistic<"numFolded", "folded", "Operations that were folded into others">
  ];
  let dependentDialects = ["::soap::nn::NNDialect"];
}

def NNHoistInit : Pass<"nn-hoist-init", "::mlir::ModuleOp"> {
  let summary = "Move parameter-only expressions to @init";
  let description = [{
    Operations of `@main` that depend on parameters and constants only, not on
    inputs, move to a private function `@init`, which runs once when the model is
    loaded. Results that the rest of `@main` reads become
    `nn.parameter` with source `#nn.init<k>`, right before their first reader;
    k is the number of the result of `@init`.

    ```mlir
    func.func @main() {
      %w = nn.parameter ...
      %w2 = nn.mul %w, %s {nn.name = "w2"}
      %1 = nn.conv %x, %w2 ...
    // becomes
    func.func private @init() -> tensor<64x3x3x3xf32> {
      %w = nn.parameter ...
      %w2 = nn.mul %w, %s {nn.name = "w2"}
      return %w2
    }
    func.func @main() {
      %w2 = nn.parameter {nn.name = "w2"} : tensor<64x3x3x3xf32> from #nn.init<0>
      %1 = nn.conv %x, %w2 ...
    ```

    Precondition: the module has `@main` and, if there is anything to hoist, no
    `@init` yet. Parameters and constants themselves stay (copies of those that
    both functions read). Without parameter-only expressions nothing changes.
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Operations that moved to @init">
  ];
  let dependentDialects = ["::soap::nn::NNDialect",
                           "::mlir::func::FuncDialect"];
}

#endif // SOAP_DIALECT_NN_TRANSFORMS_PASSES_TD
