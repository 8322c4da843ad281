//===- NNOrderOps.td - Operations on places and orders -----*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNORDEROPS_TD
#define SOAP_DIALECT_NN_IR_NNORDEROPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

class NN_ArgOp<string mnemonic, string onnx, string which> :
    NN_PureOp<mnemonic, [], ["getFlops"]> {
  let summary = "Place of the " # which # " element along a dimension";
  let description = [{
    ONNX }] # onnx # [{: the index of the }] # which # [{ element along `axis`;
    of equal ones the first or, with `select_last`, the last. NaN comes before
    all numbers, as in numpy. With `keepdims` the dimension stays, with size 1.

    Loops: `d0 .. dk` of x without the axis, which is whole: an index alone does
    not tell which part's element is the }] # which # [{.

    Example:

    ```mlir
    %1 = nn.}] # mnemonic # [{ %x {nn.name = "class", axis = 1 : i64, keepdims = false}
       : (tensor<8x1000xf32>) -> tensor<8xi64>
    ```

    Constraints:
    - `axis` is inside the rank
    - the result has the shape above and element type i64
  }];
  let arguments = (ins NN_NumberTensor:$x, I64Attr:$axis, BoolAttr:$keepdims,
                       UnitAttr:$select_last);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ArgMaxOp : NN_ArgOp<"arg_max", "ArgMax", "largest">;
def NN_ArgMinOp : NN_ArgOp<"arg_min", "ArgMin", "smallest">;

def NN_TopKOp : NN_Op<"top_k", [Pure,
    DeclareOpInterfaceMethods<PartitionOpInterface,
      ["getPartitionSpec", "getFlops"]>]> {
  let summary = "The largest or smallest elements along a dimension";
  let description = [{
    ONNX TopK: the K largest elements along `axis`, from the largest on, or the
    `smallest`, and their indices. Of equal elements the first comes first; NaN
    comes before all numbers.

    Loops: `d0 .. dk` without the axis, which is whole, in x and results.

    Example:

    ```mlir
    %v, %i = nn.top_k %x {nn.name = "beams", axis = 1 : i64}
       : (tensor<8x1000xf32>) -> (tensor<8x5xf32>, tensor<8x5xi64>)
    ```

    Constraints:
    - `axis` is inside the rank
    - both results have the shape of x but along the axis, where they have no
      more elements than x
    - x and values have the same element type, the indices have element type i64
  }];
  let arguments = (ins NN_NumberTensor:$x, I64Attr:$axis, UnitAttr:$smallest);
  let results = (outs NN_Tensor:$values, NN_Tensor:$indices);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_CumSumOp : NN_PureOp<"cum_sum", [SameOperandsAndResultType]> {
  let summary = "Running sums along a dimension";
  let description = [{
    ONNX CumSum: each element is the sum of those up to it along `axis`, without
    itself if `exclusive`, from the end on if `reverse`.

    Loops: `d0 .. dk` without the axis, which is whole: every sum needs the one
    before.

    Example:

    ```mlir
    %1 = nn.cum_sum %x {nn.name = "positions", axis = 1 : i64} : tensor<8x40xi64>
    ```

    Constraints:
    - `axis` is inside the rank
    - elements are not booleans
  }];
  let arguments = (ins NN_NumberTensor:$x, I64Attr:$axis, UnitAttr:$exclusive,
                       UnitAttr:$reverse);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def NN_TriluOp : NN_PureOp<"trilu", [SameOperandsAndResultType],
    ["setLocalAccess", "getFlops"]> {
  let summary = "Triangle of matrices";
  let description = [{
    ONNX Trilu: the elements of the last two dimensions on or below the diagonal
    (on or above it if `upper`), and 0 elsewhere. The diagonal has
    column - row = `diagonal`; a tile has one that says where it lies.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.trilu %x {nn.name = "mask", diagonal = 1 : i64, upper} : tensor<8x8xf32>
    ```

    Constraints:
    - x has two dimensions or more
    - `diagonal` is at most 2^48, without its sign
  }];
  let arguments = (ins NN_Tensor:$x,
      DefaultValuedAttr<I64Attr, "0">:$diagonal, UnitAttr:$upper);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def NN_OneHotOp : NN_PureOp<"one_hot", [], ["setLocalAccess", "getFlops"]> {
  let summary = "Indices as rows that are marked at one place";
  let description = [{
    ONNX OneHot: the indices get a new dimension `axis`. An element is
    `values[1]` where its place along it is the index, else `values[0]`.
    Negative indices count from the end; where an index is outside, no element
    is marked. A tile of the axis holds places [`base`, `base` + its size) of
    `table_size`.

    Loops: `d0 .. dk` of the result; indices those of their own dimensions,
    values `([2])`.

    Example:

    ```mlir
    %1 = nn.one_hot %i, %v {nn.name = "hot", axis = 1 : i64}
       : (tensor<8xi64>, tensor<2xf32>) -> tensor<8x10xf32>
    ```

    Constraints:
    - there are two values, of the result's element type
    - `axis` is inside the result's rank, whose other dimensions are those of
      the indices
    - `base` is not negative; all places are inside of `table_size`
  }];
  let arguments = (ins NN_IndexTensor:$indices, NN_Tensor:$values,
      I64Attr:$axis, DefaultValuedAttr<I64Attr, "0">:$base,
      OptionalAttr<I64Attr>:$table_size);
  let assemblyFormat = [{
    $indices `,` $values attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_NonMaxSuppressionOp : NN_PureOp<"non_max_suppression", [],
    ["getFlops"]> {
  let summary = "Boxes that do not overlap with better ones";
  let description = [{
    ONNX NonMaxSuppression, for every image n and class c by itself: from the
    best score on (of equal ones the first), a box is selected unless it
    overlaps with one that was selected before: the area of their intersection
    is more than `iou_threshold` of that of their union. Boxes whose score is
    not above `score_threshold` take no part. The result has the indices of the
    first K boxes that are selected, then -1. Corners `(y1, x1, y2, x2)` are two
    opposite ones, in any order; with `center_point_box` boxes are
    `(x, y, width, height)` around a center.

    Loops: `n`, `c` of the scores; boxes `(n, [N], [4])`, scores `(n, c, [N])`,
    result `(n, c, [K])`.

    Example:

    ```mlir
    %1 = nn.non_max_suppression %boxes, %scores {nn.name = "nms",
           iou_threshold = 0.5 : f32, score_threshold = 0.1 : f32}
       : (tensor<1x1000x4xf32>, tensor<1x80x1000xf32>) -> tensor<1x80x100xi64>
    ```

    Constraints:
    - boxes have the shape (n, N, 4), scores (n, c, N), and the same element
      type
    - the result has the shape (n, c, K) and element type i64
    - no threshold is NaN
  }];
  let arguments = (ins NN_FloatTensor:$boxes, NN_FloatTensor:$scores,
      F32Attr:$iou_threshold, OptionalAttr<F32Attr>:$score_threshold,
      UnitAttr:$center_point_box);
  let assemblyFormat = [{
    $boxes `,` $scores attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNORDEROPS_TD
