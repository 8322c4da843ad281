//===- NNIndexOps.td - Operations that look elements up ----*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNINDEXOPS_TD
#define SOAP_DIALECT_NN_IR_NNINDEXOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

def NN_GatherOp : NN_PureOp<"gather", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Look-up of slices by index";
  let description = [{
    ONNX Gather: the result has the indices' dimensions in place of dimension
    `axis` of the data. Negative indices count from the end. An index that no
    row answers gives 0.

    A tile of the axis holds rows [`base`, `base` + its size) of a table of
    `table_size` rows (by default: all of them) and answers 0 for the others, so
    that the tiles' results add up.

    Loops: `d0 .. dk` of the result, R: `v`; data `(.., v, ..)` with the loops
    of its other dimensions, indices those of their own, parts are summed. A
    table of booleans is not split along the axis.

    Example:

    ```mlir
    %1 = nn.gather %table, %ids {nn.name = "embedding", axis = 0 : i64}
       : (tensor<10000x1024xf32>, tensor<8x40xi64>) -> tensor<8x40x1024xf32>
    ```

    Constraints:
    - data and result have the same element type
    - `axis` is inside the data's rank
    - the result has the shape above
    - `base` is not negative; all rows are inside of `table_size`
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$axis,
      DefaultValuedAttr<I64Attr, "0">:$base,
      OptionalAttr<I64Attr>:$table_size);
  let assemblyFormat = [{
    $data `,` $indices attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_GatherElementsOp : NN_PureOp<"gather_elements", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Look-up of elements by index along one dimension";
  let description = [{
    ONNX GatherElements: an element of the result is that of the data at its own
    place, but along dimension `axis` at its index. Negative indices count from
    the end. An index that no row answers gives 0. `base` and `table_size` are
    those of `nn.gather`: tiles of the axis answer 0 for the rows of others.

    Loops: `d0 .. dk` of the result, R: `v`; data `(d0, .., v, .., dk)`, indices
    `(d0, .., dk)`, parts are summed. Booleans are not split along the axis.

    Example:

    ```mlir
    %1 = nn.gather_elements %x, %i {nn.name = "pick", axis = 1 : i64}
       : (tensor<4x10xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
    ```

    Constraints:
    - data and result have the same element type, data and indices the same rank
    - `axis` is inside the rank; no other dimension of the data is smaller than
      that of the indices
    - the result has the shape of the indices
    - `base` is not negative; all rows are inside of `table_size`
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$axis,
      DefaultValuedAttr<I64Attr, "0">:$base,
      OptionalAttr<I64Attr>:$table_size);
  let assemblyFormat = [{
    $data `,` $indices attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_GatherNDOp : NN_PureOp<"gather_nd", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Look-up of slices by several indices";
  let description = [{
    ONNX GatherND: the last dimension of the indices holds K indices, for the K
    dimensions of the data behind the first `batch_dims`, which data, indices
    and result share. The result has the other dimensions of the indices, then
    those of the data that are not indexed. Negative indices count from the end.
    An index that no row answers gives 0.

    A tile holds rows [`bases`, `bases` + size) of `table_sizes` rows per
    indexed dimension (by default: all) and answers 0 for the others.

    Loops: `d0 .. dk` of the result, R: `v0 .. v(K-1)`; data
    `(d0, .., v0, .., v(K-1), .., dk)`, indices `(d0, .., [K])`, parts are
    summed. Booleans are not split along indexed dimensions.

    Example:

    ```mlir
    %1 = nn.gather_nd %x, %i {nn.name = "points"}
       : (tensor<4x10x8xf32>, tensor<5x2xi64>) -> tensor<5x8xf32>
    ```

    Constraints:
    - data and result have the same element type
    - the first `batch_dims` dimensions of data and indices are equal, and
      neither has all of its dimensions among them
    - no more dimensions are indexed than the data has behind these
    - the result has the shape above
    - `bases` and `table_sizes` have K entries; all rows are inside of the table
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices,
      DefaultValuedAttr<I64Attr, "0">:$batch_dims,
      OptionalAttr<DenseI64ArrayAttr>:$bases,
      OptionalAttr<DenseI64ArrayAttr>:$table_sizes);
  let assemblyFormat = [{
    $data `,` $indices attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_TileOp : NN_PureOp<"tile", [], ["getFlops"]> {
  let summary = "Repetition along dimensions";
  let description = [{
    ONNX Tile: each dimension of the result is a multiple of x's, its elements
    one after the other again and again.

    Loops: one per dimension of the result, `d0 .. dk`. Where a dimension of n
    elements repeats r times it has r units: x `[n]`, result `d*n+[0, n-1]`.
    Where it does not repeat: the identity.

    Example:

    ```mlir
    %1 = nn.tile %x {nn.name = "tile1"} : (tensor<2x3xf32>) -> tensor<4x9xf32>
    ```

    Constraints:
    - x and result have the same rank and element type
    - sizes of the result are multiples of x's
  }];
  let arguments = (ins NN_Tensor:$x);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ResizeOp : NN_PureOp<"resize", [],
    ["setLocalAccess", "getFlops", "getBytes"]> {
  let summary = "Interpolation along dimensions";
  let description = [{
    ONNX Resize and Upsample. Element i of a dimension of the result lies at
    q = (`numerators`*i + `offsets`) / `denominators` of x, an exact rational.
    `nearest` takes element floor(q), `linear` joins floor(q) and the next by
    their distances, dimension by dimension. `cubic` joins four, floor(q) - 1 to
    floor(q) + 2, by Keys' weights (1981) with the coefficient `cubic_a`.
    Elements outside of x are those at its border or, with `exclude_outside`,
    have no weight, and the others of their four more. All coordinate transformations and rounding modes of ONNX that
    are linear in i are such rationals.

    Loops: `d0 .. dk` of the result; x `floor((d*num+off+[0, den])/den)` for
    `linear`, `[-den, 2*den]` in place of `[0, den]` for `cubic`, `[0, 0]` for
    `nearest` and where q is always an integer; wider by what lies outside of x,
    and by what no element reads.

    Example:

    ```mlir
    %1 = nn.resize %x {nn.name = "up1", mode = #nn.resize_mode<nearest>,
           numerators = array<i64: 1, 1, 1, 1>,
           offsets = array<i64: 0, 0, 0, 0>,
           denominators = array<i64: 1, 1, 2, 2>}
       : (tensor<1x64x28x28xf32>) -> tensor<1x64x56x56xf32>
    ```

    Constraints:
    - x and result have the same rank and element type
    - one numerator, offset and denominator per dimension; numerators and
      denominators are positive
    - `exclude_outside` only with `cubic`
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_ResizeModeAttr:$mode,
      DenseI64ArrayAttr:$numerators, DenseI64ArrayAttr:$offsets,
      DenseI64ArrayAttr:$denominators,
      DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_a, UnitAttr:$exclude_outside);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNINDEXOPS_TD
