//===- NNRareOps.td - Operations that few networks have ----*- tablegen -*-===//
//
// Part of SOAP, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on bits and on boxes. Their C++ classes have a header of their own,
// NNRare.h, so that few sources depend on them.
//
//===----------------------------------------------------------------------===//

#ifndef SOAP_DIALECT_NN_IR_NNRAREOPS_TD
#define SOAP_DIALECT_NN_IR_NNRAREOPS_TD

include "soap/Dialect/NN/IR/NNAttrs.td"

def NN_UnsignedTensor : NN_TensorOf<[UI<8>, UI<16>, UI<32>, UI<64>],
                                    "integers without a sign">;

class NN_ShiftOp<string mnemonic, string direction> :
    NN_PureOp<mnemonic, [NN_PerElement]> {
  let summary = "Bits moved to the " # direction # ", per element";
  let description = [{
    ONNX BitShift: the bits of `a`, moved by `b` places to the }] # direction # [{;
    from the width of `a` on nothing is left of them. Dimensions broadcast as in
    numpy, aligned on the right.

    Loops: `d0 .. dk` of the result; operands and result `(d0, .., dk)`; an
    operand's dimension that is broadcast uses no loop.

    Example:

    ```mlir
    %2 = nn.}] # mnemonic # [{ %a, %b {nn.name = "}] # mnemonic # [{1"}
       : (tensor<8x64xui8>, tensor<64xui8>) -> tensor<8x64xui8>
    ```

    Constraints:
    - operands and result have the same element type
    - the result has the shape to which the operands broadcast
  }];
  let arguments = (ins NN_UnsignedTensor:$a, NN_UnsignedTensor:$b);
  let assemblyFormat = [{
    $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDefinition = [{
    ::soap::PartitionSpec $cppClass::getPartitionSpec() {
      return ::soap::nn::detail::elementwiseSpec(*this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::soap::nn::detail::verifyBroadcast(*this);
    }
  }];
  let hasVerifier = 1;
}

def NN_ShiftLeftOp : NN_ShiftOp<"shift_left", "left">;
def NN_ShiftRightOp : NN_ShiftOp<"shift_right", "right">;

def NN_BitCastOp : NN_PureOp<"bit_cast", [NN_PerElement], ["getFlops"]> {
  let summary = "The same bits as another element type";
  let description = [{
    ONNX BitCast: the bits of an element are those of an element of the other
    type. A boolean is a byte of 0 or 1; of a byte, what is not 0 is true.

    Loops: `d0 .. dk`; operand and result `(d0, .., dk)`.

    Example:

    ```mlir
    %1 = nn.bit_cast %x {nn.name = "bits"} : (tensor<8x64xf32>) -> tensor<8x64xi32>
    ```

    Constraints:
    - operand and result have the same shape, and element types of as many bits
      (a boolean has 8)
  }];
  let arguments = (ins NN_Tensor:$x);
  let assemblyFormat = [{
    $x attr-dict `:` functional-type(operands, results)
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

#endif // SOAP_DIALECT_NN_IR_NNRAREOPS_TD
