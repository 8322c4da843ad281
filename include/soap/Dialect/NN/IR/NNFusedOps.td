//===- NNFusedOps.td - Several operations as one -----------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNFUSEDOPS_TD
#define SOAP_DIALECT_NN_IR_NNFUSEDOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_FusedOp : NN_Op<"fused", [Pure, NN_PerElement, IsolatedFromAbove,
    SingleBlock,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "buildLocal", "getFlops", "appendKernelKey"]>]> {
  let summary = "Several operations per element as one";
  let description = [{
    Operations each of whose result elements depends on one element of each
    operand, as one of them: every element passes through all of them at once,
    and what lies between is no value. The arguments of the region are the
    operands; `nn.yield` hands the last result on. `nn-fuse` makes it, with the
    name of the operation that makes the result.

    Loops: `d0 .. dk` of the result; the result `(d0, .., dk)`, an operand as
    the operations of the region read it: a dimension that is broadcast uses no
    loop, the vectors of an `nn.batch_norm` use d1.

    Example:

    ```mlir
    %1 = nn.fused(%x, %y) {nn.name = "relu1"}
        : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<64xf32>):
      %2 = nn.add %a, %b {nn.name = "add1"}
         : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
      %3 = nn.relu %2 {nn.name = "relu1"} : tensor<8x64xf32>
      nn.yield %3 : tensor<8x64xf32>
    }
    ```

    Constraints:
    - the region's arguments have the types of the operands, and are read
    - operations of the region are per element, without effects, of one result,
      and all of these have the shape of the result
    - all results but the last are read in the region; the last one is what
      `nn.yield` hands on
    - whoever reads an argument reads it in the same way
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs);
  let results = (outs NN_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $result) $body
  }];
  let extraClassDeclaration = [{
    /// The operations of the region, in order.
    ::llvm::iterator_range<::mlir::Block::iterator> getParts() {
      return getBody().front().without_terminator();
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def NN_FusedReduceOp : NN_Op<"fused_reduce", [Pure, IsolatedFromAbove,
    SingleBlock,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "buildLocal", "getFlops", "appendKernelKey"]>]> {
  let summary = "A reduction of what several operations per element compute";
  let description = [{
    As `nn.fused`, with an `nn.reduce` of the last result at the end: what is
    reduced is no value. `nn-fuse` makes it in training steps, with the name of
    the reduction.

    Loops: `d0 .. dk` of what is reduced; operands as in `nn.fused`, the result
    as that of the `nn.reduce`; parts are joined by its kind.

    Example:

    ```mlir
    %1 = nn.fused_reduce(%x, %y) {nn.name = "squares"}
        : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<64xf32>):
      %2 = nn.sub %a, %b {nn.name = "sub"}
         : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
      %3 = nn.mul %2, %2 {nn.name = "mul"}
         : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
      %4 = nn.reduce %3 {nn.name = "squares", kind = #nn.reduce_kind<sum>,
             axes = array<i64: 0>, keepdims = false, scale = 0.125 : f32}
         : (tensor<8x64xf32>) -> tensor<64xf32>
      nn.yield %4 : tensor<64xf32>
    }
    ```

    Constraints:
    - the region's arguments have the types of the operands, and are read
    - operations of the region but the last are per element, without effects, of
      one result, and all of these have one shape and are read in the region
    - the last one is an `nn.reduce` of f32 or f64, which reads the result before
      it and is what `nn.yield` hands on
    - whoever reads an argument reads it in the same way
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs);
  let results = (outs NN_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $result) $body
  }];
  let extraClassDeclaration = [{
    /// The operations per element of the region, in order.
    ::llvm::iterator_range<::mlir::Block::iterator> getParts() {
      return {getBody().front().begin(),
              ::mlir::Block::iterator(getReduce())};
    }
    /// The last operation of the region.
    ReduceOp getReduce();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def NN_YieldOp : Op<NN_Dialect, "yield",
    [Pure, Terminator, ParentOneOf<["FusedOp", "FusedReduceOp"]>]> {
  let summary = "Hands on the result of an nn.fused or nn.fused_reduce";
  let description = [{
    Ends the region of an `nn.fused` or `nn.fused_reduce`.

    Example:

    ```mlir
    nn.yield %3 : tensor<8x64xf32>
    ```

    Constraints:
    - stands in one of them
  }];
  let arguments = (ins NN_Tensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // SOAP_DIALECT_NN_IR_NNFUSEDOPS_TD
