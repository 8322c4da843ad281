//===- NNShapeOps.td - Operations that move elements -------*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNSHAPEOPS_TD
#define SOAP_DIALECT_NN_IR_NNSHAPEOPS_TD

include "soap/Dialect/NN/IR/NNBase.td"

def NN_ConcatOp : NN_PureOp<"concat", [NN_Additive], ["buildLocal", "getFlops"]> {
  let summary = "Concatenation along one dimension";
  let description = [{
    ONNX Concat.

    Loops: `d0 .. dk` of the result; operand k `(.., x-off_k, ..)` along the
    axis, where off_k is the sum of the sizes of the operands before it. Operands
    that a tile does not meet are left out.

    Example:

    ```mlir
    %2 = nn.concat %a, %b {nn.name = "concat1", axis = 1 : i64}
       : (tensor<1x64x28x28xf32>, tensor<1x32x28x28xf32>)
       -> tensor<1x96x28x28xf32>
    ```

    Constraints:
    - at least one operand; all have the result's rank and element type
    - `axis` is inside the rank; sizes add up along it and are equal elsewhere
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = [{
    $inputs attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_SliceOp : NN_PureOp<"slice", [NN_Additive],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Strided slice";
  let description = [{
    ONNX Slice and Split: result element x is element `starts + x*steps` of the
    operand. Steps may be negative.

    Loops: `d0 .. dk` of the result; x `(x*step+start, ..)`.

    Example:

    ```mlir
    %1 = nn.slice %x {nn.name = "half", starts = array<i64: 0, 32>,
           steps = array<i64: 1, 1>} : (tensor<8x64xf32>) -> tensor<8x32xf32>
    ```

    Constraints:
    - x and result have the same rank and element type
    - one start and step per dimension; steps are not 0
    - all selected elements exist
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_PadOp : NN_PureOp<"pad", [NN_Additive],
    ["buildLocal", "setLocalAccess", "getFlops"]> {
  let summary = "Constant padding";
  let description = [{
    ONNX Pad in constant mode: `pads_lo` elements of `value` before and
    `pads_hi` behind each dimension.

    Loops: `d0 .. dk` of the result; x `(x-pads_lo, ..)`.

    Example:

    ```mlir
    %1 = nn.pad %x {nn.name = "pad1", pads_lo = array<i64: 0, 0, 1, 1>,
           pads_hi = array<i64: 0, 0, 1, 1>, value = 0.0 : f32}
       : (tensor<1x3x8x8xf32>) -> tensor<1x3x10x10xf32>
    ```

    Constraints:
    - x and result have the same rank, and the same element type as `value`
    - one pad per dimension and side, not negative
    - the result is as much larger as the pads say
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$pads_lo,
                       DenseI64ArrayAttr:$pads_hi, TypedAttrInterface:$value);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ReshapeOp : NN_PureOp<"reshape", [NN_Additive], ["getFlops", "getBytes"]> {
  let summary = "The same elements in another shape";
  let description = [{
    ONNX Reshape, Flatten, Squeeze, Unsqueeze: row-major order stays.

    Loops: one per group of adjacent dimensions whose products are equal on both
    sides (dimensions of size 1 apart), called after the group's first dimension
    in the result. A loop runs over the group's first dimension on either side:
    `x*(L/L_in)+[0, L/L_in-1]`, where L_in is the product of the group's other
    dimensions on that side and L the least common multiple of both; its extent
    is the product of the group over L. Other dimensions are whole.

    Example:

    ```mlir
    %1 = nn.reshape %x {nn.name = "flatten"}
       : (tensor<8x256x6x6xf32>) -> tensor<8x9216xf32>
    ```

    Constraints:
    - x and result have the same element type and number of elements
  }];
  let arguments = (ins NN_Tensor:$x);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TransposeOp : NN_PureOp<"transpose", [NN_Additive], ["getFlops"]> {
  let summary = "Permutation of dimensions";
  let description = [{
    ONNX Transpose: dimension i of the result is dimension `permutation[i]` of x.

    Loops: `d0 .. dk` of the result; x `(.., d_i at permutation[i], ..)`.

    Example:

    ```mlir
    %1 = nn.transpose %x {nn.name = "shuffle",
           permutation = array<i64: 0, 2, 1, 3, 4>}
       : (tensor<1x4x68x28x28xf32>) -> tensor<1x68x4x28x28xf32>
    ```

    Constraints:
    - `permutation` holds every dimension once
    - the result has the permuted shape and the same element type
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNSHAPEOPS_TD
