//===- NNScatterOps.td - Operations that store by index ----*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNSCATTEROPS_TD
#define SOAP_DIALECT_NN_IR_NNSCATTEROPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

def NN_ScatterElementsOp : NN_PureOp<"scatter_elements", [],
    ["buildLocal", "setLocalAccess", "getFlops"]> {
  let summary = "Elements stored by index along one dimension";
  let description = [{
    ONNX ScatterElements: the data, in which every update is stored at its own
    place, but along dimension `axis` at its index; or joined with what is there
    by `reduction`. Without data: onto the neutral element of the reduction, or
    zeros. Negative indices count from the end. An update whose index names no
    row is dropped. Of several updates of one element the last in row-major
    order is kept if there is no reduction.

    `base` and `table_size` are those of `nn.gather`: a tile of the axis holds
    some rows and drops the updates of others.

    Loops: `d0 .. dk` of the result, with a reduction also R: `u`; indices and
    updates `(d0, .., u, .., dk)` or `(d0, .., [U], .., dk)`, data
    `(d0, .., dk)`, in the first part only. Parts are joined by the reduction.

    Example:

    ```mlir
    %1 = nn.scatter_elements %i, %u into %x {nn.name = "mark", axis = 1 : i64}
       : (tensor<4x3xi64>, tensor<4x3xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
    ```

    Constraints:
    - updates have the shape of the indices, data that of the result
    - updates, data and result have the same element type, which is not boolean
      if there is a reduction
    - `axis` is inside the rank; no other dimension of the result is smaller
      than that of the indices
    - `base` is not negative; all rows are inside of `table_size`
  }];
  let arguments = (ins NN_IndexTensor:$indices, NN_Tensor:$updates,
      Optional<NN_Tensor>:$data, I64Attr:$axis,
      OptionalAttr<NN_ReduceKindAttr>:$reduction,
      DefaultValuedAttr<I64Attr, "0">:$base,
      OptionalAttr<I64Attr>:$table_size);
  let assemblyFormat = [{
    $indices `,` $updates (`into` $data^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ScatterNDOp : NN_PureOp<"scatter_nd", [],
    ["buildLocal", "setLocalAccess", "getFlops"]> {
  let summary = "Slices stored by several indices";
  let description = [{
    ONNX ScatterND: the last dimension of the indices holds K indices, for the
    first K dimensions of the result; the updates have the other dimensions of
    the indices, then those of the result that are not indexed. Everything else
    is as for `nn.scatter_elements`, `bases` and `table_sizes` as for
    `nn.gather_nd`.

    Loops: `d0 .. dk` of the result, with a reduction also R: `u0 .. uj`, the
    dimensions of the indices but the last; indices `(u0, .., uj, [K])`,
    updates `(u0, .., uj, dK, .., dk)`, data `(d0, .., dk)`, in the first part
    only. Parts are joined by the reduction.

    Example:

    ```mlir
    %1 = nn.scatter_nd %i, %u into %x {nn.name = "add",
           reduction = #nn.reduce_kind<sum>}
       : (tensor<5x2xi64>, tensor<5x8xf32>, tensor<4x10x8xf32>)
       -> tensor<4x10x8xf32>
    ```

    Constraints:
    - indices have a dimension, and index no more dimensions than there are
    - updates have the shape above, data that of the result
    - updates, data and result have the same element type, which is not boolean
      if there is a reduction
    - `bases` and `table_sizes` have K entries; all rows are inside of the table
  }];
  let arguments = (ins NN_IndexTensor:$indices, NN_Tensor:$updates,
      Optional<NN_Tensor>:$data,
      OptionalAttr<NN_ReduceKindAttr>:$reduction,
      OptionalAttr<DenseI64ArrayAttr>:$bases,
      OptionalAttr<DenseI64ArrayAttr>:$table_sizes);
  let assemblyFormat = [{
    $indices `,` $updates (`into` $data^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SOAP_DIALECT_NN_IR_NNSCATTEROPS_TD
